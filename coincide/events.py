"""SortedEvents: the columns that a join needs of some events of one stream, by area, then reported time."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.area_keys import AreaKeys, KeyArray, brief, narrowest_keys
from coincide.arrays import CodeArray, Int64Array, PositionArray
from coincide.stable_order import stable_order, stable_order_by


@dataclass(frozen=True, eq=False)
class Events:
    """Rows in any order; all arrays of shape (n,).

    Attributes
    ----------
    area : ndarray of int32
        Codes at least 0; events meet only inside one area.
    detected_at_us : ndarray of int64
    template : ndarray of int32
        Codes of a TemplateRegistry.
    sensor : ndarray of int32
    ref : ndarray of int64
        What the caller calls the row; rises with every row that enters a buffer, so it also tells who came first.
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

    def rows(self, first: int, last: int) -> Events:
        """Return rows first : last, not copied."""
        at = slice(first, last)
        return Events(self.area[at], self.detected_at_us[at], self.template[at], self.sensor[at], self.ref[at])

    def take(self, rows: PositionArray) -> Events:
        """Return the given rows, in that order."""
        return Events(
            self.area[rows], self.detected_at_us[rows], self.template[rows], self.sensor[rows], self.ref[rows]
        )


@dataclass(frozen=True, eq=False)
class SortedEvents:
    """Rows in the order of their keys; all arrays of shape (n,).

    Attributes
    ----------
    codec : AreaKeys
        How `keys` are written.
    keys : ndarray of int64 or complex128
        (area, detected_at_us), rising.
    template, sensor : ndarray of int32
    ref : ndarray of int64
    """

    codec: AreaKeys
    keys: KeyArray
    template: CodeArray
    sensor: CodeArray
    ref: Int64Array

    def __len__(self) -> int:
        return len(self.ref)

    def rows(self, first: int, last: int) -> SortedEvents:
        """Return rows first : last, not copied."""
        at = slice(first, last)
        return SortedEvents(self.codec, self.keys[at], self.template[at], self.sensor[at], self.ref[at])

    def take(self, rows: PositionArray) -> SortedEvents:
        """Return the given rows, which rise."""
        return SortedEvents(self.codec, self.keys[rows], self.template[rows], self.sensor[rows], self.ref[rows])


def sorted_events(events: Events) -> SortedEvents:
    """Key events that are sorted already."""
    time_us = events.detected_at_us
    known = (int(events.area[-1]), int(time_us.min()), int(time_us.max())) if len(events) else (0, 0, 0)
    codec = narrowest_keys(*known)
    return SortedEvents(codec, codec.encode(events.area, time_us), events.template, events.sensor, events.ref)
