"""SortedRun: rows in the order of their keys, in arrays with room to grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray
from coincide.joins.keys import KeyArray

Columns = tuple[npt.NDArray[Any], ...]  # keys, template, sensor, ref

SMALLEST_CAPACITY = 1024
ROOM = 4  # growing arrays leave a quarter of their size free


class SortedRun:
    """Four columns sorted by key, with free room behind them and dropped room in front: 24 bytes a row.

    A batch is merged into the part that it overlaps; dropping the first rows only moves the head.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns, self._head, self._tail = columns, 0, len(columns[0])

    def __len__(self) -> int:
        return self._tail - self._head

    @property
    def columns(self) -> Columns:
        """The rows, as the run's own arrays: valid until it changes."""
        return tuple(column[self._head : self._tail] for column in self._columns)

    @property
    def keys(self) -> KeyArray:
        """The keys alone."""
        return self._columns[0][self._head : self._tail]

    def following(self, key: Any) -> int:
        """Count the rows behind a key: so many move if a row with that key comes in."""
        return len(self) - int(self.keys.searchsorted(key, side="right"))

    def merge(self, new: Columns) -> None:
        """Take sorted rows in; of equal keys the new ones come last."""
        self._reserve(len(new[0]))
        first = self._tail - self.following(new[0][0])
        if first < self._tail and len(new[0]) == 1:
            self._insert(first, new)
            return
        if first < self._tail:
            new = merged(tuple(column[first : self._tail] for column in self._columns), new)
            self._tail = first
        for column, rows in zip(self._columns, new, strict=True):
            column[self._tail : self._tail + len(rows)] = rows
        self._tail += len(new[0])

    def _insert(self, first: int, row: Columns) -> None:
        """Take one row in at a place; the rows behind it move."""
        for column, value in zip(self._columns, row, strict=True):
            column[first + 1 : self._tail + 1] = column[first : self._tail]
            column[first] = value[0]
        self._tail += 1

    def drop_first(self, count: int) -> None:
        """Drop the first rows."""
        self._head += count

    def kept(self, stays: BoolArray) -> SortedRun:
        """Return a run of the rows that stay."""
        return SortedRun(tuple(column[stays] for column in self.columns))

    def _reserve(self, count: int) -> None:
        """Make room behind the tail, and a quarter more, so that rows move a bounded number of times each."""
        size, capacity = len(self), len(self._columns[0])
        if self._tail + count <= capacity:
            return
        if size + size // ROOM + count <= capacity:
            self._move_to_front()
            return
        self._columns = tuple(_enlarged(column, size + size // ROOM + count) for column in self.columns)
        self._head, self._tail = 0, size

    def _move_to_front(self) -> None:
        """Use the dropped room in front again, in steps that do not overlap: numpy would copy what does."""
        size, head = len(self), self._head
        for column in self._columns:
            for first in range(0, size, head):
                here = column[head + first : min(2 * head + first, self._tail)]
                column[first : first + len(here)] = here
        self._head, self._tail = 0, size


def merged(old: Columns, new: Columns) -> Columns:
    """Interleave sorted rows; of equal keys the old ones come first."""
    at = np.searchsorted(old[0], new[0], side="right") + np.arange(len(new[0]))
    is_old = np.ones(len(old[0]) + len(at), np.bool_)
    is_old[at] = False
    columns = tuple(np.empty(len(is_old), column.dtype) for column in old)
    for column, before, after in zip(columns, old, new, strict=True):
        column[at] = after
        column[is_old] = before
    return columns


def _enlarged(column: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.empty(max(SMALLEST_CAPACITY, capacity), column.dtype)
    larger[: len(column)] = column
    return larger
