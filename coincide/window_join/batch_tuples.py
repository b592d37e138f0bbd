"""BatchTuples: whole frames side by side, and the tuples of their rows in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from coincide.arrays import Int64Array
from coincide.detections import Detections
from coincide.events import Events, sorted_events
from coincide.timing_join.batch_join import BatchJoin
from coincide.timing_join.labels import effective_rule
from coincide.timing_join.sensor_rule import SensorRule
from coincide.timing_join.sorted_frames import by_time, events_of, in_role_order, is_in_order, positions_in
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.enumeration import NEAR, Enumeration
from coincide.window_join.judged_edges import judged_frames
from coincide.window_join.member_rules import MemberRules
from coincide.window_join.reach import Reach
from coincide.window_join.role_events import RoleEvents


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
        a_first = edge.a == self.graph.streams[0] or (b is a and edge.window.is_symmetric)
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
        frames = {id(self.frames[stream]): self.frames[stream] for stream in self.graph.streams}
        names = [id(self.frames[stream]) for stream in self.graph.streams]
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
