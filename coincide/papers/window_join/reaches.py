"""How much later one stream's member may be than another's: given, implied, uniform, and conservative windows.

The paper's windows are symmetric; ours need not be. The reach of (a, b) is the greatest t_b - t_a, so a window lo to hi
of t_b - t_a is the reach hi of (a, b) and the reach -lo of (b, a).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations

from coincide.constraints.graph import UNBOUNDED_US, ConstraintGraph, implied_bounds
from coincide.constraints.window import Window
from coincide.errors import GraphError
from coincide.offsets.satisfying import satisfaction_offsets
from coincide.templates.histogram import Histogram

Reach = Mapping[tuple[str, str], int]
"""Greatest t_b - t_a of streams (a, b), in microseconds."""


def given_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach of pairs that have an edge."""
    reach = {}
    for edge in graph.edges:
        lo_us, hi_us = exact_bounds_us(edge.window)
        reach[edge.a, edge.b], reach[edge.b, edge.a] = hi_us, -lo_us
    return reach


def implied_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach of every pair by shortest paths."""
    bounds_us = implied_bounds(graph.upper_us(exact_bounds_us(edge.window) for edge in graph.edges)).tolist()
    at = {stream: position for position, stream in enumerate(graph.roles)}
    return {(a, b): min(bounds_us[at[a]][at[b]], UNBOUNDED_US) for a, b in permutations(graph.roles, 2)}


def uniform_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach that all pairs of a uniform clique share; GraphError for any other graph."""
    if graph.uniform_window is None:
        allowed = "one symmetric window for every pair (a uniform clique); take bew-direct, gca or lca for others"
        raise GraphError("graph", graph.form, allowed)
    _, hi_us = exact_bounds_us(graph.uniform_window)
    return dict.fromkeys(permutations(graph.roles, 2), hi_us)


@lru_cache(maxsize=1024)
def exact_bounds_us(window: Window) -> tuple[int, int]:
    """First and last whole microsecond t_b - t_a inside the window; (1, 0) if there is none between its bounds."""
    offsets_us = satisfaction_offsets(Histogram.point(), Histogram.point(), window, 1.0).tolist()
    return (offsets_us[0][0], offsets_us[0][1]) if offsets_us else (1, 0)


def global_reach(graph: ConstraintGraph) -> Reach:
    """Return GCA's reach: the largest half-width of all pairs for every pair."""
    widths_us = completed_half_widths_us(graph)
    return dict.fromkeys(widths_us, max(widths_us.values()))


def local_reach(graph: ConstraintGraph) -> Reach:
    """Return LCA's reach: of the largest half-widths of both streams the smaller one."""
    widths_us = completed_half_widths_us(graph)
    largest_us = {a: max(widths_us[a, b] for b in graph.roles if b != a) for a in graph.roles}
    return {(a, b): min(largest_us[a], largest_us[b]) for a, b in permutations(graph.roles, 2)}


def completed_half_widths_us(graph: ConstraintGraph) -> Reach:
    """Return the half-width of a symmetric window for every pair: its own window's, or the shortest path's.

    The paper completes a graph so before it applies GCA or LCA. Without it, and with the largest given window for all
    pairs, members at the ends of a path would be lost.
    """
    reach = {**implied_reach(graph), **given_reach(graph)}
    return {(a, b): max(reach[a, b], reach[b, a]) for a, b in reach}
