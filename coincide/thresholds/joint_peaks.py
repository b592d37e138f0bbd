"""Joint peaks: bounds of how probable it can be at most that all windows of a graph hold at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import GraphError
from coincide.probability.joint.probability import joint_probabilities
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_template
from coincide.thresholds.edge_offsets import spanning_tree
from coincide.thresholds.offset_volumes import GraphRows
from coincide.thresholds.peaks import Attainable, attainable

ROUNDS = 12  # at most, of the search for better times
STARTS = 3
UNALIKE = 50.0  # times the work of a joint probability among hundreds alike: measured 5 to 45 for a few
MOST_WORK = 2.0**30  # bucket pairs: 20 s


@dataclass(frozen=True)
class JointlyAttainable:
    """Bounds of the greatest joint probability over all reported times.

    Attributes
    ----------
    edges : tuple of Attainable
        What each edge attains by itself, in the order of the graph's edges.
    at_most : float
        The least of these: all windows at once are no more probable than any of them.
    at_least : float
        A joint probability that is reached: at `times_us`.
    times_us : tuple of int
        Reported times of the roles, in microseconds; the first is 0.
    """

    edges: tuple[Attainable, ...]
    at_most: float
    at_least: float
    times_us: tuple[int, ...]


def attainable_jointly(
    templates: Mapping[str, Histogram], graph: ConstraintGraph, *, most_work: float = MOST_WORK
) -> JointlyAttainable:
    """Bound the most that the joint probability of a graph can be, whatever the reported times.

    The upper bound is exact arithmetic. The lower one is the best found by a short search: a joint threshold up to it
    is within reach, one above the upper bound is not, and between them it is open.

    Parameters
    ----------
    templates : mapping of str to Histogram
        The template of each role.
    graph : ConstraintGraph
        Windows closed at both ends; its thresholds do not matter here.
    most_work : float
        How much work the search for the lower bound may be, in bucket pairs of about 20 ns. It tries three sets of
        times at least.

    Raises
    ------
    GraphError, HistogramError

    Examples
    --------
    The first neutrinos of 1987; all three windows of 10 s at once reach 5/112:

    >>> from coincide.constraints.window import Window
    >>> clocks = {"imb": (-0.05, 0.05), "baksan": (-54, 2), "kamiokande": (-60, 60)}
    >>> graph = ConstraintGraph.clique(list(clocks), Window(10))
    >>> most = attainable_jointly({name: Histogram.uniform(*ends) for name, ends in clocks.items()}, graph)
    >>> round(most.at_most * 120, 3), round(most.at_least * 112, 3)
    (20.0, 5.0)
    """
    if set(templates) != set(checked_graph(graph).roles):
        raise GraphError("templates", sorted(templates), f"those of the graph's roles: {list(graph.roles)}")
    of_role = [checked_template(f"templates[{role!r}]", templates[role]) for role in graph.roles]
    by_role = dict(zip(graph.roles, of_role, strict=True))
    kinds = [(by_role[edge.a], by_role[edge.b], edge.window) for edge in graph.edges]
    most_of = {kind: attainable(*kind) for kind in dict.fromkeys(kinds)}
    edges = tuple(most_of[kind] for kind in kinds)
    if len(edges) == 1:
        most, first = edges[0], graph.edges[0].a == graph.roles[0]
        times = (0, most.offset_us if first else -most.offset_us)
        return JointlyAttainable(edges, most.probability, most.probability, times)
    at_most = min(edge.probability for edge in edges)
    moves = (most_work / joint_work(graph, of_role) - STARTS) / (2 * len(graph.roles))
    times_us, at_least = _best_times(graph, of_role, _starts(graph, of_role, edges), int(min(max(moves, 0), ROUNDS)))
    return JointlyAttainable(edges, at_most, min(at_least, at_most), tuple((times_us - times_us[0]).tolist()))


def joint_work(graph: ConstraintGraph, templates: Sequence[Histogram]) -> float:
    """Work of one joint probability of these templates among few, in bucket pairs."""
    first = np.zeros((len(graph.roles), 1), np.int64)
    row = GraphRows(graph, [[each] for each in templates], first, np.ones((len(graph.edges), 1)))
    return UNALIKE * float(row.joint_work()[0])


def _starts(graph: ConstraintGraph, of_role: Sequence[Histogram], edges: Sequence[Attainable]) -> Int64Array:
    """Return times worth a try, shape (roles, n): each edge of a tree at its best, means and middles in agreement."""
    roles, tree = graph.roles, spanning_tree(graph)
    starts = []
    for nth_start in range(STARTS):
        times = np.zeros(len(roles))
        for parent, nth in tree:
            edge = graph.edges[nth]
            a, b = roles.index(edge.a), roles.index(edge.b)
            middle_s = (edge.window.lo_s + edge.window.hi_s) / 2
            means_s = of_role[b].mean_s - of_role[a].mean_s
            ends_s = (of_role[b].edges_s[[0, -1]].sum() - of_role[a].edges_s[[0, -1]].sum()) / 2
            offset = (edges[nth].offset_us, (middle_s - means_s) * 1e6, (middle_s - ends_s) * 1e6)[nth_start]
            if edge.a == parent:
                times[b] = times[a] + offset
            else:
                times[a] = times[b] - offset
        starts.append(np.rint(times))
    return np.stack(starts, axis=1).astype(np.int64)


def _best_times(
    graph: ConstraintGraph, of_role: Sequence[Histogram], starts: Int64Array, rounds: int
) -> tuple[Int64Array, float]:
    """Move one time after the other from the best start, by steps that become shorter."""
    best, at_best = _best_of(graph, of_role, starts)
    step_us = max(1.0, 0.25e6 * max(template.length_s for template in of_role))
    for _ in range(rounds):
        moves = np.rint(step_us * np.vstack((np.eye(len(of_role)), -np.eye(len(of_role))))).astype(np.int64).T
        moved, at_moved = _best_of(graph, of_role, best[:, None] + moves)
        if at_moved > at_best:
            best, at_best = moved, at_moved
        else:
            step_us = max(1.0, step_us / 3)
    return best, at_best


def _best_of(graph: ConstraintGraph, of_role: Sequence[Histogram], times_us: Int64Array) -> tuple[Int64Array, float]:
    index = np.zeros(times_us.shape, np.int64)
    joint = joint_probabilities(graph, [[each] for each in of_role], index, times_us)
    at = int(np.argmax(joint.lower))
    return times_us[:, at], float(joint.lower[at])
