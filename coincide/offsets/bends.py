"""The cdf of Xv - Xu by the points where its density bends: fast sums of known error, exact where they do not decide.

The density of Xv - Xu is piecewise linear. It bends at every difference of two edges, by the product of the
densities' jumps there. The sums cancel where buckets are short: good for guesses, and for a verdict where it is
further off than the bound.

Between neighbouring knots the cdf is a parabola. Running sums over the sorted knots give its value, density and slope
at each of them: K log K for all K knots, where `Knots` sums all K again for every probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, seconds_of, window_end_minus
from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array, OffsetArray
from coincide.constraints.window import Window
from coincide.probability.trapezoids import in_steps
from coincide.templates.template_columns import TemplateColumns

ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Knots:
    """Bends of the density of Xv - Xu for many template pairs without atoms, one a column.

    Attributes
    ----------
    at_s : ndarray of float64, shape (knots, n)
        Where the density bends, in no order.
    bend : ndarray of float64, shape (knots, n)
        By how much its slope changes there, per s^2.
    """

    at_s: FloatArray
    bend: FloatArray

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> Knots:
        """Combine column n of `u` with column n of `v`."""
        at_s = v.edges_s[None] - u.edges_s[:, None]
        bend = -_jumps(u.density)[:, None] * _jumps(v.density)[None]
        shape = (-1, at_s.shape[2])
        return cls(at_s.reshape(shape), bend.reshape(shape))

    def cdf_and_density(self, x_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, each of shape (n,)."""
        beyond = x_s - self.at_s
        np.maximum(beyond, 0.0, out=beyond)
        terms = self.bend * beyond
        density: FloatArray = terms.sum(axis=0)
        terms *= beyond
        return 0.5 * terms.sum(axis=0), density


