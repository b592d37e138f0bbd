"""Tuples: what window joins answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy.typing as npt

from coincide.arrays import FloatArray


class Tuples:
    """Tuples of members in columns; probabilities are computed when first asked for.

    Parameters
    ----------
    members : ndarray, shape (n, k)
        One event of each stream, in the order of the graph's streams: positions (int64) in a batch, ids or refs in a
        stream.
    probabilities, edge_probabilities : callable
        Compute the two attributes below.
    """

    def __init__(
        self,
        members: npt.NDArray[Any],
        probabilities: Callable[[], FloatArray],
        edge_probabilities: Callable[[], FloatArray],
    ) -> None:
        self.members = members
        self._probabilities = probabilities
        self._edge_probabilities = edge_probabilities

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def probability(self) -> FloatArray:
        """P of all edges at once, float64 (n,)."""
        return self._probabilities()

    @cached_property
    def edge_probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) of each edge, in the order of the graph's edges, float64 (n, edges)."""
        return self._edge_probabilities()

    def __repr__(self) -> str:
        return f"Tuples({len(self)} of {self.members.shape[1]})"
