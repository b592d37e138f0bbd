"""TimeCells: chunks that nobody has to plan: each area's time is cut into cells of equal length; hashes spread them.

A cell of an area is a chunk. It is some times as long as the query's reach, so a row is seen by its own cell and at
most one other. Rows need not be counted before: a hot area has as many cells as any other, and they lie anywhere.
Cells with more rows than a task is to join at once are cut into `TimeSlice`s, once the rows are there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray

REACHES_A_CELL = 32  # so few rows are in two cells
LEAST_LENGTH_US = 1_000_000
MOST_REACH_US = 1 << 45  # 400 days: with such a reach an area is one cell
BEGINNING_US, END_US = -(1 << 60), 1 << 60
MIXERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Sight(NamedTuple):
    """Whether a chunk sees rows of a side before its beginning, and after its end; as far as the query reaches."""

    before: bool
    after: bool


class SeenRows(NamedTuple):
    """Rows beside the cells that see them, each counted from the row's own: -1, 0 or 1."""

    row: PositionArray
    shift: Int64Array


@dataclass(frozen=True)
class TimeCells:
    """Cells of time: cell n goes from n times the length up to, not including, the next; without length there is one.

    Examples
    --------
    >>> cells = TimeCells.of(reach_us=1_000_000)
    >>> cells.length_us
    32000000
    >>> cells.seen(np.array([0, 5_000_000, 32_500_000]), Sight(before=False, after=True)).shift.tolist()
    [0, 0, 0, -1, -1]
    """

    length_us: int
    reach_us: int

    @classmethod
    def of(cls, reach_us: int) -> TimeCells:
        """Return the cells for a query of this reach."""
        length_us = max(REACHES_A_CELL * reach_us, LEAST_LENGTH_US)
        return cls(0 if reach_us >= MOST_REACH_US else length_us, reach_us)

    def number(self, time_us: Int64Array) -> Int64Array:
        """Return the number of each row's own cell."""
        return time_us // self.length_us if self.length_us else np.zeros_like(time_us)

    def since_start_us(self, time_us: Int64Array, cell: Int64Array) -> Int64Array:
        """Return times counted from the beginning of a cell: small numbers, which sort faster."""
        return time_us - cell * self.length_us

    def seen(self, time_us: Int64Array, sight: Sight) -> SeenRows:
        """Return all rows in their own cells, and behind them those that other cells see, too."""
        rows = [np.arange(len(time_us))]
        if self.length_us:
            into_us = self.since_start_us(time_us, self.number(time_us))
            rows.append(np.flatnonzero(into_us < self.reach_us) if sight.after else rows[0][:0])
            rows.append(np.flatnonzero(into_us >= self.length_us - self.reach_us) if sight.before else rows[0][:0])
        shift = np.repeat(np.array([0, -1, 1])[: len(rows)], [len(each) for each in rows])
        return SeenRows(np.concatenate(rows), shift)


@dataclass(frozen=True)
class TimeSlice:
    """The rows of some cells that were reported in [first, end): it owns them, and sees as far as the query reaches."""

    first_us: int
    end_us: int
    reach_us: int

    def owned(self, time_us: Int64Array) -> BoolArray:
        """Whether each row is its own."""
        return (time_us >= self.first_us) & (time_us < self.end_us)

    def seen(self, time_us: Int64Array, sight: Sight) -> BoolArray:
        """Whether it sees each row, its own ones too."""
        first_us = self.first_us - (self.reach_us if sight.before else 0)
        end_us = self.end_us + (self.reach_us if sight.after else 0)
        return (time_us >= first_us) & (time_us < end_us)


def time_slices(time_us: Int64Array, rows: int, reach_us: int) -> Iterator[TimeSlice]:
    """Cut all time into slices that own about so many of these rows; a slice is longer than the query's reach.

    A shorter one would see more rows than it owns. So a slice owns at most `rows` and what is within one reach.

    Examples
    --------
    >>> for part in time_slices(np.arange(0, 100, 10), rows=4, reach_us=25):
    ...     print(part.owned(np.arange(0, 100, 10)).sum(), part.seen(np.arange(0, 100, 10), Sight(False, True)).sum())
    4 7
    4 6
    2 2
    """
    borders = [BEGINNING_US]
    for border_us in np.sort(time_us)[rows::rows].tolist():
        if border_us - borders[-1] > reach_us:
            borders.append(border_us)
    for first_us, end_us in pairwise([*borders, END_US]):
        yield TimeSlice(first_us, end_us, reach_us)


def word_hashes(words: Sequence[str]) -> Int64Array:
    """Return a number for each area, the same on all machines."""
    return np.array([zlib.crc32(word.encode()) for word in words], np.int64)


def buckets_of(area_hash: Int64Array, cell: Int64Array, buckets: int) -> Int64Array:
    """Return the bucket of each chunk, 0 <= bucket < buckets: neighbouring cells go to buckets far apart."""
    mixed = area_hash.astype(np.uint64) * MIXERS[0] + cell.astype(np.uint64) * MIXERS[1]
    mixed ^= mixed >> np.uint64(31)
    mixed *= MIXERS[2]
    return ((mixed >> np.uint64(32)) % np.uint64(buckets)).astype(np.int64)
