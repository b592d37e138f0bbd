"""Places: from ranges of a flat column to the positions in them."""

from __future__ import annotations

import numpy as np

from coincide.arrays import Int64Array, PositionArray


def places(begin: Int64Array, end: Int64Array) -> tuple[PositionArray, PositionArray]:
    """Write out ranges ``begin[i]`` to ``end[i]``, the last excluded: for each place the range i and the place.

    No end is before its begin.

    Examples
    --------
    >>> row, at = places(np.array([5, 9, 20]), np.array([7, 9, 21]))
    >>> row.tolist(), at.tolist()
    ([0, 0, 2], [5, 6, 20])
    """
    counts = end - begin
    ends = counts.cumsum()
    row = np.arange(len(counts)).repeat(counts)
    return row, np.arange(len(row)) + (end - ends)[row]


def begins(column: PositionArray) -> PositionArray:
    """Return where a value differs from the one before it, the first place included.

    Examples
    --------
    >>> begins(np.array([5, 5, 7])).tolist(), begins(np.array([], int)).tolist()
    ([0, 2], [])
    """
    differs = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=differs[1:])
    return differs.nonzero()[0]
