"""QualifyingOffsets: the satisfaction offsets of those template pairs that really meet, computed when they first do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from coincide.offsets import offset_ranges
from coincide.template_pairs import TemplatePairs
from coincide.window import Window
from spark_jobs.templates import Templates

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CodeArray = npt.NDArray[np.int32]

NEVER_US = 2**61


class QualifyingOffsets:
    """Qualifying offsets of one query by pair of template codes.

    A table of all pairs would grow with the square of the templates, and each detection may bring its own.

    Parameters
    ----------
    window : Window
        Of the second role's time minus the first's.
    threshold : float
    templates : Templates
    """

    def __init__(self, window: Window, threshold: float, templates: Templates) -> None:
        self.window = window
        self.threshold = threshold
        self._templates = templates
        self._pairs = np.empty(0, np.int64)  # sorted
        self._hulls = np.empty((0, 2), np.int64)
        self._gapped: dict[int, Int64Array] = {}

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset, second minus first, qualifies for its templates; arrays of shape (n,)."""
        possible = np.flatnonzero(self._possible(u, v, offset_us))
        pair = (u[possible].astype(np.int64) << 32) | v[possible]
        self._learn(np.unique(pair))
        at = np.searchsorted(self._pairs, pair)
        offset = offset_us[possible]
        inside = (self._hulls[at, 0] <= offset) & (offset <= self._hulls[at, 1])
        for rows, intervals in self._of_gapped(pair):
            inside[rows] &= _inside(intervals, offset[rows])
        qualifies = np.zeros(len(offset_us), np.bool_)
        qualifies[possible] = inside
        return qualifies

    def forget(self, templates: list[int]) -> None:
        """Forget the pairs of template codes that are about to mean something else."""
        stay = ~np.isin(self._pairs >> 32, templates) & ~np.isin(self._pairs & 0xFFFFFFFF, templates)
        self._pairs, self._hulls = self._pairs[stay], self._hulls[stay]
        self._gapped = {pair: self._gapped[pair] for pair in self._pairs.tolist() if pair in self._gapped}

    def _of_gapped(self, pair: Int64Array) -> Iterator[tuple[npt.NDArray[np.intp], Int64Array]]:
        """Yield the rows of each pair that has several intervals, and these."""
        if not self._gapped:
            return
        distinct, nth, counts = np.unique(pair, return_inverse=True, return_counts=True)
        order, ends = np.argsort(nth, kind="stable"), np.cumsum(counts).tolist()
        for each, start, end in zip(distinct.tolist(), [0, *ends], ends, strict=False):
            if each in self._gapped:
                yield order[start:end], self._gapped[each]

    def _possible(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether the two times could lie in the window at all."""
        earliest, latest = self._templates.earliest_us, self._templates.latest_us
        possible: BoolArray = (offset_us + latest[v] - earliest[u] >= self.window.lo_us - 1) & (
            offset_us + earliest[v] - latest[u] <= self.window.hi_us + 1
        )
        return possible

    def _learn(self, pairs: Int64Array) -> None:
        new = pairs[~np.isin(pairs, self._pairs)]
        if len(new) == 0:
            return
        hulls = self._computed(new)
        merged = np.concatenate((self._pairs, new))
        order = np.argsort(merged)
        self._pairs = merged[order]
        self._hulls = np.concatenate((self._hulls, hulls))[order]

    def _computed(self, pairs: Int64Array) -> Int64Array:
        """Compute new pairs, all in one go: return their hulls, (n, 2), and note those with several intervals."""
        u, u_index = np.unique(pairs >> 32, return_inverse=True)
        v, v_index = np.unique(pairs & 0xFFFFFFFF, return_inverse=True)
        us, vs = ([self._templates.histogram(code) for code in side] for side in (u, v))
        found = offset_ranges(TemplatePairs(us, vs, u_index, v_index), self.window, self.threshold)
        hulls = np.tile(np.array([NEVER_US, -NEVER_US]), (len(pairs), 1))
        np.minimum.at(hulls[:, 0], found.pair, found.left)
        np.maximum.at(hulls[:, 1], found.pair, found.right)
        counts = np.bincount(found.pair, minlength=len(pairs))
        ends = np.cumsum(counts)  # the intervals come in the order of their pairs
        for nth in np.flatnonzero(counts > 1).tolist():
            own = slice(ends[nth] - counts[nth], ends[nth])
            self._gapped[int(pairs[nth])] = np.column_stack((found.left[own], found.right[own]))
        return hulls


def _inside(intervals: Int64Array, offset_us: Int64Array) -> BoolArray:
    at = np.searchsorted(intervals[:, 0], offset_us, side="right") - 1
    inside: BoolArray = (at >= 0) & (offset_us <= intervals[np.maximum(at, 0), 1])
    return inside
