"""StepFunction: a density that is constant between edges, products of such, and what an error makes of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.templates.histogram import Histogram

HALF_MICROSECOND_S = 0.5e-6
MOST_STEPS = 128  # of a function that an error moves
MOST_STEPS_OF_ERROR = 64


@dataclass(frozen=True, eq=False)
class StepFunction:
    """`height`, shape (m,), between `edges_s`, shape (m + 1,), in ascending order; 0 elsewhere. m may be 0."""

    edges_s: FloatArray
    height: FloatArray

    @classmethod
    def of(cls, template: Histogram) -> StepFunction:
        """Return the density of a template; an exact time is spread over the microsecond around it."""
        spread, (atoms_s, mass) = spread_of(template), atoms_of(template)
        if not len(atoms_s):
            return spread
        lo_s, hi_s = atoms_s - HALF_MICROSECOND_S, atoms_s + HALF_MICROSECOND_S
        edges = np.unique(np.concatenate((spread.edges_s, lo_s, hi_s)))
        middle = (edges[:-1] + edges[1:]) / 2
        is_in = (lo_s[:, None] < middle) & (middle < hi_s[:, None])
        return cls(edges, spread.at(middle) + (mass / (hi_s - lo_s)) @ is_in)

    @classmethod
    def product(cls, factors: Sequence[StepFunction]) -> StepFunction:
        """Return the product of one function or more; it has no steps where it is 0 everywhere."""
        start, stop = max(each.edges_s[0] for each in factors), min(each.edges_s[-1] for each in factors)
        edges = np.unique(np.clip(np.concatenate([each.edges_s for each in factors]), start, max(start, stop)))
        middle = (edges[:-1] + edges[1:]) / 2
        height: FloatArray = np.prod([each.at(middle) for each in factors], axis=0)
        above = np.flatnonzero(height > 0)
        if not len(above):
            return cls(edges[:1], np.empty(0))
        return cls(edges[above[0] : above[-1] + 2], height[above[0] : above[-1] + 1])

    def later(self, by_s: float) -> StepFunction:
        """Return the same function, `by_s` seconds later."""
        return StepFunction(self.edges_s + by_s, self.height)

    def at(self, time_s: FloatArray) -> FloatArray:
        """Return the height at each time, none of which is an edge."""
        padded = np.concatenate(([0.0], self.height, [0.0]))
        found: FloatArray = padded[np.searchsorted(self.edges_s, time_s, side="right")]
        return found

    def area_before(self, time_s: FloatArray) -> FloatArray:
        """Return the integral up to each time."""
        area: FloatArray = np.interp(time_s, self.edges_s, self._areas)
        return area

    @cached_property
    def _areas(self) -> FloatArray:
        return np.concatenate(([0.0], np.cumsum(self.height * np.diff(self.edges_s))))

    def in_fewer(self, most: int) -> StepFunction:
        """Return the function in at most so many steps: neighbours are put together, and keep their area."""
        if len(self.height) <= most:
            return self
        kept = np.linspace(0, len(self.height), most + 1).astype(np.int64)
        edges = self.edges_s[kept]
        return StepFunction(edges, np.diff(self._areas[kept]) / np.diff(edges))


def spread_of(template: Histogram) -> StepFunction:
    """Return the density of a template without its exact times."""
    length = np.diff(template.edges_s)
    is_spread = length > 0
    edges = np.append(template.edges_s[:-1][is_spread], template.edges_s[-1])
    return StepFunction(edges, template.mass[is_spread] / length[is_spread])


def atoms_of(template: Histogram) -> tuple[FloatArray, FloatArray]:
    """Return the exact times of a template, and the mass of each."""
    is_exact = (np.diff(template.edges_s) == 0) & (template.mass > 0)
    return template.edges_s[:-1][is_exact], template.mass[is_exact]


@dataclass(frozen=True, eq=False)
class MovedByError:
    """A step function that an error moves, averaged over that error: straight lines between `bends_s`."""

    function: StepFunction
    error: Histogram

    @cached_property
    def bends_s(self) -> FloatArray:
        """Where lines end, in ascending order; less than two where the function is 0 everywhere."""
        shifts = np.union1d(self._spread.edges_s, self._atoms[0])
        bends: FloatArray = np.unique(np.add.outer(self._steps.edges_s, shifts))
        return bends if len(self._steps.height) else bends[:0]

    def at(self, time_s: FloatArray) -> FloatArray:
        """Return the average at each time, shape (n,), none of which is a bend."""
        average: FloatArray = np.interp(time_s, self.bends_s, self._at_bends)
        for shift, mass in zip(*self._atoms, strict=True):
            average = average + mass * self._steps.at(time_s - shift)
        return average

    @cached_property
    def _at_bends(self) -> FloatArray:
        """The average over what is spread of the error, at each bend."""
        before = self._steps.area_before(self.bends_s[:, None] - self._spread.edges_s)
        average: FloatArray = -np.diff(before, axis=1) @ self._spread.height
        return average

    @cached_property
    def _steps(self) -> StepFunction:
        return self.function.in_fewer(MOST_STEPS)

    @cached_property
    def _spread(self) -> StepFunction:
        return spread_of(self.error).in_fewer(MOST_STEPS_OF_ERROR)

    @cached_property
    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        return atoms_of(self.error)
