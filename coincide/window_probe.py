"""WindowProbe: whether an offset qualifies, by the fast sums over knots where they decide, else exactly."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray, IndexArray, OffsetArray
from coincide.exact_sums import ExactSum, seconds_of, window_end_minus
from coincide.sorted_knots import SortedKnots, sorted_cdf_error
from coincide.template_columns import TemplateColumns
from coincide.trapezoids import in_steps
from coincide.window import Window

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
