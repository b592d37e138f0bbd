"""Probes: offsets at which a probability was compared with the threshold, and the intervals they bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray, IndexArray, OffsetArray
from coincide.ranges import Ranges


@dataclass(frozen=True)
class Probes:
    """Probed offsets, each once, in order of (pair, offset).

    Attributes
    ----------
    pair : ndarray of int64, shape (n,)
    offset : ndarray of int64, shape (n,)
    excess : ndarray of float64, shape (n,)
        Probability above what it must reach; at least 0 where the offset qualifies.
    """

    pair: IndexArray
    offset: OffsetArray
    excess: FloatArray

    def changes_apart(self) -> IndexArray:
        """Return the positions of probes whose next differs in verdict and lies more than a microsecond away."""
        qualifies, same_pair = self.excess >= 0, np.diff(self.pair) == 0
        return np.flatnonzero(same_pair & (qualifies[1:] != qualifies[:-1]) & (np.diff(self.offset) > 1))

    def intervals(self) -> Ranges:
        """Return the runs of probes that qualify."""
        qualifies = self.excess >= 0
        new_pair = np.diff(self.pair, prepend=-1) != 0
        last_of_pair = np.diff(self.pair, append=-1) != 0
        before = np.concatenate(([False], qualifies[:-1])) & ~new_pair
        after = np.concatenate((qualifies[1:], [False])) & ~last_of_pair
        start, end = qualifies & ~before, qualifies & ~after
        return Ranges(self.pair[start], self.offset[start], self.offset[end])
