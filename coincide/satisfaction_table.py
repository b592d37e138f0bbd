"""SatisfactionTable: the satisfaction offsets of every template pair, looked up by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.histogram import Histogram
from coincide.offsets import checked_threshold, offset_ranges
from coincide.satisfaction_times import OffsetArray
from coincide.template_pairs import TemplatePairs
from coincide.window import Window

NEVER_LO_US, NEVER_HI_US = 2**61, -(2**61)  # hull of no offset at all: min and max over pairs pass it over


@dataclass(frozen=True, eq=False)
class SatisfactionTable:
    """Satisfaction offsets of all pairs of `us` with `vs`, for one window and one threshold.

    Build it with `SatisfactionTable.build`; it never changes, `extend` returns a larger one.

    Attributes
    ----------
    us, vs : tuple of Histogram
        Templates of the a side and of the b side.
    window : Window
    threshold : float
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
    >>> table.contains(0, 0, np.array([-4000001, -4000000])).tolist()
    [False, True]
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
        """Compute the intervals of every pair.

        Raises
        ------
        ThresholdError
            `threshold` is not in (0, 1].
        """
        threshold = checked_threshold(threshold)
        u_index, v_index = np.divmod(np.arange(len(us) * len(vs)), max(1, len(vs)))
        found = offset_ranges(TemplatePairs(us, vs, u_index, v_index), window, threshold)
        counts = np.bincount(found.pair, minlength=len(us) * len(vs))
        intervals = np.column_stack((found.left, found.right))
        return cls._of(tuple(us), tuple(vs), window, threshold, intervals, counts)

    @classmethod
    def _of(
        cls,
        us: tuple[Histogram, ...],
        vs: tuple[Histogram, ...],
        window: Window,
        threshold: float,
        intervals: OffsetArray,
        counts: OffsetArray,
    ) -> SatisfactionTable:
        starts = np.concatenate(([0], np.cumsum(counts)))
        lo, hi = _hulls(intervals, starts)
        shape = (len(us), len(vs))
        return cls(
            us=us,
            vs=vs,
            window=window,
            threshold=threshold,
            intervals_us=intervals,
            starts=starts,
            lo_us=lo.reshape(shape),
            hi_us=hi.reshape(shape),
            is_single=bool((counts <= 1).all()),
        )

    def extend(self, us: Sequence[Histogram] = (), vs: Sequence[Histogram] = ()) -> SatisfactionTable:
        """Return a table with `us` and `vs` appended; positions of the templates already here stay."""
        return SatisfactionTable.build([*self.us, *us], [*self.vs, *vs], self.window, self.threshold)

    def contains(
        self, u_index: npt.ArrayLike, v_index: npt.ArrayLike, offset_us: npt.ArrayLike
    ) -> npt.NDArray[np.bool_]:
        """Whether each offset tb - ta qualifies for its template pair; arguments broadcast."""
        i, j, offset = np.broadcast_arrays(np.asarray(u_index), np.asarray(v_index), np.asarray(offset_us))
        inside = (self.lo_us[i, j] <= offset) & (offset <= self.hi_us[i, j])
        if self.is_single:
            return np.asarray(inside)
        pair = i * len(self.vs) + j
        found = np.zeros(offset.shape, dtype=np.bool_)
        for nth in range(int(np.diff(self.starts).max())):
            at = self.starts[pair] + nth
            exists = inside & (at < self.starts[pair + 1])
            lo, hi = self.intervals_us[np.where(exists, at, 0)].T.reshape((2, *offset.shape))
            found |= exists & (lo <= offset) & (offset <= hi)
        return found

    def outer(self) -> tuple[int, int]:
        """Return the closed range outside which no pair matches (lo > hi if none ever does)."""
        if self.lo_us.size == 0:
            return NEVER_LO_US, NEVER_HI_US
        return int(self.lo_us.min()), int(self.hi_us.max())

    def sure(self) -> tuple[int, int]:
        """Return the closed range inside which every pair matches (lo > hi if there is none)."""
        if self.lo_us.size == 0 or not self.is_single:
            return NEVER_LO_US, NEVER_HI_US
        return int(self.lo_us.max()), int(self.hi_us.min())


def _hulls(intervals: OffsetArray, starts: OffsetArray) -> tuple[OffsetArray, OffsetArray]:
    lo = np.full(len(starts) - 1, NEVER_LO_US)
    hi = np.full(len(starts) - 1, NEVER_HI_US)
    some = starts[1:] > starts[:-1]
    lo[some] = intervals[starts[:-1][some], 0]
    hi[some] = intervals[starts[1:][some] - 1, 1]
    return lo, hi
