"""Estimate: probabilities, and how far each can be off at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coincide.arrays import FloatArray
from coincide.window_join.joint.members import PlacedMember


@dataclass(frozen=True, eq=False)
class Estimate:
    """Value and radius, each of shape (n,): the truth lies within the radius of the value, rounding apart."""

    value: FloatArray
    radius: FloatArray

    @classmethod
    def exact(cls, value: FloatArray) -> Estimate:
        """Return what is known."""
        return cls(value, np.zeros_like(value))

    @classmethod
    def product(cls, factors: Iterable[Estimate]) -> Estimate:
        """Multiply independent probabilities."""
        first, *rest = factors
        value, most = first.value, first.value + first.radius
        for factor in rest:
            value, most = value * factor.value, most * (factor.value + factor.radius)
        return cls(value, most - value)  # above; below the product is off by no more


class Plan(Protocol):
    """A way to the joint probability of all tuples of one shape."""

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """Return P(all windows hold) for n tuples."""
