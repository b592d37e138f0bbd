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
        self._behind: dict[int, PositionArray] = {}

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
        if which not in self._behind:
            own = self.part(which)
            self._behind[which] = np.cumsum((self._order >= own.start) & (self._order < own.stop), axis=0)
        return self._behind[which]

    def between(self, which: int, values: FloatArray) -> FloatArray:
        """Return on each piece what is `values`, shape (m_i - 1, n), between the times of a set, and 0 elsewhere."""
        nothing = np.zeros((1, values.shape[1]))
        return in_rows(np.concatenate((nothing, values, nothing)), self.behind(which)[:-1])

    def rows(self, which: int) -> PositionArray:
        """Return where the times of a set are among all, shape (m_i, n)."""
        row = np.empty_like(self._order)
        np.put_along_axis(row, self._order, np.arange(len(self._order))[:, None], axis=0)
        return row[self.part(which)]


class RangeSums:
    """Sums of neighbouring rows of `values`, of shape (k, n), column by column.

    A prefix sum minus another would lose the digits of what is small between them. Here blocks of 2, 4, 8, ... rows
    hold the sums from each row to the block's middle. A stretch is cut by the middle of just one block, into two such
    sums. So no difference is taken (a disjoint sparse table).
    """

    def __init__(self, values: FloatArray) -> None:
        levels, half = [values], 1
        while half < len(values):
            levels.append(_towards_middle(values, half))
            half *= 2
        self._rows = len(values)
        self._table = np.concatenate(levels)

    def between(self, start: PositionArray, stop: PositionArray) -> FloatArray:
        """Return the sums of rows start : stop of each column, shape (m, n); 0 where stop is not beyond start."""
        least, last = np.minimum(start, self._rows - 1), np.maximum(stop - 1, 0)
        level = np.frexp(least ^ last)[1]  # the highest bit in which they differ says which block they share
        sums = self._from(level, least) + np.where(level > 0, self._from(level, last), 0.0)
        return np.where(start < stop, sums, 0.0)

    def _from(self, level: PositionArray, row: PositionArray) -> FloatArray:
        columns = self._table.shape[1]
        sums: FloatArray = self._table.take((level * self._rows + row) * columns + np.arange(columns))
        return sums


def _towards_middle(values: FloatArray, half: int) -> FloatArray:
    """Return the sum from each row to the middle of its block of twice `half` rows."""
    rows, columns = values.shape
    blocks = np.zeros((-(-rows // (2 * half)), 2, half, columns))
    blocks.reshape(-1, columns)[:rows] = values
    blocks[:, 0] = np.add.accumulate(blocks[:, 0, ::-1], axis=1)[:, ::-1]
    blocks[:, 1] = np.add.accumulate(blocks[:, 1], axis=1)
    return blocks.reshape(-1, columns)[:rows]


def in_rows(values: npt.NDArray[Scalar], rows: PositionArray) -> npt.NDArray[Scalar]:
    """Return chosen rows of each column, in the shape of `rows`."""
    columns = values.shape[1]
    chosen: npt.NDArray[Scalar] = values.take(rows * columns + np.arange(columns))  # faster than take_along_axis
    return chosen


def times_in_rows(times: ExactSum, rows: PositionArray) -> ExactSum:
    """Return chosen rows of each column of times."""
    return ExactSum(in_rows(times.high, rows), in_rows(times.low, rows))


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
