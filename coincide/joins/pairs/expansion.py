"""From ranges of stored rows, one a probing row, to the pairs that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import PositionArray

BLOCK_PAIRS = 65_536  # small enough for a core's cache, large enough to hide numpy's call overhead
REPEAT_FROM = 16  # pairs a row; np.repeat mispredicts a branch a row, which then costs less than it saves

_COUNTED = np.arange(2 * BLOCK_PAIRS)
_COUNTED.flags.writeable = False


def pairs_in(start: PositionArray, stop: PositionArray) -> int:
    """Count the stored rows in all ranges start : stop together."""
    return int(np.maximum(stop - start, 0).sum())


def cuts_at(ends: PositionArray) -> Iterator[tuple[int, int]]:
    """Split the rows so that each part has about BLOCK_PAIRS pairs (a single row may have more).

    `ends` says how many pairs there are up to and with each row.
    """
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(BLOCK_PAIRS, total, BLOCK_PAIRS), side="left") + 1
    for first, last in pairwise([0, *np.unique(cuts).tolist(), len(ends)]):
        if first < last and ends[last - 1] > (ends[first - 1] if first else 0):
            yield first, last


def expanded(
    first: int, last: int, ends: PositionArray, shift: PositionArray, first_row: int = 0
) -> tuple[PositionArray, PositionArray]:
    """Write out the pairs (row + first_row, stored row) of the rows first : last.

    Pairs are numbered through: those of a row end before number ends[row], number n is stored row n + shift[row].
    """
    start, stop = ends[first - 1] if first else 0, ends[last - 1]
    if stop - start >= REPEAT_FROM * (last - first):
        counts = np.diff(ends[first:last], prepend=start)
        rows = np.repeat(np.arange(first + first_row, last + first_row), counts)
        at = np.repeat(shift[first:last] + start, counts)
    else:
        rows = _rows_of_pairs(ends[first:last], start)
        at = shift[first:last].take(rows)
        at += start
        rows += first + first_row
    at += _count_up_to(stop - start)
    return rows, at


def expanded_blocks(
    start: PositionArray, stop: PositionArray, first_row: int = 0
) -> Iterator[tuple[PositionArray, PositionArray]]:
    """Write out all pairs (row + first_row, stored row) in blocks: row r has the stored rows start[r] : stop[r]."""
    counts = np.maximum(stop - start, 0)
    ends = np.cumsum(counts)
    shift = start - ends + counts
    for first, last in cuts_at(ends):
        yield expanded(first, last, ends, shift, first_row)


def expanded_beside(
    columns: Sequence[PositionArray], start: PositionArray, stop: PositionArray
) -> Iterator[list[PositionArray]]:
    """Write out, in blocks, each row of the columns beside every stored row of its own start : stop."""
    counts = np.maximum(stop - start, 0)
    ends = np.cumsum(counts)
    shift = start - ends + counts
    for first, last in cuts_at(ends):
        begin, end = ends[first] - counts[first], ends[last - 1]
        parts = [*(column[first:last] for column in columns), shift[first:last] + begin]
        if end - begin >= REPEAT_FROM * (last - first):
            block = [np.repeat(part, counts[first:last]) for part in parts]
        else:
            rows = _rows_of_pairs(ends[first:last], begin)
            block = [part.take(rows) for part in parts]
        block[-1] += _count_up_to(end - begin)
        yield block


def expanded_columns(start: PositionArray, stop: PositionArray) -> tuple[PositionArray, PositionArray]:
    """Write out all pairs (row, stored row) at once: row r has the stored rows start[r] : stop[r].

    With many partners a row, writing takes most of the time. Here each column is written only once.
    """
    counts = np.maximum(stop - start, 0)
    ends = np.cumsum(counts)
    at = np.empty(int(ends[-1]) if len(ends) else 0, np.intp)
    for first, last in cuts_at(ends):
        begin, end = ends[first] - counts[first], ends[last - 1]
        before = start[first:last] - (ends[first:last] - counts[first:last] - begin)
        np.add(np.repeat(before, counts[first:last]), _count_up_to(end - begin), out=at[begin:end])
    return np.repeat(np.arange(len(counts)), counts), at


def _rows_of_pairs(ends: PositionArray, start: int) -> PositionArray:
    """Return the row of each pair from number `start` to the last row's end, counted from the first row."""
    rows_ending = np.bincount(ends[:-1] - start, minlength=ends[-1] - start)
    rows: PositionArray = np.cumsum(rows_ending[: ends[-1] - start])
    return rows


def _count_up_to(count: int) -> PositionArray:
    """Return 0, 1, ... count - 1."""
    return _COUNTED[:count] if count <= len(_COUNTED) else np.arange(count)


def sorted_inside(
    rows: PositionArray, at: npt.NDArray[np.int64] | npt.NDArray[np.int32], count: int
) -> tuple[PositionArray, npt.NDArray[Any]]:
    """Sort the pairs of each row by `at`, of which every one is below `count`; `rows` never falls."""
    if len(rows) == 0:
        return rows, at
    bits = count.bit_length()
    fits_32_bits = int(rows[-1] - rows[0]).bit_length() + bits < 32
    keys = (rows - rows[0]).astype(np.int32 if fits_32_bits else np.int64)  # narrow numbers sort twice as fast
    keys <<= bits
    keys |= at.astype(keys.dtype, copy=False)
    keys.sort()
    keys &= (1 << bits) - 1
    return rows, keys


SPARE = 1.1
GREATEST_LEAP = 256  # times what is in hand: a dense beginning must not ask for more memory than there is


class PairColumns:
    """Pairs in the order of their probing rows, with room for as many as the rows so far let one expect.

    Memory that is not written costs nothing; copying columns again and again costs as much as the join.
    """

    def __init__(self, probing_rows: int) -> None:
        self._probing_rows = probing_rows
        self._rows, self._at = np.empty(0, np.intp), np.empty(0, np.intp)
        self._size = 0

    def append(self, rows: PositionArray, first_row: int, at: PositionArray, first_at: int) -> None:
        """Add pairs (probing row, stored row), each counted from its first; rows never fall."""
        if len(rows) == 0:
            return
        start, self._size = self._size, self._size + len(rows)
        if self._size > len(self._rows):
            expected = self._size * self._probing_rows / (first_row + int(rows[-1]) + 1)
            capacity = int(SPARE * min(expected, GREATEST_LEAP * self._size)) + 1
            self._rows, self._at = (_enlarged(column, start, capacity) for column in (self._rows, self._at))
        np.add(rows, first_row, out=self._rows[start : self._size])
        np.add(at, first_at, out=self._at[start : self._size])

    def columns(self) -> tuple[PositionArray, PositionArray]:
        """Return all probing rows and all stored rows."""
        return self._rows[: self._size], self._at[: self._size]


def _enlarged(column: PositionArray, size: int, capacity: int) -> PositionArray:
    larger = np.empty(capacity, np.intp)
    larger[:size] = column[:size]
    return larger
