"""Reach: how much later one stream's member may be than another's, for every ordered pair of streams.

The paper's windows are symmetric; ours need not be. The reach of (a, b) is the greatest t_b - t_a, so a window lo to hi
of t_b - t_a is the reach hi of (a, b) and the reach -lo of (b, a).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations

from coincide.errors import GraphError
from coincide.histogram import Histogram
from coincide.offsets import satisfaction_offsets
from coincide.window import Window
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.implied_bounds import UNBOUNDED_US, implied_bounds

Reach = Mapping[tuple[str, str], int]
"""Greatest t_b - t_a of streams (a, b), in microseconds."""


def given_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach of pairs that have an edge.

    Examples
    --------
    >>> given_reach(ConstraintGraph.binary("a", "b", Window(lo_s=0, hi_s=2)))
    {('a', 'b'): 2000000, ('b', 'a'): 0}
    """
    reach = {}
    for edge in graph.edges:
        lo_us, hi_us = exact_bounds_us(edge.window)
        reach[edge.a, edge.b], reach[edge.b, edge.a] = hi_us, -lo_us
    return reach


def implied_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach of every pair by shortest paths.

    Examples
    --------
    >>> implied_reach(ConstraintGraph.path(["a", "b", "c"], Window(1)))["c", "a"]
    2000000
    """
    bounds_us = implied_bounds(graph.upper_us(exact_bounds_us(edge.window) for edge in graph.edges)).tolist()
    at = {stream: position for position, stream in enumerate(graph.streams)}
    return {(a, b): min(bounds_us[at[a]][at[b]], UNBOUNDED_US) for a, b in permutations(graph.streams, 2)}


def uniform_reach(graph: ConstraintGraph) -> Reach:
    """Return the reach that all pairs of a uniform clique share.

    Raises
    ------
    GraphError
        The graph is no uniform clique.
    """
    if graph.uniform_window is None:
        allowed = "one symmetric window for every pair (a uniform clique); take bew-direct, gca or lca for others"
        raise GraphError("graph", graph.form, allowed)
    _, hi_us = exact_bounds_us(graph.uniform_window)
    return dict.fromkeys(permutations(graph.streams, 2), hi_us)


@lru_cache(maxsize=1024)
def exact_bounds_us(window: Window) -> tuple[int, int]:
    """First and last whole microsecond t_b - t_a inside the window; (1, 0) if there is none between its bounds.

    Examples
    --------
    >>> exact_bounds_us(Window(lo_s=-0.5e-6, hi_s=2.5e-6))
    (0, 2)
    """
    found = satisfaction_offsets(Histogram.point(), Histogram.point(), window, 1.0).tolist()
    return (found[0][0], found[0][1]) if found else (1, 0)
