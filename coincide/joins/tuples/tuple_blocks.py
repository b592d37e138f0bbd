"""Whole batches side by side: the tuples of their rows in blocks, and the maximal sets of at least m."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.conditions import MemberRules, SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.events import Events, by_time, events_of, in_role_order, is_in_order, positions_in, sorted_events
from coincide.joins.labels import effective_rule
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.joins.row_labels import FrameLabels, MemberLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.candidates import Reach, RoleEvents
from coincide.joins.tuples.enumeration import NEAR, Enumeration
from coincide.joins.tuples.installed_graph import InstalledGraph, checked_at_least
from coincide.joins.tuples.judged_edges import judged_frames
from coincide.joins.tuples.maximal_sets import MemberSet
from coincide.joins.tuples.partial_sets import PartialSets
from coincide.offsets.cache import USUAL_LIMITS


class Block(NamedTuple):
    """Some tuples.

    Attributes
    ----------
    members : ndarray of int64, shape (n, k)
        Positions in the frames.
    is_in_order : bool
        Whether they are known to be in lexicographic order, and after those of the blocks before.
    """

    members: Int64Array
    is_in_order: bool


@dataclass(frozen=True, eq=False)
class BatchTuples:
    """The frames of a graph's streams, one frame under two names a self-join.

    Attributes
    ----------
    frames : mapping of str to Detections
    graph : ConstraintGraph
    thresholds : sequence of float
        Of each edge.
    sensors : SensorRule
    """

    frames: Mapping[str, Detections]
    graph: ConstraintGraph
    thresholds: Sequence[float]
    sensors: SensorRule

    def blocks(self) -> Iterator[Block]:
        """Yield all tuples."""
        yield from self._pairs() if len(self.frames) == 2 else self._tuples()

    def _pairs(self) -> Iterator[Block]:
        """One edge is a timing join."""
        [edge], [threshold] = self.graph.edges, self.thresholds
        a, b = self.frames[edge.a], self.frames[edge.b]
        join = BatchJoin.of(a, None if b is a else b, edge.window, threshold, self.sensors)
        a_first = edge.a == self.graph.roles[0] or (b is a and edge.window.is_symmetric)
        for left, right in join.blocks():
            yield Block(np.array((left, right) if a_first else (right, left)).T, is_in_order=False)

    def _tuples(self) -> Iterator[Block]:
        events = self._sorted_events()
        reach = Reach.of(self.graph, judged_frames(self.graph, self.frames, self.thresholds))
        stored = {id(rows): sorted_events(rows) for rows in events}
        roles = [RoleEvents(stored[id(rows)]) for rows in events]
        are_in_order = all(is_in_order(rows) for rows in events)
        for tuples in Enumeration(roles, reach, self._rules(events)).tuples(_root(roles)):
            members = np.array([positions_in(rows, tuples[role]) for role, rows in enumerate(events)]).T
            yield Block(members, are_in_order and list(tuples) == sorted(tuples))

    def _sorted_events(self) -> list[Events]:
        """By stream; streams that share a frame share them."""
        frames = {id(self.frames[stream]): self.frames[stream] for stream in self.graph.roles}
        names = [id(self.frames[stream]) for stream in self.graph.roles]
        given = dict(zip(frames, events_of(list(frames.values())), strict=True))
        sorted_by_frame = {
            name: in_role_order(rows, frames[name].id) if names.count(name) > 1 else by_time(rows)
            for name, rows in given.items()
        }
        return [sorted_by_frame[name] for name in names]

    def _rules(self, events: Sequence[Events]) -> MemberRules:
        rules = {effective_rule(self.sensors, one.sensor, other.sensor) for one, other in combinations(events, 2)}
        twins = tuple((i, j) for i, j in combinations(range(len(events)), 2) if events[i] is events[j])
        are_alike = self.graph.uniform_window is not None and len(set(self.thresholds)) == 1
        sensors: SensorRule = "any" if rules == {"any"} else self.sensors
        return MemberRules(sensors, twins=twins, twins_in_order=are_alike)


def _root(roles: Sequence[RoleEvents]) -> int:
    """Return the first stream, or the smallest where that is much smaller."""
    smallest = min(range(len(roles)), key=lambda role: len(roles[role]))
    return smallest if NEAR * len(roles[smallest]) < len(roles[0]) else 0


def maximal_tuples(
    frames: Mapping[str, Detections],
    graph: ConstraintGraph,
    thresholds: Sequence[float],
    joint: float | None,
    sensors: SensorRule,
    at_least: int,
) -> Tuples:
    """Return the maximal compatible sets of at least so many members, sorted by them; one stream after the other.

    Parameters are those of `window_join`, checked; `thresholds` those of the edges.
    """
    names = {id(frames[name]): name for name in graph.roles}  # one frame under two names is one stream
    players = {name: names[id(frames[name])] for name in graph.roles}
    installed = InstalledGraph(graph, players, thresholds, USUAL_LIMITS)
    labels = MemberLabels(FrameLabels(orders_ties=False), is_keyed=False)
    sets = PartialSets(installed, checked_at_least(at_least, installed), joint, sensors, labels)
    live, first = set[MemberSet](), {}
    held, rows = StreamBuffers(graph.roles), 0
    for name, events in zip(graph.roles, events_of([frames[name] for name in graph.roles]), strict=True):
        batch = held.coded(name, replace(events, ref=np.arange(rows, rows + len(events))), frames[name].templates)
        for grown, before in sets.grow(name, batch, held):
            live.add(grown)
            live.discard(before or frozenset())
        first[name], rows = rows, rows + len(events)
    found = sets.tuples(sorted(live, key=lambda members: _in_role_order(members, list(first.values()))))
    found.members -= np.where(found.present, list(first.values()), 0)
    return found


def _in_role_order(members: MemberSet, first: Sequence[int]) -> list[int]:
    """Return the ref of each role's member, -1 where it is absent."""
    refs = [-1] * len(first)
    for ref in members:
        refs[int(np.searchsorted(first, ref, side="right")) - 1] = ref
    return refs
