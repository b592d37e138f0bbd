"""SortedKnots: the cdf of Xv - Xu looked up piece by piece: sorted once, a search for each probe instead of a sum.

Between neighbouring knots the cdf is a parabola. Running sums over the sorted knots give its value, density and slope
at each of them: K log K for all K knots, where `Knots` sums all K again for every probe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray, IndexArray, Int64Array
from coincide.knots import Knots, cdf_error
from coincide.template_columns import TemplateColumns

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
