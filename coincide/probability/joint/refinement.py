"""JointProbability: an interval for each tuple, by cheap bounds first, refined until it is narrow enough.

More constraints make less probable: each edge alone and each spanning tree are upper bounds. What a tree leaves out
takes away at most the chance that one of the edges left out fails: tree - sum (1 - p_e) is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.probability.difference import match_probabilities
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


def edge_probabilities(graph: ConstraintGraph, tuples: EventTuples) -> FloatArray:
    """`match_probability` of every edge, shape (edges, n), in the order of `graph.edges`."""
    probability = np.empty((len(graph.edges), len(tuples)))
    for row, edge in enumerate(graph.edges):
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        apart_us = tuples.detected_at_us[b] - tuples.detected_at_us[a]
        index_a, index_b = tuples.template_index[a], tuples.template_index[b]
        sides = tuples.templates[a], tuples.templates[b]
        probability[row] = match_probabilities(*sides, index_a, index_b, apart_us, edge.window)
    return probability


def tree_bounds(graph: ConstraintGraph, tuples: EventTuples, of_edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds, shape (n,), by each tuple's tree of the least probable edges."""
    in_tree = least_spanning_trees(graph, of_edges)
    tree = np.empty(len(tuples))
    for rows, links in _by_tree(graph, in_tree):
        for block in tuples.take(rows).blocks():
            tree[rows[block.rows]] = Forest(links, block.shape.edges).estimate(block.members()).value
    left_out = np.where(in_tree, 0.0, 1.0 - of_edges).sum(axis=0)
    return np.maximum(tree - left_out, 0.0), np.minimum(tree, of_edges.min(axis=0))


def least_spanning_trees(graph: ConstraintGraph, of_edges: FloatArray) -> BoolArray:
    """Which edges are in each tuple's tree of the least probable edges, shape (edges, n) (Kruskal, in columns)."""
    ends = np.array([[graph.roles.index(edge.a), graph.roles.index(edge.b)] for edge in graph.edges])
    columns = np.arange(of_edges.shape[1])
    group = np.repeat(np.arange(len(graph.roles))[:, None], len(columns), axis=1)
    in_tree = np.zeros(of_edges.shape, dtype=np.bool_)
    for edge in np.argsort(of_edges, axis=0, kind="stable"):
        a, b = (group[ends[edge, side], columns] for side in (0, 1))
        in_tree[edge, columns] = a != b
        group = np.where(group == b, a, group)
    return in_tree


def _by_tree(graph: ConstraintGraph, in_tree: BoolArray) -> Iterator[tuple[Int64Array, Links]]:
    """Yield the tuples of each tree, and its links."""
    links = Links.of(graph)
    trees, which = np.unique(in_tree, axis=1, return_inverse=True)
    for number, tree in enumerate(trees.T):
        kept = [edge.pair for edge, there in zip(graph.edges, tree.tolist(), strict=True) if there]
        named = {frozenset(map(graph.roles.index, pair)) for pair in kept}
        yield np.flatnonzero(which.ravel() == number), links.only(named)


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
