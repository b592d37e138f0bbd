"""Installed queries: what an engine keeps of each, and what each makes of new events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import CodeArray
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import JoinCondition, SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.errors import DetectionsError, GraphError
from coincide.joins.answers import Pairs, Tuples
from coincide.joins.events import Events
from coincide.joins.retention import farthest_by_stream, reaches_us, set_reaches_us
from coincide.joins.search.installed_pattern import InstalledPattern
from coincide.joins.search.pattern import Pattern
from coincide.joins.search.search import MemberRefs, MemberSets, columns_of
from coincide.joins.stream_buffers import SourceName, StreamBuffers
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.set_order import ABSENT
from coincide.live.row_labels import RowLabels
from coincide.offsets.pair_work import PairLimits
from coincide.probability.difference import match_probabilities
from coincide.stream import Stream, checked_stream
from coincide.templates.histogram import Histogram

Answer = Pairs | Tuples


@dataclass(frozen=True)
class WindowCondition:
    """Tuples of one event a role that satisfy every edge of a graph; the fields are those of `WindowJoin`.

    `streams` names the stream, or the source, of each role; by default each role is a stream of its own name.
    """

    graph: ConstraintGraph
    streams: Mapping[str, str] | None = None
    threshold: float | None = None
    at_least: int | AtLeast | None = None
    sensors: SensorRule = "different"
    max_candidates: int = MOST_CANDIDATES

    def __post_init__(self) -> None:
        checked_graph(self.graph)
        checked_sensor_rule(self.sensors)

    @property
    def stream_of(self) -> dict[str, str]:
        """The name of the stream or source of each role, in the order of the roles."""
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
    def search(self) -> InstalledPattern:
        """What finds its answers."""

    def changes(self, new: Mapping[SourceName, Events]) -> tuple[Answer, Answer]:
        """Return what new events of one of its streams bring, and what that retracts."""

    def change_blocks(self, new: Mapping[SourceName, Events]) -> Iterator[tuple[Answer, Answer]]:
        """Yield `changes` in blocks."""

    def nothing(self) -> Answer:
        """Return an answer without rows."""


class InstalledPairs:
    """A timing join at work: pairs of events from `since` on, each found when its second event arrives."""

    def __init__(
        self,
        condition: JoinCondition,
        streams: Mapping[str, Stream],
        limits: PairLimits,
        labels: RowLabels,
        buffers: StreamBuffers,
        since: int,
    ) -> None:
        names = (condition.a, condition.b)
        roles = {role: _declared(name, streams) for role, name in zip("ab", names, strict=True)}
        graph = ConstraintGraph.binary("a", "b", condition.window, condition.threshold)
        streams_of = tuple(stream.name for stream in roles.values())
        pattern = Pattern(graph, (condition.threshold,), names, streams_of, sensors=condition.sensors)
        self.search = InstalledPattern(pattern, buffers, limits, since)
        self._window, self._labels, self._buffers = condition.window, labels, buffers
        self.reach_us = farthest_by_stream(reaches_us(graph, roles), names)

    def changes(self, new: Mapping[SourceName, Events]) -> tuple[Pairs, Pairs]:
        """Return the pairs that new events complete, and none that they retract."""
        return self._answer(self.search.joined(self._sets(new)))

    def change_blocks(self, new: Mapping[SourceName, Events]) -> Iterator[tuple[Pairs, Pairs]]:
        """Yield `changes` in blocks."""
        return map(self._answer, self._sets(new))

    def _sets(self, new: Mapping[SourceName, Events]) -> Iterator[MemberSets]:
        return self.search.change_blocks(new, self._labels.goes_first, are_of_one_stream=len(new) == 1)

    def _answer(self, sets: MemberSets) -> tuple[Pairs, Pairs]:
        members = sets.members
        if len(members) == 0:
            return self._labels.named(Pairs.none()), Pairs.none()
        (us, u_index), (vs, v_index) = map(_named, self._registries, members.template)
        offset_us = members.detected_at_us[1] - members.detected_at_us[0]
        probabilities = partial(match_probabilities, us, vs, u_index, v_index, offset_us, self._window)
        return self._labels.named(Pairs(members.ref[0], members.ref[1], probabilities)), Pairs.none()

    def nothing(self) -> Pairs:
        """Return no pairs."""
        return Pairs.none()

    @property
    def _registries(self) -> list[Sequence[Histogram]]:
        return [self._buffers.templates[name].templates for name in self.search.pattern.sources]


def _named(templates: Sequence[Histogram], code: CodeArray) -> tuple[Sequence[Histogram], npt.NDArray[Any]]:
    """Return templates, and for each code which of them it names: those named alone if they are fewer than all."""
    if len(templates) <= len(code):
        return tuple(templates), code
    used, index = np.unique(code, return_inverse=True)
    return [templates[each] for each in used], index


class InstalledTuples:
    """A window join at work: tuples of events from `since` on, each found when its last member arrives."""

    def __init__(
        self,
        condition: WindowCondition,
        streams: Mapping[str, Stream],
        limits: PairLimits,
        labels: RowLabels,
        buffers: StreamBuffers,
        since: int,
    ) -> None:
        graph, stream_of = condition.graph, condition.stream_of
        roles = {role: _declared(name, streams) for role, name in stream_of.items()}
        exact = {role: stream.longest_template_us == 0 for role, stream in roles.items()}
        pattern = Pattern.of(
            graph,
            tuple(stream_of.values()),
            tuple(stream.name for stream in roles.values()),
            exact,
            condition.threshold,
            condition.sensors,
            condition.at_least,
            condition.max_candidates,
        )
        self.search = InstalledPattern(pattern, buffers, limits, since)
        self._labels, self._buffers = labels, buffers
        self._may_meet = labels.have_equal_keys if labels.is_keyed else None
        judged, plan = pattern.judged_graph, pattern.plan
        reaches = reaches_us(judged, roles) if plan is None else set_reaches_us(judged, roles, plan)
        self.reach_us = farthest_by_stream(reaches, tuple(stream_of.values()))

    def changes(self, new: Mapping[SourceName, Events]) -> tuple[Tuples, Tuples]:
        """Return the tuples that new events bring, and those that they retract.

        Raises
        ------
        CandidateLimitError
            A row has too many candidate sets.
        """
        return self._answer(self.search.joined(self._sets(new)), new)

    def change_blocks(self, new: Mapping[SourceName, Events]) -> Iterator[tuple[Tuples, Tuples]]:
        """Yield `changes` in blocks, each after those before it; the error comes in place of the next one."""
        return (self._answer(sets, new) for sets in self._sets(new))

    def _sets(self, new: Mapping[SourceName, Events]) -> Iterator[MemberSets]:
        arguments = new, self._labels.goes_first, self._may_meet
        return self.search.change_blocks(*arguments, are_of_one_stream=len(new) == 1)

    def _answer(self, sets: MemberSets, new: Mapping[SourceName, Events]) -> tuple[Tuples, Tuples]:
        inserted, superseded = sets.members, sets.supersedes
        if superseded is None:
            return self._complete(inserted), self.nothing()
        superseded = superseded.take((superseded.ref != ABSENT).any(axis=0))
        if len(new) > 1 or self.search.pattern.twins:  # else no set has two new members
            inserted, superseded = net(inserted, superseded)
        return self._partial(inserted), self._partial(superseded)

    def nothing(self) -> Tuples:
        """Return no tuples."""
        graph = self.search.pattern.graph
        return Tuples.none(len(graph.roles), len(graph.edges))

    def _complete(self, members: MemberRefs) -> Tuples:
        pattern = self.search.pattern
        templates = [self._buffers.templates[name].templates for name in pattern.sources]
        columns = MemberColumns(templates, members.template, members.detected_at_us)
        return Tuples(
            self._labels.names(members.ref.T),
            partial(columns.joint, pattern.graph, pattern.joint_threshold),
            partial(columns.edge_probabilities, pattern.graph),
            threshold=pattern.joint_threshold,
            roles=pattern.graph.roles,
        )

    def _partial(self, members: MemberRefs) -> Tuples:
        pattern = self.search.pattern
        columns, names = columns_of(pattern, self._buffers.templates, members), self._labels.names(members.ref.T)
        return columns.tuples(names, pattern.joint_threshold)


def net(inserted: MemberRefs, superseded: MemberRefs) -> tuple[MemberRefs, MemberRefs]:
    """Return what is inserted and what is retracted without the sets that are both: new events grew them further."""
    every = np.concatenate((inserted.ref, superseded.ref), axis=1)
    _, number = np.unique(every, axis=1, return_inverse=True)
    born, gone = np.split(number.ravel(), [inserted.ref.shape[1]])
    return inserted.take(~np.isin(born, gone)), superseded.take(~np.isin(gone, born))


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
