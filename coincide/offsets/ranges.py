"""Closed ranges of offsets of template pairs, and offsets whose probability was compared with the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.arrays.order import stable_order_by


@dataclass(frozen=True)
class Ranges:
    """Closed ranges of offsets, each of one template pair.

    Attributes
    ----------
    pair : ndarray of int64, shape (n,)
    left, right : ndarray of int64, shape (n,)
        Offsets in microseconds; in the search over break points, their ranks.
    """

    pair: IndexArray
    left: OffsetArray
    right: OffsetArray

    def __len__(self) -> int:
        return len(self.pair)

    def where(self, chosen: BoolArray) -> Ranges:
        """Return the chosen ranges."""
        return Ranges(self.pair[chosen], self.left[chosen], self.right[chosen])

    def in_order(self) -> Ranges:
        """Sort by (pair, left)."""
        order = stable_order_by(self.pair, self.left)
        return Ranges(self.pair[order], self.left[order], self.right[order])


def joined(*parts: Ranges) -> Ranges:
    """Concatenate."""
    return Ranges(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("pair", "left", "right")))


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
