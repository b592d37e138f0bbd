"""JointProbability: an interval for each tuple, refined until it is narrow enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray
from coincide.posterior_members import Members
from coincide.posterior_pieces import PosteriorPieces
from coincide.window import Window
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint.bounds import edge_probabilities, tree_bounds
from coincide.window_join.joint.estimate import Estimate, Plan
from coincide.window_join.joint.links import Links
from coincide.window_join.joint.plan import plan
from coincide.window_join.joint.tuples import EventTuples, TupleBlock, TupleShape

WIDEST = 1e-3


@dataclass(frozen=True, eq=False)
class JointProbability:
    """Probabilities of n tuples, each with certified bounds.

    Attributes
    ----------
    lower, upper : ndarray of float64, shape (n,)
        At most 1e-3 apart; equal where the probability is exact (up to rounding, which stays below 1e-12).
    value : ndarray of float64, shape (n,)
        The best guess, between them.
    """

    lower: FloatArray
    upper: FloatArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.value)


def refined(graph: ConstraintGraph, tuples: EventTuples, widest: float = WIDEST) -> JointProbability:
    """Return intervals no wider than `widest`: exact where that is cheap, else refined where cheap bounds are wider."""
    plans = _Plans(graph, widest / 2)
    if plans.are_exact:
        value = np.clip(plans.estimate(tuples).value, 0.0, 1.0)
        return JointProbability(value, value, value)
    lower, upper = tree_bounds(graph, tuples, edge_probabilities(graph, tuples))
    value = (lower + upper) / 2
    wide = np.flatnonzero(upper - lower > widest)
    found = plans.estimate(tuples.take(wide))
    least = np.maximum(lower[wide], found.value - found.radius)
    most = np.minimum(upper[wide], found.value + found.radius)
    lower[wide], upper[wide] = np.minimum(least, most), np.maximum(least, most)  # exact ones may have crossed: rounding
    value[wide] = np.clip(found.value, lower[wide], upper[wide])
    return JointProbability(lower, upper, value)


class _Plans:
    """How to compute the tuples of one graph, made once for each shape of their templates."""

    def __init__(self, graph: ConstraintGraph, radius: float) -> None:
        self._links, self._window, self._radius = Links.of(graph), graph.uniform_window, radius
        self._of_shape: dict[TupleShape, Plan] = {}

    @property
    def are_exact(self) -> bool:
        """Whether one member at most must be fixed, whatever the templates."""
        return self._window is not None or len(next(self._links.cycle_breakers())) < 2

    def estimate(self, tuples: EventTuples) -> Estimate:
        value, radius = np.empty(len(tuples)), np.empty(len(tuples))
        for block in tuples.blocks():
            found = self._block(block)
            value[block.rows], radius[block.rows] = found.value, found.radius
        return Estimate(value, radius)

    def _block(self, block: TupleBlock) -> Estimate:
        if self._window is not None:
            return _of_uniform_clique(block, self._window)
        if block.shape not in self._of_shape:
            self._of_shape[block.shape] = plan(self._links, block.shape, self._radius)
        return self._of_shape[block.shape].estimate(block.members())


def _of_uniform_clique(block: TupleBlock, window: Window) -> Estimate:
    return Estimate.exact(PosteriorPieces(Members(block.templates, block.reported, window)).mass)
