"""Recorded streams as the papers' algorithms read them: one event after the other, of two streams or of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections
from coincide.templates.histogram import Histogram

Label = int | str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One detection as it arrives."""

    stream: str
    row: int  # in the stream's detections
    detected_at_us: int
    template: int  # position in the templates of its stream
    earliest_us: int  # the papers' min, rounded down to a microsecond
    latest_us: int  # the papers' max, rounded up; an exact time has both alike
    now_us: int  # the papers' current time: the greatest `latest_us` that has arrived, this event's included
    key: Label = None  # the window join paper's label, equal for all members of a result


@dataclass(frozen=True)
class StreamParameters:
    """What an algorithm knows about a stream before its events come."""

    templates: tuple[Histogram, ...]
    longest_s: float  # pi: length of the longest template; 0 if there is none
    shortest_s: float  # rho
    max_delay_us: int  # how far an event's `latest_us` lies behind `now_us` when it arrives, at most
    disorder_us: int  # the same behind the greatest of its own stream; the window join paper assumes 0


class Recording:
    """Detections of several streams, of one area, in an order of arrival.

    The papers know neither areas nor sensors: any events of different streams may match. Detections given to two
    streams are two streams. `order` names all rows, counted through the streams one after the other. By default they
    arrive by reported time, and at ties in the order of the streams. `key` has a label for each row of each stream: the
    window join paper's equality predicate. DetectionsError is raised for several areas, and for keys or an order that
    do not fit.

    Examples
    --------
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> a, b = Detections([9_000_000], clock), Detections([7_000_000, 12_000_000], clock)
    >>> recording = Recording({"a": a, "b": b}, order=[0, 2, 1])
    >>> [(event.stream, event.row) for event in recording]
    [('a', 0), ('b', 1), ('b', 0)]
    """

    def __init__(
        self,
        streams: Mapping[str, Detections],
        order: npt.ArrayLike | None = None,
        key: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        self.streams = dict(streams)
        areas = {label for rows in self.streams.values() if rows.area is not None for label in rows.area.tolist()}
        if len(areas) > 1 or len({rows.area is None for rows in self.streams.values()}) > 1:
            raise DetectionsError("area", sorted(areas), "one area for all rows of all streams, or none")
        self.has_keys = key is not None
        self._keys = {name: _labels(name, rows, key) for name, rows in self.streams.items()}
        reported_us = self._column("detected_at_us")
        self._order = np.argsort(reported_us, kind="stable") if order is None else _checked(order, len(reported_us))

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self._order)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """All events in the order of arrival."""
        names = [(name, row) for name, rows in self.streams.items() for row in range(len(rows))]
        keys = [label for name in self.streams for label in self._keys[name]]
        now_us = np.maximum.accumulate(self._column("latest_us")[self._order]).tolist()
        columns = ("detected_at_us", "template_index", "earliest_us", "latest_us")
        detected_us, template, earliest_us, latest_us = (self._column(name).tolist() for name in columns)
        return tuple(
            Event(name, row, detected_us[at], template[at], earliest_us[at], latest_us[at], now, keys[at])
            for at, now in zip(self._order.tolist(), now_us, strict=True)
            for name, row in [names[at]]
        )

    @cached_property
    def parameters(self) -> dict[str, StreamParameters]:
        """What is known of each stream beforehand; delays are measured, so that no event comes later than promised."""
        return {name: self._parameters(name, rows) for name, rows in self.streams.items()}

    def _column(self, name: str) -> Int64Array:
        columns = [getattr(rows, name) for rows in self.streams.values()]
        return np.concatenate([np.empty(0, np.int64), *columns])

    def _parameters(self, name: str, rows: Detections) -> StreamParameters:
        lengths_s = [template.length_s for template in rows.templates] or [0.0]
        own = [event for event in self.events if event.stream == name]
        latest_us = np.array([event.latest_us for event in own], np.int64)
        delay_us = np.array([event.now_us for event in own], np.int64) - latest_us
        disorder_us = np.maximum.accumulate(latest_us) - latest_us
        most_us = [int(late_us.max(initial=0)) for late_us in (delay_us, disorder_us)]
        return StreamParameters(rows.templates, max(lengths_s), min(lengths_s), *most_us)


def _labels(name: str, rows: Detections, key: Mapping[str, npt.ArrayLike] | None) -> list[Label]:
    if key is None:
        return [None] * len(rows)
    if name not in key:
        raise DetectionsError("key", sorted(key), f"labels for every stream: {name!r} has none")
    labels = np.asarray(key[name])
    if labels.shape != (len(rows),) or (labels.size and labels.dtype.kind not in "iuU"):
        what = f"an array of {labels.dtype} with shape {labels.shape} for stream {name!r}"
        raise DetectionsError("key", what, f"an integer or a string for each of its {len(rows)} rows")
    listed: list[Label] = labels.tolist()
    return listed


def _checked(order: npt.ArrayLike, rows: int) -> Int64Array:
    given = np.asarray(order, dtype=np.int64) if np.size(order) else np.empty(0, np.int64)
    if given.shape != (rows,) or not np.array_equal(np.sort(given), np.arange(rows)):
        raise DetectionsError("order", order, f"each row once: a permutation of 0 to {rows - 1}")
    return given
