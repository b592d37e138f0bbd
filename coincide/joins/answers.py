"""Pairs, Tuples and Changes: what joins answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, LabelArray

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


class Tuples:
    """Tuples of members in columns; probabilities are computed when first asked for.

    Parameters
    ----------
    members : ndarray, shape (n, k)
        One event of each stream, in the order of the graph's streams: positions (int64) in a batch, ids or row numbers
        in a stream. Where a stream has no part in the tuple (`at_least`): -1, or "" if ids are text.
    probabilities, edge_probabilities : callable
        Compute the two attributes below.
    present : ndarray of bool, shape (n, k), optional
        Which streams have a part; by default all.
    """

    def __init__(
        self,
        members: LabelArray,
        probabilities: Callable[[], FloatArray],
        edge_probabilities: Callable[[], FloatArray],
        present: BoolArray | None = None,
    ) -> None:
        self.members = members
        self.present = np.broadcast_to(np.True_, members.shape) if present is None else present
        self._probabilities = probabilities
        self._edge_probabilities = edge_probabilities

    @classmethod
    def none(cls, streams: int, edges: int) -> Tuples:
        """Return no tuples."""
        return cls(np.empty((0, streams), np.int64), lambda: np.empty(0), lambda: np.empty((0, edges)))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def probability(self) -> FloatArray:
        """P of all edges between present members at once, float64 (n,)."""
        return self._probabilities()

    @cached_property
    def edge_probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) by edge, in the graph's order, float64 (n, edges); NaN where a member is absent."""
        return self._edge_probabilities()

    def __repr__(self) -> str:
        return f"Tuples({len(self)} of {self.members.shape[1]})"
