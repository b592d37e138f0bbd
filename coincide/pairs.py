"""Pairs and Changes: what joins answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np

from coincide.arrays import FloatArray, LabelArray

Answer = TypeVar("Answer")


class Pairs:
    """Matching pairs in columns; the probability is computed when first asked for.

    Attributes
    ----------
    left, right : ndarray, shape (n,)
        Who plays a and who plays b: positions (int64) in a batch, ids or refs in a stream.
    """

    def __init__(self, left: LabelArray, right: LabelArray, probabilities: Callable[[], FloatArray]) -> None:
        self.left = left
        self.right = right
        self._probabilities = probabilities

    @classmethod
    def none(cls) -> Pairs:
        """Return no pairs."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) of each pair, float64 (n,)."""
        return self._probabilities()

    def __repr__(self) -> str:
        return f"Pairs({len(self)})"
