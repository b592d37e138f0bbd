"""MergedBuckets: the cdf of Xv - Xu of templates of many buckets, by one walk along the edges of both.

`Trapezoids` adds a term for each pair of buckets. Here the edges of v, moved by x, are merged with those of u. Between
neighbouring edges both densities are constant, so P(Xv <= Xu + x) is a sum over as many parts as there are edges. Its
terms are not negative: nothing cancels, and distances of edges are formed from exact sums of two floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.templates.template_columns import TemplateColumns


@dataclass(frozen=True, eq=False)
class MergedBuckets:
    """Templates without atoms, column n of `u` with column n of `v`; the methods are those of `Trapezoids`."""

    u: TemplateColumns
    v: TemplateColumns

    def at_most(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu <= x), shape (n,), for one x per template pair (or many x for a single pair)."""
        return self.at_most_and_density(x)[0]

    def below(self, x: ExactSum) -> FloatArray:
        """P(Xv - Xu < x), which is the same without atoms."""
        return self.at_most(x)

    def at_most_and_density(self, x: ExactSum) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, each of shape (n,)."""
        u_edges_s, moved = self.u.edges_s.T, _moved(self.v.edges_s.T, x)
        rows, of_u = len(x.high), u_edges_s.shape[1]
        high = np.concatenate((np.broadcast_to(u_edges_s, (rows, of_u)), moved.high), axis=1)
        low = np.concatenate((np.zeros((rows, of_u)), moved.low), axis=1)
        order = np.lexsort((low, high), axis=1)
        high, low = np.take_along_axis(high, order, axis=1), np.take_along_axis(low, order, axis=1)
        length_s = np.maximum(np.diff(high, axis=1) + np.diff(low, axis=1), 0.0)
        u_edges = np.cumsum(order < of_u, axis=1)[:, :-1]  # of u at or before where each part begins
        v_edges = np.arange(1, length_s.shape[1] + 1) - u_edges
        v_density = _taken(_between_edges(self.v.density), v_edges)
        v_last = np.maximum(v_edges - 1, 0)
        into_s = high[:, :-1] - _taken(moved.high, v_last) + (low[:, :-1] - _taken(moved.low, v_last))
        v_before = _taken(_masses_before(self.v.mass), v_last) + v_density * into_s
        u_mass = _taken(_between_edges(self.u.density), u_edges) * length_s
        probability = (u_mass * (v_before + 0.5 * v_density * length_s)).sum(axis=1)
        return probability, (u_mass * v_density).sum(axis=1)


def _moved(edges_s: FloatArray, x: ExactSum) -> ExactSum:
    """Edges less x, shape (n, edges), the high part rounded from the whole."""
    moved = difference_of(edges_s, x.high[:, None])
    low = moved.low - x.low[:, None]
    high = moved.high + low
    return ExactSum(high, low - (high - moved.high))


def _between_edges(density: FloatArray) -> FloatArray:
    """Density before the first edge, in each bucket and after the last edge, shape (n, buckets + 2)."""
    return np.pad(density.T, ((0, 0), (1, 1)))


def _masses_before(mass: FloatArray) -> FloatArray:
    """Mass before each edge, shape (n, buckets + 1); added up in long floats where there are any."""
    return np.pad(np.cumsum(mass.T, axis=1, dtype=np.longdouble).astype(np.float64), ((0, 0), (1, 0)))


def _taken(values: FloatArray, at: IndexArray) -> FloatArray:
    """Values of each row at its own positions; a single row of values serves all."""
    return np.take_along_axis(np.broadcast_to(values, (len(at), values.shape[1])), at, axis=1)
