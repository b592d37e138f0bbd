"""Piecewise polynomials in columns: merged break points, and the nodes that integrate them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray, PositionArray


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


@cache
def gauss_legendre(degree: int) -> tuple[list[float], list[float]]:
    """Return as few nodes, and their weights, as integrate polynomials of a degree exactly.

    Examples
    --------
    The integral of z^2 is 2/3:

    >>> nodes, weights = gauss_legendre(2)
    >>> round(sum(weight * node**2 for node, weight in zip(nodes, weights)), 12)
    0.666666666667
    """
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return nodes.tolist(), weights.tolist()


@cache
def antiderivative(degree: int) -> tuple[list[float], list[list[float]]]:
    """Return nodes, and the matrix from a polynomial's values there to the coefficients of its integral from -1.

    Examples
    --------
    A straight line that is -a and a at the nodes, -1/sqrt(3) and 1/sqrt(3), has the integral (z^2 - 1) sqrt(3) a / 2:

    >>> nodes, matrix = antiderivative(1)
    >>> [round(-lower + upper, 4) for lower, upper in matrix]
    [-0.866, 0.0, 0.866]
    """
    nodes, _ = np.polynomial.legendre.leggauss(degree + 1)
    powers = np.arange(1, degree + 2)[:, None]
    integral: FloatArray = np.linalg.inv(np.vander(nodes, increasing=True)) / powers
    at_start = -(integral * (-1.0) ** powers).sum(axis=0, keepdims=True)
    return nodes.tolist(), np.concatenate((at_start, integral)).tolist()
