"""Volumes of one row at a time, point by point: the slow twin of `offset_volumes`."""

from collections.abc import Sequence
from itertools import pairwise
from math import hypot, sqrt

import numpy as np

from coincide import ConstraintGraph, Histogram, joint_probabilities, match_probability, satisfaction_offsets
from coincide.constraints.graph import Edge
from coincide.thresholds.edge_offsets import ROTATIONS, even_points
from coincide.thresholds.offset_volumes import POINTS

TOLERANCE = 1e-12
Times = dict[str, int]


def offset_volume(
    graph: ConstraintGraph, templates: Sequence[Histogram], thresholds: Sequence[float], joint: float | None, most: int
) -> tuple[float, float]:
    """Return the volume and its error; at `most` points the joint probability is computed."""
    of_role = dict(zip(graph.roles, templates, strict=True))
    offsets = {
        edge: satisfaction_offsets(of_role[edge.a], of_role[edge.b], edge.window, threshold).tolist()
        for edge, threshold in zip(graph.edges, thresholds, strict=True)
    }
    tree = spanning_tree(graph)
    lengths = 1.0
    for edge in tree:
        lengths *= sum(right - left + 1 for left, right in offsets[edge]) / 1e6
    along = even_points(len(tree), POINTS // ROTATIONS).T.tolist()
    points = [placed(graph, tree, offsets, place) for place in along] if lengths else []
    beside = [(edge, least) for edge, least in zip(graph.edges, thresholds, strict=True) if edge not in tree]
    holds = [all(probability(edge, of_role, at) >= least - TOLERANCE for edge, least in beside) for at in points]
    share, error = (1.0, 0.0) if not beside else share_of(holds)
    if joint is None or joint == 1:
        return lengths * share, lengths * error
    inside = sorted((at for at, held in zip(points, holds, strict=True) if held), key=lambda at: off(at, offsets))
    number = min(most, len(inside))
    looked_at = [inside[(2 * nth + 1) * len(inside) // (2 * number)] for nth in range(number)]
    reach = [joint_of(graph, templates, at) >= joint - TOLERANCE for at in looked_at]
    of_joint, several = (sum(reach) + 0.5) / (number + 1), max(number, 2)
    switches = max(1, sum(one != other for one, other in pairwise(reach)))
    joint_error = sqrt(switches / (2 * several * (several - 1)))
    return lengths * share * of_joint, lengths * hypot(error * of_joint, share * joint_error)


def spanning_tree(graph: ConstraintGraph) -> list[Edge]:
    reached, tree = {graph.roles[0]}, list[Edge]()
    while len(reached) < len(graph.roles):
        for edge in graph.edges:
            if len(edge.pair & reached) == 1:
                tree.append(edge)
                reached |= edge.pair
    return tree


def placed(graph: ConstraintGraph, tree: list[Edge], offsets: dict[Edge, list[list[int]]], place: list[float]) -> Times:
    at = {graph.roles[0]: 0}
    for edge, part in zip(tree, place, strict=True):
        left_over = int(part * sum(right - left + 1 for left, right in offsets[edge]))
        for left, right in offsets[edge]:
            if left_over <= right - left:
                offset = left + left_over
                break
            left_over -= right - left + 1
        if edge.a in at:
            at[edge.b] = at[edge.a] + offset
        else:
            at[edge.a] = at[edge.b] - offset
    return at


def probability(edge: Edge, of_role: dict[str, Histogram], at: Times) -> float:
    return float(match_probability(of_role[edge.a], of_role[edge.b], (at[edge.b] - at[edge.a]) / 1e6, edge.window))


def share_of(holds: list[bool]) -> tuple[float, float]:
    if not holds:
        return 0.5 / POINTS, 0.5 / POINTS
    each = POINTS // ROTATIONS
    shares = [sum(holds[start : start + each]) / each for start in range(0, POINTS, each)]
    mean = sum(shares) / ROTATIONS
    error = sqrt(sum((share - mean) ** 2 for share in shares) / (ROTATIONS - 1) / ROTATIONS)
    return max(mean, 0.5 / POINTS), max(error, 0.5 / POINTS)


def off(at: Times, offsets: dict[Edge, list[list[int]]]) -> float:
    """How far from the middle of their offsets the edges are."""
    total = 0.0
    for edge, ranges in offsets.items():
        least, most = ranges[0][0], ranges[-1][1]
        total += (abs(at[edge.b] - at[edge.a] - (least + most) / 2) / ((most - least + 1) / 2)) ** 2
    return total


def joint_of(graph: ConstraintGraph, templates: Sequence[Histogram], at: Times) -> float:
    index, times = np.zeros((len(templates), 1), np.int64), np.array([[at[role]] for role in graph.roles])
    return float(joint_probabilities(graph, [[each] for each in templates], index, times).value[0])
