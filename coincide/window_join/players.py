"""Players: which stream plays each role of a graph, and what that asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coincide.errors import GraphError
from coincide.stream import Stream, checked_stream
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.retention import edge_reaches_us, reaches_us


def players(graph: ConstraintGraph, streams: Iterable[Stream] | Mapping[str, Stream]) -> dict[str, Stream]:
    """Return who plays each of the graph's streams."""
    if not isinstance(streams, Iterable):
        raise GraphError("streams", streams, f"those of the graph: {list(graph.streams)}")
    if isinstance(streams, Mapping):
        named = {role: checked_stream(f"streams[{role!r}]", stream) for role, stream in streams.items()}
    else:
        named = {checked_stream("streams", stream).name: stream for stream in streams}
    if set(named) != set(graph.streams):
        raise GraphError("streams", sorted(named), f"those of the graph: {list(graph.streams)}")
    declared: dict[str, Stream] = {}
    for stream in named.values():
        if declared.setdefault(stream.name, stream) != stream:
            raise GraphError("streams", stream, f"declared alike in every role: it is also {declared[stream.name]}")
    return {role: named[role] for role in graph.streams}


def reach_by_stream(graph: ConstraintGraph, streams: Mapping[str, Stream], *, may_be_absent: bool) -> dict[str, int]:
    """Return how far behind the watermark each stream's events are needed: the farthest of the roles that it plays."""
    reaches = (edge_reaches_us if may_be_absent else reaches_us)(graph, streams).tolist()
    farthest: dict[str, int] = {}
    for role, reach_us in zip(graph.streams, reaches, strict=True):
        name = streams[role].name
        farthest[name] = min(farthest.get(name, 0), reach_us)
    return farthest
