"""The cdf of Xv - Xu by the points where its density bends: fast sums of known error, exact where they do not decide.

The density of Xv - Xu is piecewise linear. It bends at every difference of two edges, by the product of the
densities' jumps there. The sums cancel where buckets are short: good for guesses, and for a verdict where it is
further off than the bound.

Between neighbouring bends the cdf is a parabola. Running sums over the sorted bends give its value, density and slope
at each of them: K log K for all K bends, where `DensityBends` sums all K again for every time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, seconds_of, window_end_minus
from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array, OffsetArray
from coincide.constraints.window import Window
from coincide.errors import HistogramError
from coincide.probability.trapezoids import in_steps, terms_of_each
from coincide.templates.template_columns import TemplateColumns

ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class DensityBends:
    """Where the density of Xv - Xu bends, in no order, and by how much per s^2; shape (bends, n), without atoms."""

    at_s: FloatArray
    bend: FloatArray

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> DensityBends:
        """Combine column n of `u` with column n of `v`."""
        at_s = where_density_bends_s(u.edges_s, v.edges_s)
        bend = -_jumps(u.density)[:, None] * _jumps(v.density)[None]
        return cls(at_s, bend.reshape(at_s.shape))

    def cdf_and_density(self, x_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Xv - Xu <= x) and its derivative, each of shape (n,)."""
        beyond = x_s - self.at_s
        np.maximum(beyond, 0.0, out=beyond)
        terms = self.bend * beyond
        density: FloatArray = terms.sum(axis=0)
        terms *= beyond
        return 0.5 * terms.sum(axis=0), density


def where_density_bends_s(u_edges_s: FloatArray, v_edges_s: FloatArray) -> FloatArray:
    """Return the differences of all edges of two templates, one pair of templates a column, shape (bends, n)."""
    shape = (len(u_edges_s) * len(v_edges_s), u_edges_s.shape[1])
    return (v_edges_s[None] - u_edges_s[:, None]).reshape(shape)


