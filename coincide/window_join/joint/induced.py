"""The graph of some of the streams: what holds between members that are there when others are not."""

from __future__ import annotations

from collections.abc import Collection

from coincide.window_join.constraint_graph import ConstraintGraph


def induced(graph: ConstraintGraph, streams: Collection[str]) -> ConstraintGraph:
    """Return the graph of these streams, in the order they have in `graph`, and of all edges between them.

    Raises
    ------
    GraphError
        Fewer than two streams are left, or edges that no longer connect them.

    Examples
    --------
    >>> from coincide import Window
    >>> induced(ConstraintGraph.clique("abcd", Window(2)), {"d", "a"}).streams
    ('a', 'd')
    """
    kept = tuple(stream for stream in graph.streams if stream in streams)
    return ConstraintGraph(kept, tuple(edge for edge in graph.edges if edge.pair <= set(kept)))
