"""ClockedHistogram: the template of a sensor whose clock others share, and what counts between two of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram

LONGEST_CLOCK_NAME = 200
FIELDS = {"edges_s", "mass", "own", "clock"}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClockedHistogram(Histogram):
    """The template of a sensor on a shared clock: as a histogram it is the whole error.

    Two events on one clock share the clock's error: between them `own` counts. Against all others the whole does.
    Make it with `Clock.template`.

    Parameters
    ----------
    whole : Histogram
        The sensor's error with its clock's.
    own : Histogram
        What is left of it once the clock is right.
    clock : str
        Name of the clock: templates of one name share it.
    error : Histogram
        Error of the clock: the time by which it may have been slow.

    Raises
    ------
    HistogramError

    Examples
    --------
    >>> own, error = Histogram.uniform(-1, 1), Histogram.uniform(-30, 30)
    >>> template = ClockedHistogram(Histogram.uniform(-31, 31), own, "gw-7", error)
    >>> template.earliest_s, template.own.earliest_s, template.clock
    (-31.0, -1.0, 'gw-7')
    """

    own: Histogram
    clock: str
    error: Histogram

    def __init__(self, whole: Histogram, own: Histogram, clock: str, error: Histogram) -> None:
        for field, histogram in (("own", own), ("error", error)):
            if type(histogram) is not Histogram:
                raise HistogramError(field, histogram, "a Histogram that is on no clock")
        if not isinstance(clock, str) or not 0 < len(clock) <= LONGEST_CLOCK_NAME:
            raise HistogramError("clock", clock, f"a text of 1 to {LONGEST_CLOCK_NAME} characters")
        object.__setattr__(self, "edges_s", whole.edges_s)
        object.__setattr__(self, "mass", whole.mass)
        for name, value in (("own", own), ("clock", clock), ("error", error)):
            object.__setattr__(self, name, value)

    @property
    def earliest_s(self) -> float:
        """Earliest possible occurrence by the whole error or by its own, relative to the reported time."""
        return min(super().earliest_s, self.own.earliest_s)

    @property
    def latest_s(self) -> float:
        """Latest possible occurrence by the whole error or by its own, relative to the reported time."""
        return max(super().latest_s, self.own.latest_s)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: the whole, its own and its clock."""
        clock = {"id": self.clock, "error": self.error.to_json()}
        return {**super().to_json(), "own": self.own.to_json(), "clock": clock}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> ClockedHistogram:
        """Read what `to_json` wrote."""
        allowed = "an object with exactly edges_s, mass, own and clock, which has id and error"
        clock = obj.get("clock") if isinstance(obj, Mapping) and set(obj) == FIELDS else None
        if not isinstance(clock, Mapping) or set(clock) != {"id", "error"}:
            raise HistogramError("template", obj, allowed)
        parts = (Histogram(obj["edges_s"], obj["mass"]), plain_from_json(obj["own"]))
        return cls(*parts, clock["id"], plain_from_json(clock["error"]))

    @cached_property
    def id(self) -> str:
        """Return "t-" and 16 hex digits: the start of SHA-256 over the ids of whole, own and error, and the clock."""
        whole = Histogram(self.edges_s, self.mass)
        content = "\n".join([whole.id, self.own.id, self.error.id, self.clock]).encode()
        return "t-" + hashlib.sha256(content).hexdigest()[:16]

    def shift(self, by_s: float) -> ClockedHistogram:
        """Return the same distribution, `by_s` seconds later."""
        whole = Histogram(self.edges_s, self.mass).shift(by_s)
        return ClockedHistogram(whole, self.own.shift(by_s), self.clock, self.error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClockedHistogram) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<ClockedHistogram {self.id}: on clock {self.clock!r}, own {self.own!r}>"


def plain_from_json(obj: Any) -> Histogram:
    """Read a histogram that is on no clock."""
    histogram = Histogram.from_json(obj)
    if isinstance(histogram, ClockedHistogram):
        raise HistogramError("template", obj, "a histogram that is on no clock")
    return histogram


def are_clocked(templates: Sequence[Histogram]) -> bool:
    """Whether any template is on a shared clock."""
    return ClockedHistogram in set(map(type, templates))


def clock_of(template: Histogram) -> str | None:
    """Return the name of a template's clock; None if it is on none."""
    return template.clock if isinstance(template, ClockedHistogram) else None


def most_buckets(template: Histogram) -> int:
    """Return how many buckets the longest of a template's histograms has."""
    parts = [template, template.own, template.error] if isinstance(template, ClockedHistogram) else [template]
    return max(len(part.mass) for part in parts)


def own_of(template: Histogram) -> Histogram:
    """Return what is left of a template once its clock is right; all of it if it is on none."""
    return template.own if isinstance(template, ClockedHistogram) else template


def whole_of(template: Histogram) -> Histogram:
    """Return the whole error of a template, as if nobody shared its clock."""
    return Histogram(template.edges_s, template.mass) if isinstance(template, ClockedHistogram) else template


def between(u: Histogram, v: Histogram) -> tuple[Histogram, Histogram]:
    """Return what counts between two events: their own errors if they share a clock, else the whole ones.

    Examples
    --------
    >>> own, error, whole = (Histogram.uniform(-s, s) for s in (1, 30, 31))
    >>> one = ClockedHistogram(whole, own, "gw-7", error)
    >>> between(one, one) == (own, own), between(one, whole) == (one, whole)
    (True, True)
    """
    if isinstance(u, ClockedHistogram) and isinstance(v, ClockedHistogram) and u.clock == v.clock:
        return u.own, v.own
    return u, v
