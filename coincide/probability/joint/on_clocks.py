"""The joint probability of members that share clocks: what all share cancels, and the rest is integrated over.

The error of a clock that two or more members share moves them alike against the others. With one such clock, the
integral over its error is exact: nodes between the offsets at which the probability bends. So it is with two clocks on
which all members are, as only their difference counts. Where more offsets matter, or the bends are too many, the result
is an interval with certified bounds. The offsets are cut into cells. In each, windows wider by what the cell spans give
an upper bound, and windows narrower by it a lower one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray
from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.window import Window
from coincide.errors import CoincideError
from coincide.probability.joint.clock_nodes import (
    ClockCells,
    OffsetNodes,
    cells_of,
    difference_nodes,
    every_combination,
    exact_nodes,
)
from coincide.probability.joint.placed_members import Estimate
from coincide.probability.joint.refinement import WIDEST, JointProbability, Plans, refined
from coincide.probability.joint.shifted_tuple import (
    NO_CLOCK,
    Group,
    ShiftedTuple,
    clock_codes,
    share_a_clock,
    shared_errors,
)
from coincide.probability.joint.tuples import EventTuples
from coincide.templates.clocked import are_clocked, own_of
from coincide.templates.histogram import Histogram

MOST_NODES = 20_000  # of an exact integral over one offset
MOST_CELLS = 4_096  # of all clocks together, where that takes more


def share_clocks(tuples: EventTuples) -> BoolArray:
    """Whether two members of a tuple are on one clock, shape (n,)."""
    if sum(map(are_clocked, tuples.templates)) < 2:
        return np.zeros(len(tuples), np.bool_)
    any_shared: BoolArray = np.asarray(share_a_clock(_clock_codes(tuples)).any(axis=0))
    return any_shared


def are_on_one_clock(tuples: EventTuples) -> BoolArray:
    """Whether all members of a tuple are on one clock, which then cancels, shape (n,)."""
    shared = share_clocks(tuples)
    return shared & _on_one_clock(_clock_codes(tuples)) if shared.any() else shared


def joint_on_clocks(graph: ConstraintGraph, tuples: EventTuples) -> JointProbability:
    """Return the joint probability of tuples of which two members or more share a clock."""
    codes = _clock_codes(tuples)
    shared = share_a_clock(codes)
    within = _within_clocks(tuples, shared)
    cancels = _on_one_clock(codes)
    joint = JointProbability.unset(len(tuples))
    joint.put(np.flatnonzero(cancels), refined(graph, within.take(np.flatnonzero(cancels))))
    for number in np.flatnonzero(~cancels).tolist():
        estimate = _estimate(_one_tuple(graph, tuples, within, number))
        bounds = (estimate.value - estimate.radius, estimate.value + estimate.radius, estimate.value)
        joint.put(np.array([number]), JointProbability(*(np.clip(each, 0.0, 1.0) for each in bounds)))
    return joint


def _clock_codes(tuples: EventTuples) -> CodeArray:
    """Return which clock each member is on, shape (k, n), comparable between roles."""
    of_role = clock_codes(tuples.templates)
    return np.array([of[which] for of, which in zip(of_role, tuples.template_index, strict=True)])


def _on_one_clock(codes: CodeArray) -> BoolArray:
    on_one: BoolArray = (codes != NO_CLOCK).all(axis=0) & (codes == codes[0]).all(axis=0)
    return on_one


def _within_clocks(tuples: EventTuples, shared: BoolArray) -> EventTuples:
    """Return the tuples in which whoever shares a clock has its own error alone."""
    sizes = np.array([[len(side)] for side in tuples.templates])
    templates = [[*side, *map(own_of, side)] for side in tuples.templates]
    return EventTuples(templates, tuples.template_index + shared * sizes, tuples.detected_at_us)


@dataclass(frozen=True, eq=False)
class _OneTuple:
    """One tuple, and the errors of the clocks that two or more of its members share."""

    members: ShiftedTuple
    errors: Mapping[Group, Histogram]


def _one_tuple(graph: ConstraintGraph, tuples: EventTuples, within: EventTuples, number: int) -> _OneTuple:
    whole, own = (_templates_of(each, number) for each in (tuples, within))
    return _OneTuple(ShiftedTuple(graph, own, within.detected_at_us[:, number].tolist()), shared_errors(whole))


def _templates_of(tuples: EventTuples, number: int) -> list[Histogram]:
    index = tuples.template_index[:, number].tolist()
    return [side[which] for side, which in zip(tuples.templates, index, strict=True)]


def _estimate(one: _OneTuple) -> Estimate:
    nodes = _exact_nodes(one)
    if nodes is None or len(nodes[1].weight) > MOST_NODES:
        return _by_cells(one)
    return _over(one.members, one.members.graph, [nodes])


def _exact_nodes(one: _OneTuple) -> tuple[Group, OffsetNodes] | None:
    """Return nodes of the one offset that matters; None if more do."""
    (group, error), *others = one.errors.items()
    degree, bends = len(one.members.templates), one.members.bends(group)
    if not others:
        return group, exact_nodes(error, bends, degree)
    [(other, reference), *more] = others
    if more or len(group) + len(other) < len(one.members.templates):
        return None
    return group, difference_nodes(error, reference, bends, degree)


def _over(members: ShiftedTuple, graph: ConstraintGraph, nodes: Sequence[tuple[Group, OffsetNodes]]) -> Estimate:
    """Integrate over the product of the nodes of some clocks."""
    numbers = every_combination([len(each.weight) for _, each in nodes])
    if not numbers.size:
        return Estimate.exact(np.zeros(1))
    offsets: Mapping[int, ExactSum] = {
        member: each.offset.take(which) for (group, each), which in zip(nodes, numbers, strict=True) for member in group
    }
    weight: FloatArray = np.prod([each.weight[which] for (_, each), which in zip(nodes, numbers, strict=True)], axis=0)
    found = Plans(graph, WIDEST / 2).estimate(members.at(offsets))
    return Estimate(*(np.array([np.dot(weight, each)]) for each in (found.value, found.radius)))


def _by_cells(one: _OneTuple) -> Estimate:
    """Bound the probability by windows that are wider, and narrower, by what the offsets may differ within a cell."""
    graph, each = one.members.graph, int(MOST_CELLS ** (1 / len(one.errors)))
    cells = {group: cells_of(error, _possible_s(one, group), each) for group, error in one.errors.items()}
    nodes = [(group, some.nodes) for group, some in cells.items()]
    middle, wide = (_over(one.members, some, nodes) for some in (graph, _resized(graph, cells, 1)))
    narrow = _narrowed(graph, cells)
    least = 0.0 if narrow is None else _bound(_over(one.members, narrow, nodes), -1)
    most = _bound(wide, 1)
    value = float(np.clip(middle.value[0], least, most))
    return Estimate(np.array([value]), np.array([max(most - value, value - least)]))


def _bound(estimate: Estimate, sign: int) -> float:
    return float(estimate.value[0] + sign * estimate.radius[0])


def _possible_s(one: _OneTuple, group: Group) -> tuple[float, float]:
    """Return between which offsets of a clock all windows can hold: beyond its outermost bends they cannot."""
    if len(one.errors) > 1:
        return -np.inf, np.inf
    return one.members.possible_s(group)


def _resized(graph: ConstraintGraph, cells: Mapping[Group, ClockCells], sign: int) -> ConstraintGraph:
    """Return windows wider (1) or narrower (-1) by how far the offsets of both ends may lie from their middles."""
    half_s = {
        graph.roles[member]: (number, float(some.width_s.max(initial=0.0)) / 2)
        for number, (group, some) in enumerate(cells.items())
        for member in group
    }

    def resized(edge: Edge) -> Edge:
        (a, of_a), (b, of_b) = (half_s.get(role, (role, 0.0)) for role in (edge.a, edge.b))
        by_s = 0.0 if a == b else sign * (of_a + of_b)
        return Edge(edge.a, edge.b, Window(lo_s=edge.window.lo_s - by_s, hi_s=edge.window.hi_s + by_s), edge.threshold)

    return ConstraintGraph(graph.roles, tuple(map(resized, graph.edges)))


def _narrowed(graph: ConstraintGraph, cells: Mapping[Group, ClockCells]) -> ConstraintGraph | None:
    """Return narrower windows; None if no times satisfy them."""
    try:
        return _resized(graph, cells, -1)
    except CoincideError:
        return None
