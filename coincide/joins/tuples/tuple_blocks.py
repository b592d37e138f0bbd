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
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.candidates import RoleBounds, RoleEvents
from coincide.joins.tuples.enumeration import NEAR, Enumeration
from coincide.joins.tuples.installed_graph import InstalledGraph, checked_at_least
from coincide.joins.tuples.judged_edges import bounds_of_edges
from coincide.joins.tuples.maximal_sets import MemberSet
from coincide.joins.tuples.partial_sets import PartialSets
from coincide.offsets.cache import USUAL_LIMITS


class MemberBlock(NamedTuple):
    """Positions of the members of some tuples, shape (n, k).

    `is_in_order` says that they are known to rise in lexicographic order, and to follow those of the blocks before.
    """

    members: Int64Array
    is_in_order: bool


@dataclass(frozen=True, eq=False)
class BatchTuples:
    """The join of the batches of a graph's roles; one batch in two roles is a self-join."""

    batches: Mapping[str, Detections]
    graph: ConstraintGraph
    thresholds: Sequence[float]
    sensors: SensorRule

    def blocks(self) -> Iterator[MemberBlock]:
        """Yield all tuples."""
        yield from self._pairs() if len(self.batches) == 2 else self._tuples()

    def _pairs(self) -> Iterator[MemberBlock]:
        """One edge is a timing join."""
        [edge], [threshold] = self.graph.edges, self.thresholds
        a, b = self.batches[edge.a], self.batches[edge.b]
        join = BatchJoin.of(a, None if b is a else b, edge.window, threshold, self.sensors)
        a_first = edge.a == self.graph.roles[0] or (b is a and edge.window.is_symmetric)
        for left, right in join.blocks():
            yield MemberBlock(np.array((left, right) if a_first else (right, left)).T, is_in_order=False)

    def _tuples(self) -> Iterator[MemberBlock]:
        events = self._sorted_events()
        bounds = RoleBounds.of(self.graph, bounds_of_edges(self.graph, self.batches, self.thresholds))
        stored = {id(rows): sorted_events(rows) for rows in events}
        roles = [RoleEvents(stored[id(rows)]) for rows in events]
        are_in_order = all(is_in_order(rows) for rows in events)
        for tuples in Enumeration(roles, bounds, self._rules(events)).tuples(_root(roles)):
            members = np.array([positions_in(rows, tuples[role]) for role, rows in enumerate(events)]).T
            yield MemberBlock(members, are_in_order and list(tuples) == sorted(tuples))

    def _sorted_events(self) -> list[Events]:
        """Return the events of each role; roles that share a batch share them."""
        names = [id(self.batches[role]) for role in self.graph.roles]
        batches = {id(self.batches[role]): self.batches[role] for role in self.graph.roles}
        events = {
            name: in_role_order(rows, batch.id) if names.count(name) > 1 else by_time(rows)
            for (name, batch), rows in zip(batches.items(), events_of(list(batches.values())), strict=True)
        }
        return [events[name] for name in names]

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
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    thresholds: Sequence[float],
    joint: float | None,
    sensors: SensorRule,
    at_least: int,
) -> Tuples:
    """Return the maximal compatible sets of at least so many members, sorted; all arguments are checked."""
    names = {id(batches[role]): role for role in graph.roles}  # one batch in two roles is one stream
    stream_of = {role: names[id(batches[role])] for role in graph.roles}
    installed = InstalledGraph(graph, stream_of, thresholds, USUAL_LIMITS)
    labels = RowLabels(orders_ties=False)
    sets = PartialSets(installed, checked_at_least(at_least, installed), joint, sensors, labels)
    live, first = set[MemberSet](), {}
    buffers, rows = StreamBuffers(graph.roles), 0
    for name, events in zip(graph.roles, events_of([batches[name] for name in graph.roles]), strict=True):
        batch = buffers.coded(name, replace(events, ref=np.arange(rows, rows + len(events))), batches[name].templates)
        for grown, before in sets.grow(name, batch, buffers):
            live.add(grown)
            live.discard(before or frozenset())
        first[name], rows = rows, rows + len(events)
    tuples = sets.tuples(sorted(live, key=lambda members: _in_role_order(members, list(first.values()))))
    tuples.members -= np.where(tuples.present, list(first.values()), 0)
    return tuples


def _in_role_order(members: MemberSet, first: Sequence[int]) -> list[int]:
    """Return the ref of each role's member, -1 where it is absent."""
    refs = [-1] * len(first)
    for ref in members:
        refs[int(np.searchsorted(first, ref, side="right")) - 1] = ref
    return refs