def cdf_error(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how far the sums of `DensityBends` are off up to the greatest bend, shape (n,); infinite with atoms.

    Each of K bends at k adds bend (x - k)^2 / 2, with x - k at most the length S of Xv - Xu. The difference is off by
    the rounding of times of up to M, the term by a few units in its last place, their sum by K of them.
    """
    length, bends = length_s(u, v), len(u.edges_s) * len(v.edges_s)
    bound: FloatArray = ULP * total_bend(u, v) * length * (length * (bends + 8) + 8 * greatest_s(u, v))
    bound[u.has_atoms | v.has_atoms] = np.inf
    return bound


def total_bend(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Sum of all bends of the density of Xv - Xu, whatever their sign, per s^2, shape (n,)."""
    bends: FloatArray = np.abs(_jumps(u.density)).sum(axis=0) * np.abs(_jumps(v.density)).sum(axis=0)
    return bends


def length_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Greatest possible Xv - Xu less the least, shape (n,)."""
    length: FloatArray = u.edges_s[-1] - u.edges_s[0] + v.edges_s[-1] - v.edges_s[0]
    return length


def greatest_s(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on Xv - Xu, whatever their sign, shape (n,)."""
    greatest: FloatArray = np.abs(u.edges_s).max(axis=0) + np.abs(v.edges_s).max(axis=0)
    return greatest


def _jumps(density: FloatArray) -> FloatArray:
    """Jumps of a density at its edges, shape (k + 1, n)."""
    nothing = np.zeros((1, density.shape[1]))
    return np.diff(density, axis=0, prepend=nothing, append=nothing)


CELLS = 2**40  # of each pair's length; a bend in the cell of x, on its wrong side, puts the cdf 1e-24 of its bend off
ROUNDING = 3.0  # running sums of sums: times the error of the plain ones


@dataclass(frozen=True, eq=False)
class CdfPieces:
    """Pieces of the cdf for many template pairs without atoms, pair by pair.

    `pieces`, shape (n * bends, 4), tells where each piece begins (s), and the cdf, its density and the density's slope
    there. `cells` tells where it begins in cells; those of one pair come after those of all before.
    """

    pieces: FloatArray
    cells: Int64Array
    first_s: FloatArray
    cells_per_s: FloatArray

    @classmethod
    def of(cls, u: TemplateColumns, v: TemplateColumns) -> CdfPieces:
        """Combine column n of `u` with column n of `v`."""
        bends = DensityBends.of(u, v)
        order = np.argsort(bends.at_s.T, axis=1)
        at_s, bend = (np.take_along_axis(values.T, order, axis=1) for values in (bends.at_s, bends.bend))
        gap_s = np.diff(at_s, axis=1)
        slope = np.cumsum(bend, axis=1)
        density, cdf = np.zeros_like(at_s), np.zeros_like(at_s)
        np.cumsum(slope[:, :-1] * gap_s, axis=1, out=density[:, 1:])
        np.cumsum(gap_s * (density[:, :-1] + 0.5 * slope[:, :-1] * gap_s), axis=1, out=cdf[:, 1:])
        range_s = at_s[:, -1] - at_s[:, 0]
        cells_per_s = np.divide(CELLS, range_s, out=np.zeros_like(range_s), where=range_s > 0)
        cells = _cells(np.arange(len(at_s))[:, None], at_s - at_s[:, :1], cells_per_s[:, None])
        pieces = np.stack((at_s, cdf, density, slope), axis=-1).reshape(-1, 4)
        return cls(pieces, cells.ravel(), at_s[:, 0], cells_per_s)

    def cdf(self, pair: IndexArray, x_s: FloatArray) -> FloatArray:
        """P(Xv - Xu <= x) of each pair named, shape (m,), for x up to its greatest bend."""
        beyond_s = np.maximum(x_s - self.first_s[pair], 0.0)
        at = np.searchsorted(self.cells, _cells(pair, beyond_s, self.cells_per_s[pair]), side="right") - 1
        begin_s, cdf, density, slope = self.pieces[at].T
        into_s = np.maximum(x_s, self.first_s[pair]) - begin_s
        result: FloatArray = cdf + into_s * (density + 0.5 * slope * into_s)
        return result


def pieces_error(u: TemplateColumns, v: TemplateColumns) -> FloatArray:
    """Bound on how far `CdfPieces.cdf` is off, shape (n,); infinite where there are atoms.

    In units of `cdf_error`'s for the plain sum: the slopes are off by the rounding of K sums, the densities by that
    times the length and K more, the cdf by all that times the length and K more.
    """
    return ROUNDING * cdf_error(u, v)


def _cells(pair: IndexArray, beyond_s: FloatArray, cells_per_s: FloatArray) -> Int64Array:
    within = np.minimum(beyond_s * cells_per_s, CELLS).astype(np.int64)
    return pair * (2 * CELLS) + within


MOST_TERMS = 2**28  # of one template pair's exact cdfs: half a minute to a minute
USEFUL_ERROR = 1e-9  # beyond it the sums decide too little to be worth having


class CdfsAtEnds:
    """F(hi - o) and F(lo - o) at offsets o of one block's template pairs, shape (2, n); P(o) is their difference.

    A pair qualifies from `enough` on. Either cdf may be off by its `error`, which is 0 where it is exact.
    """

    def __init__(self, u: TemplateColumns, v: TemplateColumns, window: Window, enough: FloatArray) -> None:
        self._u, self._v, self._window, self._enough = u, v, window, enough
        error = pieces_error(u, v)
        self._pieces = CdfPieces.of(u, v)
        self._is_fast = error <= USEFUL_ERROR
        self.error: FloatArray = np.where(self._is_fast, error, 0.0)
        self._latest_s = v.edges_s[-1] - u.edges_s[0]
        self._terms_left = float(MOST_TERMS * len(u))

    def at(self, pair: IndexArray, offset: OffsetArray) -> FloatArray:
        """Return the cdfs at offsets of pairs, near enough for their difference to tell whether each qualifies."""
        seconds = seconds_of(offset)
        cdfs = np.zeros((2, len(pair)))  # no leftovers of memory: their difference may be none
        at_hi, at_lo = cdfs
        is_fast = self._is_fast[pair]
        fast = np.flatnonzero(is_fast)
        at_hi[fast], at_lo[fast] = self._summed(pair[fast], seconds.take(fast))
        excess = at_hi - at_lo - self._enough[pair]
        unsure = np.flatnonzero(~is_fast | (np.abs(excess) <= 2 * self.error[pair]))
        at_hi[unsure], at_lo[unsure] = self._exact(pair[unsure], seconds.take(unsure))
        return cdfs

    def exactly_at(self, pair: IndexArray, offset: OffsetArray) -> FloatArray:
        """Return the cdfs at offsets of pairs, to the last digits."""
        return self._exact(pair, seconds_of(offset))

    def _summed(self, pair: IndexArray, seconds: ExactSum) -> tuple[FloatArray, FloatArray]:
        latest_s = self._latest_s[pair]
        hi_s, lo_s = (
            np.minimum(window_end_minus(end_s, seconds).high, latest_s)  # the sums cancel beyond the last bend
            for end_s in (self._window.hi_s, self._window.lo_s)
        )
        return self._pieces.cdf(pair, hi_s), self._pieces.cdf(pair, lo_s)

    def _exact(self, pair: IndexArray, seconds: ExactSum) -> FloatArray:
        cdfs = np.empty((2, len(pair)))
        self._count_terms(pair)
        for rows, terms in in_steps(self._u, self._v, pair):
            cdfs[0, rows] = terms.at_most(window_end_minus(self._window.hi_s, seconds.take(rows)))
            cdfs[1, rows] = terms.below(window_end_minus(self._window.lo_s, seconds.take(rows)))
        return cdfs

    def _count_terms(self, pair: IndexArray) -> None:
        """Refuse template pairs whose probability wavers about the threshold at very many offsets."""
        self._terms_left -= terms_of_each(self._u, self._v)[pair].sum()
        if self._terms_left < 0:
            buckets = f"{len(self._u.mass)} and {len(self._v.mass)} buckets"
            allowed = f"fewer: their offsets in {self._window!r} take more than {MOST_TERMS:,} terms of a probability"
            raise HistogramError("templates", buckets, allowed)
