"""Piecewise polynomials in columns: merged break points, nodes that integrate between them, sums over the pieces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray, PositionArray, Scalar


class BreakPoints:
    """The union of sets of times, each sorted and of shape (m_i, n), sorted column by column into `time`, shape (m, n).

    `width_s`, shape (m - 1, n), has the lengths of the pieces between neighbours, right to the last digits.
    """

    def __init__(self, sets: Sequence[ExactSum]) -> None:
        high, low = (np.concatenate([getattr(each, part) for each in sets]) for part in ("high", "low"))
        self._starts = np.cumsum([0, *(len(each.high) for each in sets)]).tolist()
        self._order = np.lexsort((low, high), axis=0)
        self.time = ExactSum(self.sorted(high), self.sorted(low))
        self.width_s: FloatArray = np.diff(self.time.high, axis=0) + np.diff(self.time.low, axis=0)

    @property
    def middle(self) -> ExactSum:
        """The middle of each piece, shape (m - 1, n)."""
        return ExactSum(self.time.high[:-1], self.time.low[:-1] + self.width_s / 2)

    def sorted(self, values: FloatArray) -> FloatArray:
        """Put values given set by set, time by time, into the order of time; shape (m, n)."""
        return in_rows(values, self._order)

    def part(self, which: int) -> slice:
        """Return where `sorted` expects the values of a set."""
        return slice(*self._starts[which : which + 2])

    def behind(self, which: int) -> PositionArray:
        """How many times of a set lie at or before each break point, shape (m, n)."""
        own = self.part(which)
        return np.cumsum((self._order >= own.start) & (self._order < own.stop), axis=0)

    def between(self, which: int, values: FloatArray) -> FloatArray:
        """Return on each piece what is `values`, shape (m_i - 1, n), between the times of a set, and 0 elsewhere."""
        nothing = np.zeros((1, values.shape[1]))
        return in_rows(np.concatenate((nothing, values, nothing)), self.behind(which)[:-1])

    def rows(self, which: int) -> PositionArray:
        """Return where the times of a set are among all, shape (m_i, n)."""
        row = np.empty_like(self._order)
        np.put_along_axis(row, self._order, np.arange(len(self._order))[:, None], axis=0)
        return row[self.part(which)]


def in_rows(values: npt.NDArray[Scalar], rows: PositionArray) -> npt.NDArray[Scalar]:
    """Return chosen rows of each column, in the shape of `rows`."""
    return np.take_along_axis(values, rows, axis=0)


def total(terms: FloatArray) -> FloatArray:
    """Sum over the rows from first to last, so that a column's result does not depend on its neighbours."""
    sums: FloatArray = np.add.accumulate(terms, axis=0)[-1]
    return sums


@cache
def gauss_legendre(degree: int) -> tuple[list[float], list[float]]:
    """Return as few nodes, and their weights, as integrate polynomials of a degree exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return nodes.tolist(), weights.tolist()


@cache
def antiderivative(degree: int) -> tuple[list[float], list[list[float]]]:
    """Return nodes, and the matrix from a polynomial's values there to the coefficients of its integral from -1."""
    nodes, _ = np.polynomial.legendre.leggauss(degree + 1)
    powers = np.arange(1, degree + 2)[:, None]
    integral: FloatArray = np.linalg.inv(np.vander(nodes, increasing=True)) / powers
    at_start = -(integral * (-1.0) ** powers).sum(axis=0, keepdims=True)
    return nodes.tolist(), np.concatenate((at_start, integral)).tolist()
