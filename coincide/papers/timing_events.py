"""Two recorded streams as the papers' algorithms see them, one event after the other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Literal

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections
from coincide.templates.histogram import Histogram

Side = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class Event:
    """One detection as it arrives.

    Attributes
    ----------
    side : {"a", "b"}
        Its stream.
    row : int
        Its row in the stream's frame.
    detected_at_us : int
    template : int
        Position in the templates of its stream.
    earliest_us, latest_us : int
        The papers' min and max of its timestamp; rounded down and up to whole microseconds.
    now_us : int
        The papers' current time: the greatest `latest_us` that had arrived, this event's included.
    """

    side: Side
    row: int
    detected_at_us: int
    template: int
    earliest_us: int
    latest_us: int
    now_us: int


@dataclass(frozen=True)
class StreamParameters:
    """What a paper's algorithm is told about a stream before its events come.

    Attributes
    ----------
    templates : tuple of Histogram
    longest_s, shortest_s : float
        pi and rho: lengths of the longest and the shortest template; 0 if there is none.
    max_delay_us : int
        How far an event's `latest_us` lies behind `now_us` when it arrives, at most.
    """

    templates: tuple[Histogram, ...]
    longest_s: float
    shortest_s: float
    max_delay_us: int


class Arrivals:
    """Detections of two streams, of one area, in an order of arrival.

    The papers know neither areas nor sensors: any two events of different streams may match.

    Parameters
    ----------
    a, b : Detections
        All rows of one area (or none has an area).
    order : array_like of int, shape (len(a) + len(b),), optional
        The rows of a (0 to n - 1) and of b (n to n + m - 1) in the order in which they arrive. Left out: by reported
        time, a before b at ties.

    Attributes
    ----------
    events : tuple of Event
        In the order of arrival.
    parameters : dict of StreamParameters
        By side. `max_delay_us` is measured, so that no event comes later than its stream promises.

    Raises
    ------
    DetectionsError
        Rows of several areas, or an order that does not name every row once.

    Examples
    --------
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> arrivals = Arrivals(Detections([9_000_000], clock), Detections([7_000_000, 12_000_000], clock), order=[0, 2, 1])
    >>> [(event.side, event.row) for event in arrivals]
    [('a', 0), ('b', 1), ('b', 0)]
    >>> arrivals.parameters["b"].max_delay_us
    5000000
    """

    def __init__(self, a: Detections, b: Detections, order: npt.ArrayLike | None = None) -> None:
        _refuse_several_areas(a, b)
        self.a, self.b = a, b
        self._order = _by_reported_time(a, b) if order is None else _checked_order(order, len(a) + len(b))

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self._order)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """All events in the order of arrival."""
        latest_us = np.concatenate((self.a.latest_us, self.b.latest_us))[self._order]
        now_us = np.maximum.accumulate(latest_us).tolist()
        return tuple(self._event(at, now) for at, now in zip(self._order.tolist(), now_us, strict=True))

    @cached_property
    def parameters(self) -> dict[Side, StreamParameters]:
        """What is known beforehand of each stream."""
        return {"a": self._parameters("a", self.a), "b": self._parameters("b", self.b)}

    def _event(self, at: int, now_us: int) -> Event:
        side: Side = "a" if at < len(self.a) else "b"
        frame, row = (self.a, at) if side == "a" else (self.b, at - len(self.a))
        return Event(
            side,
            row,
            detected_at_us=int(frame.detected_at_us[row]),
            template=int(frame.template_index[row]),
            earliest_us=int(frame.earliest_us[row]),
            latest_us=int(frame.latest_us[row]),
            now_us=now_us,
        )

    def _parameters(self, side: Side, frame: Detections) -> StreamParameters:
        lengths_s = [template.length_s for template in frame.templates] or [0.0]
        delays_us = [event.now_us - event.latest_us for event in self.events if event.side == side]
        return StreamParameters(frame.templates, max(lengths_s), min(lengths_s), max(delays_us, default=0))


def other_side(side: Side) -> Side:
    """Return the stream in which partners of an event of `side` are."""
    return "b" if side == "a" else "a"


def _by_reported_time(a: Detections, b: Detections) -> Int64Array:
    return np.argsort(np.concatenate((a.detected_at_us, b.detected_at_us)), kind="stable")


def _checked_order(order: npt.ArrayLike, rows: int) -> Int64Array:
    given = np.asarray(order, dtype=np.int64) if np.size(order) else np.empty(0, np.int64)
    if given.shape != (rows,) or not np.array_equal(np.sort(given), np.arange(rows)):
        raise DetectionsError("order", order, f"each row once: a permutation of 0 to {rows - 1}")
    return given


def _refuse_several_areas(a: Detections, b: Detections) -> None:
    areas = {label for frame in (a, b) if frame.area is not None for label in frame.area.tolist()}
    if len(areas) > 1 or (a.area is None) != (b.area is None):
        raise DetectionsError("area", sorted(areas), "one area for all rows of both streams, or none")


latest_us = attrgetter("latest_us")


class MaxSortedBuffer:
    """Events in ascending order of `latest_us`.

    Examples
    --------
    >>> held = MaxSortedBuffer(Event("a", row, 0, 0, 0, latest, 0) for row, latest in enumerate([30, 10, 20]))
    >>> [event.row for event in held], [event.row for event in held.between(10, 20)]
    ([1, 2, 0], [1, 2])
    >>> held.drop_before(20)
    1
    >>> held.first_from(30)
    1
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = sorted(events, key=latest_us)
        self._latest_us = [event.latest_us for event in self._events]

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __getitem__(self, index: int) -> Event:
        return self._events[index]

    def insert(self, event: Event) -> None:
        """Put an event in its place, behind those of the same max."""
        at = bisect_right(self._latest_us, event.latest_us)
        self._events.insert(at, event)
        self._latest_us.insert(at, event.latest_us)

    def first_from(self, time_us: int) -> int:
        """Index of the first event whose max is at least `time_us`; the number of events if there is none."""
        return bisect_left(self._latest_us, time_us)

    def between(self, first_us: int, last_us: int) -> list[Event]:
        """Events whose max lies in [first, last]."""
        return self._events[self.first_from(first_us) : bisect_right(self._latest_us, last_us)]

    def drop_before(self, time_us: int) -> int:
        """Drop the events whose max is below `time_us`; return how many they were."""
        count = self.first_from(time_us)
        del self._events[:count], self._latest_us[:count]
        return count
