"""Members of tuples in columns: when each occurs, and how far off a probability made of them can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.probability.piecewise import total
from coincide.templates.template_columns import TemplateColumns


@dataclass(frozen=True, eq=False)
class PlacedMember:
    """The distribution of one member's occurrence in each of n tuples, in seconds on the tuple's clock.

    What is spread over a bucket has a `density`, the exact time at its start an `atom_mass`; both have shape (k, n).
    """

    edges: ExactSum
    density: FloatArray
    atom_mass: FloatArray

    @classmethod
    def of(cls, templates: TemplateColumns, reported: ExactSum) -> PlacedMember:
        """Move each column's template to its reported time."""
        atoms = np.where(templates.length_s == 0, templates.mass, 0.0)
        nothing = np.zeros_like(templates.edges_s)
        return cls(moved(ExactSum(templates.edges_s, nothing), reported), templates.density, atoms)

    def __len__(self) -> int:
        return int(self.density.shape[1])

    @property
    def has_atoms(self) -> bool:
        """Whether any tuple's member may occur at an exact time."""
        return bool(self.atom_mass.any())

    @property
    def start(self) -> ExactSum:
        """Where each bucket begins, shape (k, n)."""
        return self.edges.take(slice(None, -1))

    @property
    def length_s(self) -> FloatArray:
        """Length of each bucket, shape (k, n)."""
        return self.edges.take(slice(1, None)).minus(self.start)

    @property
    def mass(self) -> FloatArray:
        """Probability of all that is left, shape (n,)."""
        return total(self.density * self.length_s + self.atom_mass)

    def take(self, columns: Int64Array | slice) -> PlacedMember:
        """Return the chosen tuples."""
        edges = ExactSum(self.edges.high[:, columns], self.edges.low[:, columns])
        return PlacedMember(edges, self.density[:, columns], self.atom_mass[:, columns])

    def within(self, start: ExactSum, end: ExactSum, slack_s: float) -> PlacedMember:
        """Return what lies between `start` and `end`, shape (n,), both closed, and exact times `slack_s` beyond."""
        atoms = self.atom_mass
        if self.has_atoms:
            inside = (self.start.minus(start) >= -slack_s) & (end.minus(self.start) >= -slack_s)
            atoms = np.where(inside, atoms, 0.0)
        later = _either(self.edges.minus(start) >= 0, self.edges, start)
        return PlacedMember(_either(later.minus(end) <= 0, later, end), self.density, atoms)


def moved(time: ExactSum, by: ExactSum) -> ExactSum:
    """Return time + by, its high parts in the order of the sums."""
    high = difference_of(time.high, -by.high)
    return difference_of(high.high, -(high.low + time.low + by.low))


def moved_s(time: ExactSum, by_s: float) -> ExactSum:
    """Return time + by, one number of seconds for all."""
    return moved(time, ExactSum(np.array(by_s), np.array(0.0)))


def _either(use_a: BoolArray, a: ExactSum, b: ExactSum) -> ExactSum:
    return ExactSum(np.where(use_a, a.high, b.high), np.where(use_a, a.low, b.low))


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

    @property
    def is_exact(self) -> bool:
        """Whether the estimates have no radius, but for tuples at which floats are too coarse."""

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """Return P(all windows hold) for n tuples."""


def estimated_in_steps(
    members: Mapping[int, PlacedMember], step: int, estimate: Callable[[dict[int, PlacedMember]], Estimate]
) -> Estimate:
    """Estimate so many tuples at a time."""
    count = len(next(iter(members.values())))
    value, radius = np.empty(count), np.empty(count)
    for first in range(0, count, step):
        columns = slice(first, min(first + step, count))
        part = estimate({i: each.take(columns) for i, each in members.items()})
        value[columns], radius[columns] = part.value, part.radius
    return Estimate(value, radius)
