"""Graph checks: the refusals that need no more than names and pairs."""

from __future__ import annotations

from coincide.errors import GraphError
from coincide.window_join.edge import Edge


def refuse_bad_streams(streams: tuple[str, ...]) -> None:
    """Raise GraphError unless they are two or more, each named once."""
    if len(streams) < 2:
        raise GraphError("streams", streams, "two or more")
    twice = [name for at, name in enumerate(streams) if name in streams[:at]]
    if twice:
        raise GraphError("streams", twice[0], "each named once: give every role a name of its own")


def refuse_bad_edges(streams: tuple[str, ...], edges: tuple[Edge, ...]) -> None:
    """Raise GraphError unless each edge is the only one between two of the streams."""
    pairs = set()
    for edge in edges:
        for name in (edge.a, edge.b):
            if name not in streams:
                raise GraphError("edges", name, f"one of the streams {list(streams)}")
        if edge.pair in pairs:
            raise GraphError("edges", (edge.a, edge.b), "one edge for each pair of streams: this is the second")
        pairs.add(edge.pair)