def cdf_error(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how far the sums of `Knots` are off up to the greatest knot, shape (n,); infinite where there are atoms.

    Each of K knots k adds bend (x - k)^2 / 2 with x - k at most the spread S of Xv - Xu. The difference is off by the
    rounding of times of up to M, the term by a few units in its last place, their sum by K of them.
    """
    spread = spread_s(u, v)
    knots = len(u.edges_s) * len(v.edges_s)
    bound: FloatArray = ULP * cdf_bends(u, v) * spread * (spread * (knots + 8) + 8 * greatest_s(u, v))
    bound[u.has_atoms | v.has_atoms] = np.inf
    return bound


def cdf_bends(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Sum of all bends of the density of Xv - Xu, whatever their sign, per s^2, shape (n,)."""
    bends: FloatArray = np.abs(_jumps(u.density)).sum(axis=0) * np.abs(_jumps(v.density)).sum(axis=0)
    return bends


def spread_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Greatest knot less the least, shape (n,)."""
    spread: FloatArray = u.edges_s[-1] - u.edges_s[0] + v.edges_s[-1] - v.edges_s[0]
    return spread


def greatest_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on the knots, whatever their sign, shape (n,)."""
    greatest: FloatArray = np.abs(u.edges_s).max(axis=0) + np.abs(v.edges_s).max(axis=0)
    return greatest


def _jumps(density: FloatArray) -> FloatArray:
    """Jumps of a density at its edges, shape (k + 1, n)."""
    nothing = np.zeros((1, density.shape[1]))
    return np.diff(density, axis=0, prepend=nothing, append=nothing)


CELLS = 2**40  # of each pair's spread; a knot in the cell of x, on its wrong side, puts the cdf 1e-24 of its bend off
ROUNDING = 3.0  # running sums of sums: times the error of the plain ones


@dataclass(frozen=True, eq=False)
class SortedKnots:
    """Pieces of the cdf for many template pairs without atoms.

    Attributes
    ----------
    pieces : ndarray of float64, shape (n * knots, 4)
        Where each piece begins (s), and the cdf, its density and the density's slope there; pair by pair.
    cells : ndarray of int64, shape (n * knots,)
        Where each piece begins in cells, those of one pair after those of all before.
    first_s, cells_per_s : ndarray of float64, shape (n,)
    """

    pieces: FloatArray
    cells: Int64Array
    first_s: FloatArray
    cells_per_s: FloatArray

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> SortedKnots:
        """Combine column n of `u` with column n of `v`."""
        knots = Knots.of(u, v)
        order = np.argsort(knots.at_s.T, axis=1)
        at_s, bend = (np.take_along_axis(values.T, order, axis=1) for values in (knots.at_s, knots.bend))
        gap_s = np.diff(at_s, axis=1)
        slope = np.cumsum(bend, axis=1)
        density, cdf = np.zeros_like(at_s), np.zeros_like(at_s)
        np.cumsum(slope[:, :-1] * gap_s, axis=1, out=density[:, 1:])
        np.cumsum(gap_s * (density[:, :-1] + 0.5 * slope[:, :-1] * gap_s), axis=1, out=cdf[:, 1:])
        spread_s = at_s[:, -1] - at_s[:, 0]
        cells_per_s = np.divide(CELLS, spread_s, out=np.zeros_like(spread_s), where=spread_s > 0)
        cells = _cells(np.arange(len(at_s))[:, None], at_s - at_s[:, :1], cells_per_s[:, None])
        pieces = np.stack((at_s, cdf, density, slope), axis=-1).reshape(-1, 4)
        return cls(pieces, cells.ravel(), at_s[:, 0], cells_per_s)

    def cdf(self, pair: IndexArray, x_s: FloatArray) -> FloatArray:
        """P(Xv - Xu <= x) of each pair named, shape (m,), for x up to its greatest knot."""
        beyond_s = np.maximum(x_s - self.first_s[pair], 0.0)
        at = np.searchsorted(self.cells, _cells(pair, beyond_s, self.cells_per_s[pair]), side="right") - 1
        begin_s, cdf, density, slope = self.pieces[at].T
        into_s = np.maximum(x_s, self.first_s[pair]) - begin_s
        result: FloatArray = cdf + into_s * (density + 0.5 * slope * into_s)
        return result


def sorted_cdf_error(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how far `SortedKnots.cdf` is off, shape (n,); infinite where there are atoms.

    In units of `cdf_error`'s for the plain sum: the slopes are off by the rounding of K sums, the densities by that
    times the spread and K more, the cdf by all that times the spread and K more.
    """
    return ROUNDING * cdf_error(u, v)


def _cells(pair: IndexArray, beyond_s: FloatArray, cells_per_s: FloatArray) -> Int64Array:
    within = np.minimum(beyond_s * cells_per_s, CELLS).astype(np.int64)
    cells: Int64Array = pair * (2 * CELLS) + within
    return cells


USEFUL_ERROR = 1e-9  # beyond it the sums decide too little to be worth having


class WindowProbe:
    """F(hi - o) and F(lo - o) at offsets o of the template pairs of one block; P(o) is their difference.

    Parameters
    ----------
    u, v : TemplateColumns
    window : Window
    enough : ndarray of float64, shape (n,)
        Least P that qualifies, by template pair.

    Attributes
    ----------
    error : ndarray of float64, shape (n,)
        How far either may be off, by template pair; 0 where they are exact.
    """

    def __init__(self, u: TemplateColumns, v: TemplateColumns, window: Window, enough: FloatArray) -> None:
        self._u, self._v, self._window, self._enough = u, v, window, enough
        error = sorted_cdf_error(u, v)
        self._knots = SortedKnots.of(u, v)
        self._is_fast = error <= USEFUL_ERROR
        self.error: FloatArray = np.where(self._is_fast, error, 0.0)
        self._latest_s = v.edges_s[-1] - u.edges_s[0]

    def at(self, pair: IndexArray, offset: OffsetArray) -> tuple[FloatArray, FloatArray]:
        """Return F(hi - o) and F(lo - o), shape (m,): near enough for their difference to tell whether o qualifies."""
        seconds = seconds_of(offset)
        up_to_hi, before_lo = np.empty(len(pair)), np.empty(len(pair))
        is_fast = self._is_fast[pair]
        fast = np.flatnonzero(is_fast)
        up_to_hi[fast], before_lo[fast] = self._summed(pair[fast], seconds.take(fast))
        excess = up_to_hi - before_lo - self._enough[pair]
        unsure = np.flatnonzero(~is_fast | (np.abs(excess) <= 2 * self.error[pair]))
        up_to_hi[unsure], before_lo[unsure] = self._exact(pair[unsure], seconds.take(unsure))
        return up_to_hi, before_lo

    def excess_at(self, pair: IndexArray, offset: OffsetArray) -> FloatArray:
        """Return P(o) less what is enough, to the last digits."""
        up_to_hi, before_lo = self._exact(pair, seconds_of(offset))
        excess: FloatArray = up_to_hi - before_lo - self._enough[pair]
        return excess

    def _summed(self, pair: IndexArray, seconds: ExactSum) -> tuple[FloatArray, FloatArray]:
        latest_s = self._latest_s[pair]
        hi_s, lo_s = (
            np.minimum(window_end_minus(end_s, seconds).high, latest_s)  # the sums cancel beyond the last knot
            for end_s in (self._window.hi_s, self._window.lo_s)
        )
        return self._knots.cdf(pair, hi_s), self._knots.cdf(pair, lo_s)

    def _exact(self, pair: IndexArray, seconds: ExactSum) -> tuple[FloatArray, FloatArray]:
        up_to_hi, before_lo = np.empty(len(pair)), np.empty(len(pair))
        for rows, terms in in_steps(self._u, self._v, pair):
            up_to_hi[rows] = terms.at_most(window_end_minus(self._window.hi_s, seconds.take(rows)))
            before_lo[rows] = terms.below(window_end_minus(self._window.lo_s, seconds.take(rows)))
        return up_to_hi, before_lo
