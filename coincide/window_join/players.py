"""Players: which stream plays each role of a graph, and what that asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coincide.checked_arguments import checked_stream
from coincide.histogram_checks import is_whole
from coincide.stream import Stream
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.edge import GraphError
from coincide.window_join.installed_graph import InstalledGraph
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


def checked_at_least(at_least: int, installed: InstalledGraph) -> int:
    """Return a least number of members that the graph can have, else raise GraphError."""
    graph = installed.graph
    if not graph.is_clique:
        raise GraphError(
            "at_least", at_least, f"None for a {graph.form}: only a clique's members are all tied together"
        )
    if not is_whole(at_least) or not 2 <= at_least <= len(graph.streams):
        raise GraphError("at_least", at_least, f"a whole number from 2 to {len(graph.streams)}")
    if len(set(installed.players)) < len(installed.players):
        raise GraphError("at_least", at_least, "None where one stream plays several roles")
    return at_least
