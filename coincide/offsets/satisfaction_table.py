"""SatisfactionTable: the satisfaction offsets of every template pair, looked up by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, IndexArray, OffsetArray
from coincide.constraints.window import Window, checked_threshold, checked_window
from coincide.offsets.ranges import Ranges, joined
from coincide.offsets.satisfying import offset_ranges
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs, checked_templates


@dataclass(frozen=True, eq=False)
class SatisfactionTable:
    """Satisfaction offsets of all pairs of `us` with `vs`, for one window and one threshold.

    Build it with `SatisfactionTable.build`; it never changes, `extend` returns a larger one.

    Attributes
    ----------
    intervals_us : ndarray of int64, shape (m, 2)
        Closed intervals of tb - ta of all pairs, those of pair (i, j) at
        ``starts[i * len(vs) + j] : starts[i * len(vs) + j + 1]``, in order.
    starts : ndarray of int64, shape (len(us) * len(vs) + 1,)
    lo_us, hi_us : ndarray of int64, shape (len(us), len(vs))
        Hull of each pair's intervals, closed; 2**61 and -2**61 (lo > hi) if it has none.
    is_single : bool
        No pair has more than one interval: ``lo_us <= tb - ta <= hi_us`` is then the whole test.

    Examples
    --------
    >>> table = SatisfactionTable.build([Histogram.point()], [Histogram.uniform(-2, 0)], Window(5), 0.5)
    >>> table.lo_us.tolist(), table.hi_us.tolist(), table.is_single
    ([[-4000000]], [[6000000]], True)
    """

    us: tuple[Histogram, ...]
    vs: tuple[Histogram, ...]
    window: Window
    threshold: float
    intervals_us: OffsetArray
    starts: OffsetArray
    lo_us: OffsetArray
    hi_us: OffsetArray
    is_single: bool

    @classmethod
    def build(
        cls, us: Sequence[Histogram], vs: Sequence[Histogram], window: Window, threshold: float
    ) -> SatisfactionTable:
        """Compute the intervals of every pair."""
        threshold = checked_threshold(threshold)
        checked_window(window)
        u_tuple, v_tuple = checked_templates("us", us), checked_templates("vs", vs)
        every_pair = np.arange(len(u_tuple) * len(v_tuple))
        ranges = _ranges_at(u_tuple, v_tuple, every_pair, window, threshold)
        return cls.of_ranges(u_tuple, v_tuple, window, threshold, ranges)

    def extend(self, us: Sequence[Histogram] = (), vs: Sequence[Histogram] = ()) -> SatisfactionTable:
        """Return a table with `us` and `vs` appended; only the new pairs are computed, positions stay."""
        all_us, all_vs = (*self.us, *checked_templates("us", us)), (*self.vs, *checked_templates("vs", vs))
        is_known = np.zeros((len(all_us), len(all_vs)), dtype=np.bool_)
        is_known[: len(self.us), : len(self.vs)] = True
        known = Ranges(np.repeat(np.flatnonzero(is_known), np.diff(self.starts)), *self.intervals_us.T)
        added = _ranges_at(all_us, all_vs, np.flatnonzero(~is_known), self.window, self.threshold)
        return self.of_ranges(all_us, all_vs, self.window, self.threshold, joined(known, added).in_order())

    @classmethod
    def of_ranges(
        cls, us: tuple[Histogram, ...], vs: tuple[Histogram, ...], window: Window, threshold: float, ranges: Ranges
    ) -> SatisfactionTable:
        """Return the table of ranges whose pairs are its positions, row by row, in order."""
        counts = np.bincount(ranges.pair, minlength=len(us) * len(vs))
        lo, hi = (each.reshape(len(us), len(vs)) for each in ranges.hulls(len(us) * len(vs)))
        intervals, starts = np.column_stack((ranges.left, ranges.right)), np.concatenate(([0], np.cumsum(counts)))
        for array in (intervals, starts, lo, hi):
            array.flags.writeable = False
        return cls(us, vs, window, threshold, intervals, starts, lo, hi, is_single=bool((counts <= 1).all()))

    def contains(self, u_index: npt.ArrayLike, v_index: npt.ArrayLike, offset_us: npt.ArrayLike) -> BoolArray:
        """Whether each offset tb - ta qualifies for its template pair; arguments broadcast."""
        i, j, offset = np.broadcast_arrays(np.asarray(u_index), np.asarray(v_index), np.asarray(offset_us))
        inside = (self.lo_us[i, j] <= offset) & (offset <= self.hi_us[i, j])
        if self.is_single:
            return np.asarray(inside)
        pair = i * len(self.vs) + j
        is_inside = np.zeros(offset.shape, dtype=np.bool_)
        for nth in range(int(np.diff(self.starts).max())):
            at = self.starts[pair] + nth
            exists = inside & (at < self.starts[pair + 1])
            lo, hi = self.intervals_us[np.where(exists, at, 0)].T.reshape((2, *offset.shape))
            is_inside |= exists & (lo <= offset) & (offset <= hi)
        return is_inside


def _ranges_at(
    us: tuple[Histogram, ...], vs: tuple[Histogram, ...], pair: IndexArray, window: Window, threshold: float
) -> Ranges:
    """Compute the intervals of the pairs at these positions of the table, row by row."""
    u_index, v_index = np.divmod(pair, max(1, len(vs)))
    ranges = offset_ranges(TemplatePairs(us, vs, u_index, v_index), window, threshold)
    return Ranges(pair[ranges.pair], ranges.left, ranges.right)
