"""Conservative windows: what filters a graph whose windows differ, before results are refined."""

from __future__ import annotations

from itertools import permutations

from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.paper.reach import Reach, given_reach, implied_reach


def global_reach(graph: ConstraintGraph) -> Reach:
    """Return GCA's reach: the largest half-width of all pairs for every pair.

    Examples
    --------
    >>> global_reach(ConstraintGraph.path(["a", "b", "c"], [Window(1), Window(3)]))["a", "b"]
    4000000
    """
    widths_us = completed_half_widths_us(graph)
    return dict.fromkeys(widths_us, max(widths_us.values()))


def local_reach(graph: ConstraintGraph) -> Reach:
    """Return LCA's reach: of the largest half-widths of both streams the smaller one.

    Examples
    --------
    >>> windows = {("a", "b"): Window(1), ("b", "c"): Window(1), ("a", "c"): Window(5), ("d", "a"): Window(2),
    ...            ("d", "b"): Window(2), ("d", "c"): Window(2)}
    >>> reach = local_reach(ConstraintGraph.clique(["a", "b", "c", "d"], windows))
    >>> reach["a", "b"], reach["a", "c"]
    (2000000, 5000000)
    """
    widths_us = completed_half_widths_us(graph)
    largest_us = {a: max(widths_us[a, b] for b in graph.streams if b != a) for a in graph.streams}
    return {(a, b): min(largest_us[a], largest_us[b]) for a, b in permutations(graph.streams, 2)}


def completed_half_widths_us(graph: ConstraintGraph) -> Reach:
    """Return the half-width of a symmetric window for every pair: its own window's, or the shortest path's.

    The paper completes a graph so before it applies GCA or LCA. Without it, and with the largest given window for all
    pairs, members at the ends of a path would be lost.

    Examples
    --------
    >>> completed_half_widths_us(ConstraintGraph.path(["a", "b", "c"], Window(lo_s=1, hi_s=3)))["c", "a"]
    6000000
    """
    reach = {**implied_reach(graph), **given_reach(graph)}
    return {(a, b): max(reach[a, b], reach[b, a]) for a, b in reach}
