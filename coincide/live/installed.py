"""Installed queries: what an engine keeps of each, and what each makes of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from coincide.arrays.kinds import CodeArray
from coincide.constraints.conditions import JoinCondition, SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import DetectionsError, GraphError
from coincide.joins.answers import Pairs, Tuples
from coincide.joins.events import Events
from coincide.joins.pairs.installed_join import InstalledJoin
from coincide.joins.retention import farthest_by_stream, reach_us, reaches_us, set_reaches_us
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.installed_graph import CompleteTuples, InstalledGraph, checked_at_least, with_thresholds
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.partial_sets import PartialSets
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import PairLimits
from coincide.stream import Stream, checked_stream
from coincide.templates.codes import TemplateRegistry

Answer = Pairs | Tuples


@dataclass(frozen=True)
class WindowCondition:
    """Tuples of one event a role that satisfy every edge of a graph; the fields are those of `WindowJoin`.

    `streams` names the stream of each role; by default each role is a stream of its own name.
    """

    graph: ConstraintGraph
    streams: Mapping[str, str] | None = None
    threshold: float | None = None
    at_least: int | None = None
    sensors: SensorRule = "different"
    max_candidates: int = MOST_CANDIDATES

    def __post_init__(self) -> None:
        checked_graph(self.graph)
        checked_sensor_rule(self.sensors)

    @property
    def stream_of(self) -> dict[str, str]:
        """The name of the stream of each role, in the order of the roles."""
        named = {role: role for role in self.graph.roles} if self.streams is None else self.streams
        if not isinstance(named, Mapping) or set(named) != set(self.graph.roles):
            raise GraphError("streams", named, f"one for each role of the graph: {list(self.graph.roles)}")
        return {role: named[role] for role in self.graph.roles}


class InstalledQuery(Protocol):
    """One query at work on the buffers that all share."""

    @property
    def reach_us(self) -> Mapping[str, int]:
        """How far behind the watermark it needs the events of each of its streams, see `retention`."""

    @property
    def meets_itself(self) -> bool:
        """Whether it searches a batch once that is in the buffers; else before."""

    @property
    def look_ups(self) -> LookUps:
        """What its caches of template pairs have done so far."""

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Answer, Answer]:
        """Return what a sorted batch of one of its streams brings, and what that retracts."""

    def nothing(self) -> Answer:
        """Return an answer without rows."""

    def recode(self, templates: Mapping[str, TemplateRegistry], new_codes: Mapping[str, CodeArray]) -> None:
        """Follow a change of template codes: the new ones by old code, of each stream where they changed."""


class InstalledPairs:
    """A timing join at work: pairs of events from `since` on, each found when its second event arrives."""

    meets_itself = False

    def __init__(
        self, condition: JoinCondition, streams: Mapping[str, Stream], limits: PairLimits, labels: RowLabels, since: int
    ) -> None:
        for name in (condition.a, condition.b):
            _declared(name, streams)
        self._join, self._labels, self._since_ref = InstalledJoin.install(condition, limits), labels, since
        join = (condition.a, condition.b, condition.window)
        self.reach_us = {name: reach_us(streams[name], streams, [join]) for name in {condition.a, condition.b}}

    @property
    def look_ups(self) -> LookUps:
        """What the cache of template pairs has done so far."""
        return self._join.look_ups

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Pairs, Pairs]:
        """Return the pairs that a batch completes, and none that it retracts."""
        condition = self._join.condition
        us, vs = buffers.templates[condition.a], buffers.templates[condition.b]
        self._join = self._join.knowing(us, vs)
        partners = buffers.buffer(condition.b if stream == condition.a else condition.a)
        pairs = self._join.find(stream, batch, partners, self._labels.goes_first, self._since_ref)
        if len(pairs) == 0:
            return self._labels.named(Pairs.none()), Pairs.none()
        return self._labels.named(pairs.pairs(us.templates, vs.templates, condition.window)), Pairs.none()

    def nothing(self) -> Pairs:
        """Return no pairs."""
        return Pairs.none()

    def recode(self, templates: Mapping[str, TemplateRegistry], new_codes: Mapping[str, CodeArray]) -> None:
        """Follow a change of template codes."""
        a, b = self._join.condition.a, self._join.condition.b
        if a in new_codes or b in new_codes:
            self._join = self._join.renewed(templates[a], templates[b], new_codes.get(a), new_codes.get(b))


class InstalledTuples:
    """A window join at work: tuples of events from `since` on, each found when its last member arrives."""

    def __init__(
        self,
        condition: WindowCondition,
        streams: Mapping[str, Stream],
        limits: PairLimits,
        labels: RowLabels,
        since: int,
    ) -> None:
        graph, stream_of = condition.graph, condition.stream_of
        roles = {role: _declared(name, streams) for role, name in stream_of.items()}
        exact = {role: stream.longest_template_us == 0 for role, stream in roles.items()}
        thresholds = with_thresholds(graph, condition.threshold, exact)
        self._installed = InstalledGraph(graph, stream_of, thresholds, limits)
        joint = condition.threshold if len(graph.edges) > 1 and not all(exact.values()) else None
        self._finder: CompleteTuples | PartialSets
        if condition.at_least is None:
            self._finder = CompleteTuples(self._installed, joint, condition.sensors, labels, since)
            reaches = reaches_us(graph, roles)
        else:
            at_least, limit = checked_at_least(condition.at_least, self._installed), condition.max_candidates
            self._finder = PartialSets(self._installed, at_least, joint, condition.sensors, labels, limit, since)
            reaches = set_reaches_us(graph, roles)
        self.reach_us = farthest_by_stream(reaches, self._installed.streams)

    @property
    def meets_itself(self) -> bool:
        """Whether one stream has several roles: then new rows meet each other, too."""
        return self._finder.meets_itself

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done so far, all edges together."""
        return self._installed.look_ups

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Tuples, Tuples]:
        """Return the tuples that a batch brings, and those that it retracts."""
        return self._finder.changes(stream, batch, buffers)

    def nothing(self) -> Tuples:
        """Return no tuples."""
        return Tuples.none(len(self._installed.graph.roles), len(self._installed.graph.edges))

    def recode(self, templates: Mapping[str, TemplateRegistry], new_codes: Mapping[str, CodeArray]) -> None:
        """Follow a change of template codes."""
        self._installed.recode(templates, new_codes)


def farthest_us(streams: Mapping[str, Stream], queries: Iterable[InstalledQuery]) -> dict[str, int]:
    """Return how far behind the watermark any query needs the events of each stream, or their own delay does."""
    farthest = {name: -stream.max_delay_us for name, stream in streams.items()}
    for name, reach in chain.from_iterable(query.reach_us.items() for query in queries):
        farthest[name] = min(farthest[name], reach)
    return farthest


def _declared(name: str, streams: Mapping[str, Stream]) -> Stream:
    if name not in streams:
        raise DetectionsError("stream", name, f"one of {sorted(streams)}")
    return checked_stream("stream", streams[name])
