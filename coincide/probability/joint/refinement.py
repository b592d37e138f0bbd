"""JointProbability: an interval for each tuple, refined until it is narrow enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.constraints.graph import ConstraintGraph
from coincide.probability.joint.bounds import edge_probabilities, tree_bounds
from coincide.probability.joint.cells import Cells
from coincide.probability.joint.conditioning import Condition
from coincide.probability.joint.member_links import Links
from coincide.probability.joint.messages import Forest
from coincide.probability.joint.placed_members import Estimate, PlacedMember, Plan
from coincide.probability.joint.tuples import EventTuples, TupleBlock, TupleShape
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.probability.onset_terms import Members


@dataclass(frozen=True)
class Product:
    """Groups of members that nothing ties together."""

    parts: tuple[tuple[tuple[int, ...], Plan], ...]

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """Multiply what the groups have."""
        return Estimate.product(plan.estimate({i: members[i] for i in group}) for group, plan in self.parts)


def plan(links: Links, shape: TupleShape, radius: float) -> Plan:
    """Return the cheapest way known to compute the joint probability of tuples of one shape, to within `radius`.

    Members at exact times are fixed first, which costs nothing, then the others that close cycles.
    """
    if links.is_forest:
        return Forest(links, shape.edges)
    groups = links.components
    if len(groups) > 1:
        parts = ((tuple(group), links.without(*(links.reach.keys() - set(group)))) for group in groups)
        return Product(tuple((group, plan(part, shape, radius / len(groups))) for group, part in parts))
    fixed = [member for member in links.on_cycles if member in shape.points]
    if fixed:
        return Condition(links, fixed[0], plan(links.without(fixed[0]), shape, radius))
    return _plan_without_points(links, shape, radius)


def _plan_without_points(links: Links, shape: TupleShape, radius: float) -> Plan:
    def break_points(member: int) -> int:
        return sum(shape.edges[other] * len(sums) for other, sums in links.path_sums(member).items())

    sets = list(links.cycle_breakers())
    further = len(sets[0]) - 1
    if not further:
        member = min((chosen[0] for chosen in sets), key=lambda each: (break_points(each), each))
        return Condition(links, member, plan(links.without(member), shape, radius))
    member = min((each for chosen in sets for each in chosen), key=lambda each: (-len(links.reach[each]), each))
    share = radius / further
    condition = Condition(links, member, plan(links.without(member), shape, radius - share))
    return Cells(condition, share, exact_times=bool(shape.exact & (links.reach.keys() - {member})))


WIDEST = 1e-3


@dataclass(frozen=True, eq=False)
class JointProbability:
    """Probabilities of n tuples, each with certified bounds.

    The bounds `lower` and `upper` are at most 1e-3 apart, and equal where the probability is exact (up to rounding,
    which stays below 1e-12). The best guess is `value`, between them.
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
    estimate = plans.estimate(tuples.take(wide))
    least = np.maximum(lower[wide], estimate.value - estimate.radius)
    most = np.minimum(upper[wide], estimate.value + estimate.radius)
    lower[wide], upper[wide] = np.minimum(least, most), np.maximum(least, most)  # exact ones may have crossed: rounding
    value[wide] = np.clip(estimate.value, lower[wide], upper[wide])
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
            estimate = self._block(block)
            value[block.rows], radius[block.rows] = estimate.value, estimate.radius
        return Estimate(value, radius)

    def _block(self, block: TupleBlock) -> Estimate:
        if self._window is not None:
            return Estimate.exact(PosteriorPieces(Members(block.templates, block.reported, self._window)).mass)
        if block.shape not in self._of_shape:
            self._of_shape[block.shape] = plan(self._links, block.shape, self._radius)
        return self._of_shape[block.shape].estimate(block.members())
