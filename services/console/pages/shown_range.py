"""Which times a page shows, and how that stands in its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from services.common.clock import LAST_US, in_rfc_3339, rfc_3339_us, system_clock_us
from services.console.pages.time_words import TimeWords

MINUTE_US = 60_000_000
SPAN_US = 2 * MINUTE_US
SPANS_US = {
    "30 seconds": MINUTE_US // 2,
    "2 minutes": 2 * MINUTE_US,
    "10 minutes": 10 * MINUTE_US,
    "1 hour": 60 * MINUTE_US,
    "6 hours": 360 * MINUTE_US,
    "1 day": 1440 * MINUTE_US,
    "1 week": 7 * 1440 * MINUTE_US,
}
LONGEST_US = 200 * 366 * 86_400_000_000
NAME_CHARACTERS, CHOSEN_CHARACTERS = 200, 1000
FILTERS, KINDS = ("area", "query", "sensor"), ("match", "episode", "alert", "detection")


@dataclass(frozen=True)
class ShownRange:
    """Times, an area, a query and sensors (empty: all), and what is looked at closely: its kind and id.

    Above 0, `min_posterior` leaves matches that are at least so sure to be one event, the surest first.
    """

    from_us: int
    to_us: int
    follows: bool
    area: str = ""
    query: str = ""
    sensor: str = ""
    order: str = "name"
    min_posterior: float = 0.0
    chosen: tuple[str, str] | None = None

    @classmethod
    def of_address(cls, parameters: Mapping[str, str], now_us: int | None = None) -> Self:
        """Read the parameters of an address; what cannot be read is as if it were not there."""
        now_us = system_clock_us() if now_us is None else now_us
        from_us, to_us = _instant(parameters.get("from")), _instant(parameters.get("to"))
        filters: dict[str, Any] = {name: parameters.get(name, "")[:NAME_CHARACTERS] for name in FILTERS}
        filters["order"] = "place" if parameters.get("order") == "place" else "name"
        filters["min_posterior"] = probability_in(parameters.get("min_posterior")) or 0.0
        kinds = [(kind, parameters[kind][:CHOSEN_CHARACTERS]) for kind in KINDS if parameters.get(kind)]
        chosen = kinds[0] if kinds else None
        if from_us is not None and to_us is not None and from_us < to_us:
            return cls(from_us, to_us, follows=False, chosen=chosen, **filters)
        span_us = _span(parameters.get("span"))
        return cls(now_us - span_us, now_us, follows=True, chosen=chosen, **filters)

    @property
    def span_us(self) -> int:
        """How much time."""
        return self.to_us - self.from_us

    def moved(self, from_us: int, to_us: int) -> Self:
        """Return the range that shows other times."""
        return replace(self, from_us=from_us, to_us=max(to_us, from_us + 1))

    def title(self, times: TimeWords) -> str:
        """Say which times these are: Now, or a day and times of it."""
        if self.follows:
            return "Now"
        begin, end = times.instant(self.from_us), times.instant(self.to_us)
        return f"{begin} to {end.removeprefix(f'{times.day(self.from_us)} ')}"

    def address(self, path: str = "/") -> str:
        """Return the address that leads here."""
        named = {name: getattr(self, name) for name in FILTERS if getattr(self, name)}
        if self.order != "name":
            named["order"] = self.order
        if self.min_posterior:
            named["min_posterior"] = f"{self.min_posterior!r}"
        if self.chosen is not None:
            named[self.chosen[0]] = self.chosen[1]
        if self.follows:
            times = {} if self.span_us == SPAN_US else {"span": str(round(self.span_us / 1e6))}
        else:
            times = {"from": in_rfc_3339(self.from_us) or "", "to": in_rfc_3339(self.to_us) or ""}
        parameters = {**times, **named}
        return f"{path}?{urlencode(parameters)}" if parameters else path


def around(from_us: int, to_us: int) -> tuple[int, int]:
    """Return times that show [from, to] with some room beside it."""
    room_us = max((to_us - from_us) // 2, 5_000_000)
    return from_us - room_us, to_us + room_us


def probability_in(text: str | None) -> float | None:
    """Return the probability that a text says, such as 0.9 or 90 %; None where it says none."""
    said = (text or "").strip()
    is_percent = said.endswith("%")
    try:
        value = float(said.removesuffix("%"))
    except ValueError:
        return None
    value = value / 100 if is_percent else value
    return value if 0 <= value <= 1 else None


def _instant(text: str | None) -> int | None:
    try:
        return None if text is None else rfc_3339_us(text)
    except ValueError:
        return None


def _span(text: str | None) -> int:
    try:
        span_us = round(float(text or "") * 1e6)
    except (ValueError, OverflowError):
        return SPAN_US
    return min(max(span_us, 1000), LONGEST_US, LAST_US)
