"""Ranges: closed ranges of offsets, each of one template pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import BoolArray, IndexArray, OffsetArray
from coincide.stable_order import stable_order_by


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
