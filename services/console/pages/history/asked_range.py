"""The fields of a form that say which part of the past is asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any

from nicegui import ui

from services.common.clock import in_rfc_3339, system_clock_us
from services.console.pages.shell import VALUE, Words, choice
from services.console.pages.time_words import TimeWords

SPANS_S = {"3600": "the last hour", "86400": "the last day", "604800": "the last week", "": "from … to …"}


class AskedRange:
    """The last hour, day or week, or what two fields say."""

    def __init__(self, times: TimeWords, span_s: str) -> None:
        self._times, self._span_s = times, span_s
        now_us = system_clock_us()
        self._from, self._to = (self._shown(at_us) for at_us in (now_us - int(span_s) * 1_000_000, now_us))
        choice("Range", SPANS_S, span_s, self._choose_span)
        self._own = ui.element("div").classes("row")
        self._own.set_visibility(False)
        with self._own:
            _time_field(f"From ({times.name})", self._from, lambda value: setattr(self, "_from", value))
            _time_field(f"To ({times.name})", self._to, lambda value: setattr(self, "_to", value))

    def _shown(self, at_us: int) -> str:
        return f"{self._times.moment(at_us):%Y-%m-%dT%H:%M:%S}"

    def _choose_span(self, value: str) -> None:
        self._span_s = value
        self._own.set_visibility(value == "")

    def bounds(self) -> tuple[str, str]:
        """Return begin and end in RFC 3339; what a field says that cannot be read goes as it is, to be refused."""
        if self._span_s:
            now_us = system_clock_us()
            return in_rfc_3339(now_us - int(self._span_s) * 1_000_000) or "", in_rfc_3339(now_us) or ""
        return typed_instant(self._from, self._times.zone), typed_instant(self._to, self._times.zone)


def typed_instant(text: str, zone: tzinfo) -> str:
    """Return a typed time in RFC 3339, in the zone if it names no offset; what cannot be read as it is."""
    try:
        typed = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (typed if typed.tzinfo is not None else typed.replace(tzinfo=zone)).isoformat()


def _time_field(label: str, value: str, on_change: Callable[[str], Any]) -> None:
    with ui.element("label").classes("choice"):
        Words("span", label).classes("choice-label")
        field = ui.element("input").props('type="datetime-local" step=1')
        field.props["defaultValue"] = value
        field.on("change", lambda event: on_change(str(event.args)), js_handler=VALUE)
