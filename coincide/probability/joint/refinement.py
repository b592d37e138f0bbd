"""JointProbability: an interval for each tuple, by cheap bounds first, refined until it is narrow enough.

More constraints make less probable: each edge alone and each spanning tree are upper bounds. What a tree leaves out
takes away at most the chance that one of the edges left out fails: tree - sum (1 - p_e) is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.probability.difference import match_probabilities
from coincide.probability.joint.cells import Cells
from coincide.probability.joint.conditioning import Condition
from coincide.probability.joint.four_clique import FourClique
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

    @property
    def is_exact(self) -> bool:
        """Whether all groups are."""
        return all(plan.is_exact for _, plan in self.parts)

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
    left = links.without(member)
    share = radius * MOST_OF_IT if _is_four_clique(left, shape) else radius / further
    condition = Condition(links, member, plan(left, shape, radius - share))
    cells = Cells(condition, share, exact_times=bool(shape.exact & left.reach.keys()))
    return FourClique(links, cells) if _is_four_clique(links, shape) else cells


MOST_OF_IT = 0.9  # of a radius: a clique of four needs the rest only where floats are too coarse


def _is_four_clique(links: Links, shape: TupleShape) -> bool:
    return (
        len(links.reach) == 4
        and all(len(own) == 3 for own in links.reach.values())
        and not (shape.exact & links.reach.keys())
    )


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
WIDEST_AT_FIRST = 0.03
NARROWEST = 1e-5  # beyond it each tenth of the width costs three times as many cells
ACCURACY = 1e-12  # of a verdict, as for pairs


@dataclass(frozen=True, eq=False)
class JointProbability:
    """Probabilities of n tuples, each with certified bounds.

    The bounds `lower` and `upper` are at most 1e-3 apart, and equal where the probability is exact (up to rounding,
    which stays below 1e-12). The best guess is `value`, between them.

    Examples
    --------
    >>> bounds = np.array([0.4, 0.5]), np.array([0.4, 0.50001])
    >>> joint = JointProbability(*bounds, value=np.array([0.4, 0.500004]))
    >>> joint.at_least(0.500002).tolist(), joint.is_certain(0.500002).tolist()
    ([False, True], [True, False])
    """

    lower: FloatArray
    upper: FloatArray
    value: FloatArray

    @classmethod
    def unset(cls, count: int) -> JointProbability:
        """Return room for so many."""
        return cls(*(np.empty(count) for _ in range(3)))

    @classmethod
    def exactly(cls, value: FloatArray) -> JointProbability:
        """Return what is known."""
        return cls(value, value, value)

    def __len__(self) -> int:
        return len(self.value)

    def at_least(self, threshold: float) -> BoolArray:
        """Whether each probability reaches a threshold, as far as is known: `value` decides where the bounds do not."""
        holds: BoolArray = self.value >= threshold - ACCURACY / 2
        return holds

    def is_certain(self, threshold: float) -> BoolArray:
        """Whether the bounds say which side of a threshold each probability is on."""
        least = threshold - ACCURACY / 2
        return (self.lower >= least) | (self.upper < least)

    def put(self, rows: IndexArray, by: JointProbability) -> None:
        """Replace those at `rows`."""
        self.lower[rows], self.upper[rows], self.value[rows] = by.lower, by.upper, by.value


def refined(graph: ConstraintGraph, tuples: EventTuples, widest: float = WIDEST) -> JointProbability:
    """Return intervals no wider than `widest`: exact where that is cheap, else refined where cheap bounds are wider."""
    plans = Plans(graph, widest / 2)
    joint = JointProbability.unset(len(tuples))
    inexact = [np.empty(0, np.int64)]
    for block in tuples.blocks():
        if plans.is_exact(block):
            estimate = plans.estimate(block)
            least, most = estimate.value - estimate.radius, estimate.value + estimate.radius
            bounds = (np.clip(each, 0.0, 1.0) for each in (least, most, estimate.value))
            joint.put(block.rows, JointProbability(*bounds))
        else:
            inexact.append(block.rows)
    rows = np.sort(np.concatenate(inexact))
    joint.put(rows, _bounded(graph, tuples.take(rows), plans, widest))
    return joint


def refined_about(graph: ConstraintGraph, tuples: EventTuples, threshold: float) -> JointProbability:
    """Return intervals no wider than 1e-3, and than 1e-5 where one still has the threshold inside."""
    joint = refined(graph, tuples)
    open_rows = np.flatnonzero(~joint.is_certain(threshold))
    if len(open_rows):
        joint.put(open_rows, refined(graph, tuples.take(open_rows), NARROWEST))
    return joint


def _bounded(graph: ConstraintGraph, tuples: EventTuples, plans: Plans, widest: float) -> JointProbability:
    """Bound what no plan makes exact, by trees, and by the plans where these bounds are wider than `widest`."""
    if not len(tuples):
        return JointProbability.unset(0)
    lower, upper = tree_bounds(graph, tuples, edge_probabilities(graph, tuples))
    value = (lower + upper) / 2
    wide = np.flatnonzero(upper - lower > widest)
    for block in tuples.take(wide).blocks():
        estimate, rows = plans.estimate(block), wide[block.rows]
        least = np.maximum(lower[rows], estimate.value - estimate.radius)
        most = np.minimum(upper[rows], estimate.value + estimate.radius)
        # exact ones may have crossed: rounding
        lower[rows], upper[rows] = np.minimum(least, most), np.maximum(least, most)
        value[rows] = np.clip(estimate.value, lower[rows], upper[rows])
    return JointProbability(lower, upper, value)


class Plans:
    """How to compute the tuples of one graph, made once for each shape of their templates."""

    def __init__(self, graph: ConstraintGraph, radius: float) -> None:
        self._links, self._window, self._radius = Links.of(graph), graph.uniform_window, radius
        self._of_shape: dict[TupleShape, Plan] = {}

    def is_exact(self, block: TupleBlock) -> bool:
        """Whether one plan gives the exact probability of these tuples, of templates rather than of exact times."""
        return self._window is not None or self._plan(block.shape).is_exact

    def estimate(self, block: TupleBlock) -> Estimate:
        """Compute the tuples of a block."""
        if self._window is not None:
            return Estimate.exact(PosteriorPieces(Members(block.templates, block.reported, self._window)).mass)
        return self._plan(block.shape).estimate(block.members())

    def _plan(self, shape: TupleShape) -> Plan:
        if shape not in self._of_shape:
            self._of_shape[shape] = plan(self._links, shape, self._radius)
        return self._of_shape[shape]
