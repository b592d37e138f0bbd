"""From ranges of positions to the positions themselves, one row each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray

BLOCK_ROWS = 65_536  # small enough for a core's cache


def expanded_ranges(begin: Int64Array, end: Int64Array) -> tuple[PositionArray, PositionArray]:
    """Write out ranges ``begin[i]`` to ``end[i]``, the last excluded: for each position the range i and the position.

    No end is before its begin.

    Examples
    --------
    >>> row, at = expanded_ranges(np.array([5, 9, 20]), np.array([7, 9, 21]))
    >>> row.tolist(), at.tolist()
    ([0, 0, 2], [5, 6, 20])
    """
    counts = end - begin
    ends = counts.cumsum()
    row = np.arange(len(counts)).repeat(counts)
    return row, np.arange(len(row)) + (end - ends)[row]


def expanded_range_blocks(begin: Int64Array, end: Int64Array) -> Iterator[tuple[PositionArray, PositionArray]]:
    """Write out ranges as `expanded_ranges` does, in blocks of whole ranges with about `BLOCK_ROWS` positions."""
    ends = np.cumsum(end - begin)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(BLOCK_ROWS, total, BLOCK_ROWS)) + 1
    for first, last in pairwise([0, *np.unique(cuts).tolist(), len(ends)]):
        row, at = expanded_ranges(begin[first:last], end[first:last])
        yield row + first, at
