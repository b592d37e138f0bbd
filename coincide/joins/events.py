"""SortedEvents: the columns that a join needs of some events of one stream, by area, then reported time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import stable_order, stable_order_by
from coincide.joins.detections import Detections
from coincide.joins.keys import AreaKeys, KeyArray, brief, narrowest_keys
from coincide.joins.labels import area_codes, sensor_codes


@dataclass(frozen=True, eq=False)
class Events:
    """Rows in any order; all arrays of shape (n,), `template` and `sensor` in codes of the caller's.

    Events meet only inside one `area`, a code of at least 0. `ref` is the caller's name of the row. It rises with every
    row that enters a buffer, so it also tells which came first.
    """

    area: CodeArray
    detected_at_us: Int64Array
    template: CodeArray
    sensor: CodeArray
    ref: Int64Array

    def __len__(self) -> int:
        return len(self.ref)

    @property
    def is_sorted(self) -> bool:
        """Whether the rows are in the order of (area, time)."""
        if len(self) < 2:
            return True
        later = self.detected_at_us[1:] >= self.detected_at_us[:-1]
        if self._in_one_area:
            return bool(later.all())
        area, before = self.area[1:], self.area[:-1]
        return bool(((area > before) | (area == before) & later).all())

    def sorted(self) -> Events:
        """Return the rows by area, then time, else in their order; sorted rows are not copied."""
        if self.is_sorted:
            return self
        if self._in_one_area:
            return self.take(stable_order(self.detected_at_us))
        return self.take(stable_order_by(self.area, self.detected_at_us))

    @property
    def _in_one_area(self) -> bool:
        area = brief(self.area)
        return len(self) == 0 or bool(area.min() == area.max())

    @property
    def span(self) -> tuple[int, int, int]:
        """The greatest area of rows that are sorted, of which there are some, and their earliest and latest time."""
        time_us = self.detected_at_us
        if len(time_us) == 1:
            return int(self.area[0]), int(time_us[0]), int(time_us[0])
        return int(self.area[-1]), int(time_us.min()), int(time_us.max())

    def rows(self, first: int, last: int) -> Events:
        """Return rows first : last, not copied."""
        return self.take(slice(first, last))

    def take(self, at: PositionArray | slice) -> Events:
        """Return the given rows, in that order."""
        return Events(self.area[at], self.detected_at_us[at], self.template[at], self.sensor[at], self.ref[at])


@dataclass(frozen=True, eq=False)
class SortedEvents:
    """Rows in the order of their `keys`, (area, detected_at_us) as `codec` writes them; all arrays of shape (n,)."""

    codec: AreaKeys
    keys: KeyArray
    template: CodeArray
    sensor: CodeArray
    ref: Int64Array

    def __len__(self) -> int:
        return len(self.ref)

    def rows(self, first: int, last: int) -> SortedEvents:
        """Return rows first : last, not copied."""
        return self.take(slice(first, last))

    def take(self, at: PositionArray | slice) -> SortedEvents:
        """Return the given rows, which rise."""
        return SortedEvents(self.codec, self.keys[at], self.template[at], self.sensor[at], self.ref[at])


def sorted_events(events: Events) -> SortedEvents:
    """Key events that are sorted already."""
    time_us = events.detected_at_us
    codec = narrowest_keys(*(events.span if len(events) else (0, 0, 0)))
    return SortedEvents(codec, codec.encode(events.area, time_us), events.template, events.sensor, events.ref)


IN_ORDER = -1  # ref of every row of a batch whose rows are their own positions


def sorted_batches(a: Detections, b: Detections | None) -> tuple[Events, Events, SortedEvents]:
    """Return the events of `a` as given and by (area, time), and those of `b` with keys; without `b` those of `a`."""
    sides = events_of([a] if b is None else [a, b])
    if b is None:
        events = in_role_order(sides[0], a.id)
        return sides[0], events, sorted_events(events)
    return sides[0], by_time(sides[0]), sorted_events(by_time(sides[1]))


def events_of(batches: Sequence[Detections]) -> list[Events]:
    """Return the events of each batch as given, their areas and sensors in codes that all share."""
    return [
        Events(
            area, batch.detected_at_us, batch.template_index, sensor, np.broadcast_to(np.int64(IN_ORDER), len(batch))
        )
        for batch, area, sensor in zip(batches, area_codes(batches), sensor_codes(batches), strict=True)
    ]


def by_time(events: Events) -> Events:
    """Sort by (area, detected_at), else by position."""
    return events if events.is_sorted else _numbered(events).sorted()


def in_role_order(events: Events, ids: LabelArray | None) -> Events:
    """Sort by (area, detected_at, sensor, id, position)."""
    in_time = by_time(events)
    if not _has_wrong_tie(in_time, ids):
        return in_time
    names = () if ids is None else (ids,)
    return _numbered(events).take(np.lexsort((*names, events.sensor, events.detected_at_us, events.area)))


def _has_wrong_tie(in_time: Events, ids: LabelArray | None) -> bool:
    """Whether of two rows of one time and area, one behind the other, the second goes before the first."""
    time, area, sensor = in_time.detected_at_us, in_time.area, in_time.sensor
    ties = np.flatnonzero((time[1:] == time[:-1]) & (area[1:] == area[:-1]))
    if (sensor[ties + 1] < sensor[ties]).any():
        return True
    if ids is None:
        return False
    ties = ties[sensor[ties + 1] == sensor[ties]]
    return bool((ids[positions_in(in_time, ties + 1)] < ids[positions_in(in_time, ties)]).any())


def _numbered(events: Events) -> Events:
    """Give each row its position in the batch as ref; batches that are in order do without."""
    return replace(events, ref=np.arange(len(events)))


def is_in_order(side: Events | SortedEvents) -> bool:
    """Whether the rows stand where their batch has them."""
    return len(side) == 0 or bool(side.ref[0] == IN_ORDER)


def positions_in(side: Events | SortedEvents, rows: PositionArray) -> PositionArray:
    """Return where the batch has the given rows of the sorted events."""
    return rows if is_in_order(side) else side.ref[rows]
