"""MergedBreaks: several sets of break points in one order of time, and how many of each set are behind; in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays import FloatArray, PositionArray
from coincide.exact_sums import ExactSum


class MergedBreaks:
    """The union of sets of times, sorted column by column.

    Parameters
    ----------
    sets : sequence of ExactSum of shapes (m_i, n)
        Each sorted.

    Attributes
    ----------
    time : ExactSum of shape (m, n)
    width_s : ndarray of float64, shape (m - 1, n)
        Lengths of the pieces between neighbours; right to the last digits.
    """

    def __init__(self, sets: Sequence[ExactSum]) -> None:
        high, low = (np.concatenate([getattr(each, part) for each in sets]) for part in ("high", "low"))
        self._ends = np.cumsum([len(each.high) for each in sets]).tolist()
        self._order = np.lexsort((low, high), axis=0)
        self.time = ExactSum(taken(high, self._order), taken(low, self._order))
        self.width_s: FloatArray = np.diff(self.time.high, axis=0) + np.diff(self.time.low, axis=0)

    @property
    def middle(self) -> ExactSum:
        """The middle of each piece, shape (m - 1, n)."""
        return ExactSum(self.time.high[:-1], self.time.low[:-1] + self.width_s / 2)

    def behind(self, which: int) -> PositionArray:
        """How many times of a set lie at or before each break point, shape (m, n)."""
        start, end = ([0, *self._ends])[which : which + 2]
        counts: PositionArray = np.cumsum((self._order >= start) & (self._order < end), axis=0)
        return counts

    def rows(self, which: int) -> PositionArray:
        """Return where the times of a set are among all, shape (m_i, n)."""
        start, end = ([0, *self._ends])[which : which + 2]
        place = np.empty_like(self._order)
        np.put_along_axis(place, self._order, np.arange(len(self._order))[:, None], axis=0)
        return place[start:end]


def taken(values: FloatArray, rows: PositionArray) -> FloatArray:
    """Return chosen rows of each column, in the shape of `rows`."""
    return np.take_along_axis(values, rows, axis=0)


def taken_counts(counts: PositionArray, rows: PositionArray) -> PositionArray:
    """Return chosen rows of whole numbers."""
    chosen: PositionArray = np.take_along_axis(counts, rows, axis=0)
    return chosen
