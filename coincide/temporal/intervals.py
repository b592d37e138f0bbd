"""Intervals: half-open spans of whole microseconds in columns, whose end may be NOW."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, PositionArray, read_only
from coincide.arrays.numbers import whole_numbers
from coincide.errors import IntervalError

NOW_US: Final = 2**63 - 1
"""The end of what still holds: later than every instant, until `Intervals.at` says when now is."""


class Intervals:
    """Proper intervals [start, end) in columns; row i is one.

    An IntervalError says that a column holds something else than whole numbers, that the two differ in length, or that
    a row is empty.

    Parameters
    ----------
    start_us, end_us : array_like of int, shape (n,)
        Microseconds; ``start_us < end_us`` in every row. An end of `NOW_US` is open: it still holds.

    Attributes
    ----------
    start_us, end_us : ndarray of int64, shape (n,), read-only

    Examples
    --------
    >>> len(Intervals([0, 5], [5, NOW_US]))
    2
    >>> Intervals([5], [5])
    Traceback (most recent call last):
        ...
    coincide.errors.IntervalError: end_us[0] is 5: later than the start, 5
    """

    def __init__(self, start_us: npt.ArrayLike, end_us: npt.ArrayLike) -> None:
        start = whole_numbers("start_us", start_us, None, IntervalError)
        if start.ndim != 1:
            raise IntervalError("start_us", f"an array of shape {start.shape}", "one instant a row, shape (n,)")
        end = whole_numbers("end_us", end_us, start.shape, IntervalError)
        if (empty := np.flatnonzero(start >= end)).size:
            row = int(empty[0])
            raise IntervalError(f"end_us[{row}]", int(end[row]), f"later than the start, {start[row]}")
        self.start_us, self.end_us = read_only(start), read_only(end)

    def __len__(self) -> int:
        return len(self.start_us)

    @property
    def is_open(self) -> BoolArray:
        """Whether each end is NOW, shape (n,)."""
        open_ended: BoolArray = self.end_us == NOW_US
        return open_ended

    def take(self, rows: npt.NDArray[Any]) -> Intervals:
        """Return the intervals of the given rows (positions or a mask), in that order."""
        return Intervals(self.start_us[rows], self.end_us[rows])

    def at(self, now_us: int) -> Intervals:
        """Return the intervals with every open end at `now_us`; what is open must have begun before."""
        return Intervals(self.start_us, np.where(self.is_open, now_us, self.end_us))

    def __repr__(self) -> str:
        return f"Intervals({len(self)} rows, {int(self.is_open.sum())} open)"


def intersect(a: Intervals, b: Intervals) -> tuple[PositionArray, Intervals]:
    """Return the common part of each row of `a` and the same row of `b`: TSQL2's INTERSECT.

    Both have the same length n, or one of them length 1. The first result names the rows that have a common part,
    ascending, intp (m,); the second is that part of each.

    Examples
    --------
    >>> rows, common = intersect(Intervals([0, 0], [5, 5]), Intervals([3, 5], [NOW_US, 9]))
    >>> rows.tolist(), common.start_us.tolist(), common.end_us.tolist()
    ([0], [3], [5])
    """
    checked_lengths(a, b)
    start = np.maximum(a.start_us, b.start_us)
    end = np.minimum(a.end_us, b.end_us)
    rows = np.flatnonzero(start < end)
    return rows, Intervals(start[rows], end[rows])


def checked_lengths(a: Intervals, b: Intervals) -> None:
    """Raise IntervalError if rows of `a` and `b` cannot be set side by side."""
    if len(a) != len(b) and 1 not in {len(a), len(b)}:
        raise IntervalError("b", f"{len(b)} intervals", f"{len(a)}, as a has, or 1")
