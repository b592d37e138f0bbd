"""From ranges of positions, one a row, to the positions themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import PositionArray

BLOCK_PAIRS = 65_536  # small enough for a core's cache, large enough to hide numpy's call overhead
REPEAT_FROM = 16  # positions a row; np.repeat mispredicts a branch a row, which then costs less than it saves

_COUNTED = np.arange(2 * BLOCK_PAIRS)
_COUNTED.flags.writeable = False


def pairs_in(start: PositionArray, stop: PositionArray) -> int:
    """Count the positions in all ranges start : stop together."""
    return int(np.maximum(stop - start, 0).sum())


def expanded_ranges(start: PositionArray, stop: PositionArray) -> tuple[PositionArray, PositionArray]:
    """Write out ranges ``start[i]`` to ``stop[i]``, the last excluded: for each position the row i and the position.

    With many positions a row, writing takes most of the time. Here each column is written only once.

    Examples
    --------
    >>> row, at = expanded_ranges(np.array([5, 9, 20]), np.array([7, 9, 21]))
    >>> row.tolist(), at.tolist()
    ([0, 0, 2], [5, 6, 20])
    """
    counts, ends, shift = _numbered(start, stop)
    total = int(ends[-1]) if len(ends) else 0
    rows = np.arange(len(counts)).repeat(counts)
    if total <= len(_COUNTED):
        return rows, shift.take(rows) + _COUNTED[:total]
    at = np.empty(total, np.intp)
    for first, last in _cuts_at(ends):
        begin, end = ends[first] - counts[first], ends[last - 1]
        before = np.repeat(shift[first:last] + begin, counts[first:last])
        np.add(before, _count_up_to(end - begin), out=at[begin:end])
    return rows, at


def expanded_range_blocks(
    start: PositionArray, stop: PositionArray, first_row: int = 0
) -> Iterator[tuple[PositionArray, PositionArray]]:
    """Write out ranges as `expanded_ranges` does, rows counted from `first_row`, in blocks of about BLOCK_PAIRS."""
    if len(start) == 1:
        yield from _expanded_range(int(start[0]), int(stop[0]), first_row)
        return
    _, ends, shift = _numbered(start, stop)
    for first, last in _cuts_at(ends):
        yield expanded(first, last, ends, shift, first_row)


def _expanded_range(start: int, stop: int, row: int) -> Iterator[tuple[PositionArray, PositionArray]]:
    """Write out the only range."""
    if start < stop:
        yield np.full(stop - start, row), np.arange(start, stop)


def expanded(
    first: int, last: int, ends: PositionArray, shift: PositionArray, first_row: int = 0
) -> tuple[PositionArray, PositionArray]:
    """Write out the pairs (row + first_row, position) of the rows first : last.

    Pairs are numbered through: those of a row end before number ends[row], number n is position n + shift[row].
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


def expanded_beside(
    columns: Sequence[PositionArray], start: PositionArray, stop: PositionArray
) -> Iterator[list[PositionArray]]:
    """Write out, in blocks, each row of the columns beside every position of its own start : stop."""
    counts, ends, shift = _numbered(start, stop)
    for first, last in _cuts_at(ends):
        begin, end = ends[first] - counts[first], ends[last - 1]
        parts = [*(column[first:last] for column in columns), shift[first:last] + begin]
        if end - begin >= REPEAT_FROM * (last - first):
            block = [np.repeat(part, counts[first:last]) for part in parts]
        else:
            rows = _rows_of_pairs(ends[first:last], begin)
            block = [part.take(rows) for part in parts]
        block[-1] += _count_up_to(end - begin)
        yield block


def _numbered(start: PositionArray, stop: PositionArray) -> tuple[PositionArray, PositionArray, PositionArray]:
    """Return how many pairs each row has, and `ends` and `shift` as `expanded` takes them."""
    counts = np.maximum(stop - start, 0)
    ends = counts.cumsum()
    return counts, ends, start - ends + counts


def _cuts_at(ends: PositionArray) -> Iterator[tuple[int, int]]:
    """Split the rows so that each part has about BLOCK_PAIRS pairs; a single row may have more."""
    total = int(ends[-1]) if len(ends) else 0
    if total <= BLOCK_PAIRS:
        if total:
            yield 0, len(ends)
        return
    cuts = np.searchsorted(ends, np.arange(BLOCK_PAIRS, total, BLOCK_PAIRS), side="left") + 1
    for first, last in pairwise([0, *np.unique(cuts).tolist(), len(ends)]):
        if first < last and ends[last - 1] > (ends[first - 1] if first else 0):
            yield first, last


def _rows_of_pairs(ends: PositionArray, start: int) -> PositionArray:
    """Return the row of each pair from number `start` to the last row's end, counted from the first row."""
    rows_ending = np.bincount(ends[:-1] - start, minlength=ends[-1] - start)
    rows: PositionArray = np.cumsum(rows_ending[: ends[-1] - start])
    return rows


def _count_up_to(count: int) -> PositionArray:
    """Return 0, 1, ... count - 1."""
    return _COUNTED[:count] if count <= len(_COUNTED) else np.arange(count)
