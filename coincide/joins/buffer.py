"""Buffer: what a streaming operator keeps of one stream, many areas in one sorted set of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.joins.events import Events, SortedEvents
from coincide.joins.keys import EARLIEST_TIME_US, LATEST_TIME_US, AreaKeys, PackedKeys, WideKeys, narrowest_keys

Columns = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]  # keys, template, sensor, ref

SMALLEST_CAPACITY = 1024
ROOM = 4  # growing arrays leave a quarter of their size free
COMPACT_FROM = 1 / 16  # several areas: rewrite the arrays once this share of them can go


class Buffer:
    """Events of one stream, sorted by area, then reported time: 24 bytes an event.

    The four arrays have free room behind and, while there is one area, dropped room in front. A batch is merged into
    the part that it overlaps; dropping the oldest only moves the head. The buffer chooses new keys when an area or a
    time does not fit them, so no key ever wraps; the widest need 16 bytes (`WideKeys`).
    """

    def __init__(self) -> None:
        self._codec: AreaKeys = PackedKeys()
        self._columns = _empty_columns(self._codec, SMALLEST_CAPACITY)
        self._head = self._tail = 0

    def __len__(self) -> int:
        return self._tail - self._head

    def view(self) -> SortedEvents:
        """Return the events as read-only use of the buffer's own arrays: valid until it changes."""
        keys, template, sensor, ref = self._columns
        held = slice(self._head, self._tail)
        return SortedEvents(self._codec, keys[held], template[held], sensor[held], ref[held])

    def events(self) -> Events:
        """Return a copy of all events; a new buffer that inserts it answers alike."""
        held = self.view()
        area, time_us = self._codec.area(held.keys), self._codec.time_us(held.keys)
        return Events(area, time_us, held.template.copy(), held.sensor.copy(), held.ref.copy())

    def insert(self, batch: Events) -> None:
        """Add events in any order. This sorts them, and moves the buffered events that follow the first of them."""
        if len(batch) == 0:
            return
        batch = batch.sorted()
        span = int(batch.area[-1]), int(batch.detected_at_us.min()), int(batch.detected_at_us.max())
        if not self._codec.fits(*span):
            self._rekey(*span)
        self._reserve(len(batch))
        keys = self._codec.encode(batch.area, batch.detected_at_us)
        columns: Columns = (keys, batch.template, batch.sensor, batch.ref)
        held = self._columns[0][self._head : self._tail]
        first = self._head + int(np.searchsorted(held, keys[0], side="right"))
        if first < self._tail:
            columns = self._merged(columns, first)
        self._tail += len(batch)
        for column, new in zip(self._columns, columns, strict=True):
            column[first : self._tail] = new

    def evict(self, keep_from_us: Int64Array) -> Int64Array:
        """Drop events reported before the bound of their area code; return their refs.

        Areas beyond the bounds keep everything. With one area in the buffer exactly those go. With several they go once
        they are a sixteenth of all: then rewriting the arrays costs a bounded share of inserting. Which go depends on
        the content alone.
        """
        if len(self) == 0:
            return np.empty(0, np.int64)
        held = self.view()
        first, last = (int(area) for area in self._codec.area(held.keys[[0, -1]]))
        if first == last:
            return self._drop_front(keep_from_us[first]) if first < len(keep_from_us) else np.empty(0, np.int64)
        goes = self._before(held, keep_from_us)
        if np.count_nonzero(goes) < COMPACT_FROM * len(held):
            return np.empty(0, np.int64)
        return self._drop(goes)

    def evict_oldest(self, count: int) -> Int64Array:
        """Drop the `count` events that were reported earliest, whatever their area; return their refs."""
        if count <= 0 or len(self) == 0:
            return np.empty(0, np.int64)
        held = self.view()
        goes = np.zeros(len(held), np.bool_)
        goes[np.argsort(self._codec.time_us(held.keys), kind="stable")[:count]] = True
        return self._drop(goes)

    def recode_templates(self, new_code: CodeArray) -> None:
        """Replace template code c by ``new_code[c]`` everywhere."""
        template = self._columns[1][self._head : self._tail]
        template[:] = new_code[template]

    def _merged(self, batch: Columns, first: int) -> Columns:
        """Interleave the batch with the events from `first` on; equal keys keep the order of arrival."""
        held = tuple(column[first : self._tail] for column in self._columns)
        at = np.searchsorted(held[0], batch[0], side="right") + np.arange(len(batch[0]))
        is_old = np.ones(len(held[0]) + len(at), np.bool_)
        is_old[at] = False
        merged = []
        for old, new in zip(held, batch, strict=True):
            column = np.empty(len(is_old), old.dtype)
            column[at] = new
            column[is_old] = old
            merged.append(column)
        return merged[0], merged[1], merged[2], merged[3]

    def _rekey(self, greatest_area: int, earliest_us: int, latest_us: int) -> None:
        """Write the events with the narrowest keys for them and for the given area and times."""
        held = self.events()
        if len(held):
            greatest_area = max(greatest_area, int(held.area[-1]))
            earliest_us = min(earliest_us, int(held.detected_at_us.min()))
            latest_us = max(latest_us, int(held.detected_at_us.max()))
        self._codec = narrowest_keys(greatest_area, earliest_us, latest_us)
        keys = self._codec.encode(held.area, held.detected_at_us)
        self._replace((keys, held.template, held.sensor, held.ref))

    def _reserve(self, count: int) -> None:
        """Make room behind the tail, and a quarter more, so that events move a bounded number of times each."""
        size, capacity = len(self), len(self._columns[0])
        if self._tail + count <= capacity:
            return
        if size + size // ROOM + count <= capacity:
            self._move_to_front()
        else:
            held = self.view()
            self._replace((held.keys, held.template, held.sensor, held.ref), room=size // ROOM + count)

    def _move_to_front(self) -> None:
        """Use the dropped room in front again, in steps that do not overlap: numpy would copy what does."""
        size, head = len(self), self._head
        for column in self._columns:
            for first in range(0, size, head):
                here = column[head + first : min(2 * head + first, self._tail)]
                column[first : first + len(here)] = here
        self._head, self._tail = 0, size

    def _replace(self, columns: Columns, room: int = 0) -> None:
        size = len(columns[0])
        grown = _empty_columns(self._codec, max(SMALLEST_CAPACITY, size + room))
        for column, kept in zip(grown, columns, strict=True):
            column[:size] = kept
        self._columns, self._head, self._tail = grown, 0, size

    def _drop_front(self, keep_from_us: np.int64) -> Int64Array:
        held = self.view()
        area = self._codec.area(held.keys[:1])
        bound = self._codec.encode_bound(area, np.array([keep_from_us]))
        count = int(np.searchsorted(held.keys, bound[0], side="left"))
        self._head += count
        return held.ref[:count].copy()

    def _before(self, held: SortedEvents, keep_from_us: Int64Array) -> BoolArray:
        area = self._codec.area(held.keys)
        known = int(np.searchsorted(area, len(keep_from_us)))  # areas rise; those beyond the bounds keep everything
        before = np.zeros(len(held), np.bool_)
        before[:known] = self._codec.time_us(held.keys[:known]) < keep_from_us[area[:known]]
        return before

    def _drop(self, goes: BoolArray) -> Int64Array:
        held, stays = self.view(), ~goes
        dropped = held.ref[goes]
        self._replace((held.keys[stays], held.template[stays], held.sensor[stays], held.ref[stays]))
        if isinstance(self._codec, WideKeys) and len(self):
            self._rekey(0, LATEST_TIME_US, EARLIEST_TIME_US)
        return dropped


def _empty_columns(codec: AreaKeys, capacity: int) -> Columns:
    nothing = np.empty(0, np.int64)
    keys = np.empty(capacity, codec.encode(nothing.astype(np.int32), nothing).dtype)
    template, sensor = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    return keys, template, sensor, np.empty(capacity, np.int64)
