"""BatchTuples: whole frames side by side, and the tuples of their rows in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coincide.arrays import Int64Array
from coincide.detections import Detections
from coincide.events import Events, sorted_events
from coincide.timing_join.batch_join import BatchJoin
from coincide.timing_join.labels import effective_rule
from coincide.timing_join.sensor_rule import SensorRule
from coincide.timing_join.sorted_frames import by_time, events_of, in_role_order, positions_in
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.enumeration import Enumeration, MemberRules
from coincide.window_join.judged_edges import judged_frames
from coincide.window_join.reach import Reach
from coincide.window_join.role_events import RoleEvents


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

    def blocks(self) -> Iterator[Int64Array]:
        """Yield positions of members in their frames, int64 (n, k), in any order."""
        yield from self._pairs() if len(self.frames) == 2 else self._tuples()

    def _pairs(self) -> Iterator[Int64Array]:
        """One edge is a timing join."""
        [edge], [threshold] = self.graph.edges, self.thresholds
        a, b = self.frames[edge.a], self.frames[edge.b]
        join = BatchJoin.of(a, None if b is a else b, edge.window, threshold, self.sensors)
        a_first = edge.a == self.graph.streams[0] or (b is a and edge.window.is_symmetric)
        for left, right in join.blocks():
            yield np.column_stack((left, right) if a_first else (right, left))

    def _tuples(self) -> Iterator[Int64Array]:
        events = self._sorted_events()
        reach = Reach.of(self.graph, judged_frames(self.graph, self.frames, self.thresholds))
        stored = {id(rows): sorted_events(rows) for rows in events}
        roles = [RoleEvents(stored[id(rows)]) for rows in events]
        for tuples in Enumeration(roles, reach, self._rules(events)).tuples(_root(roles, reach)):
            yield np.column_stack([positions_in(rows, tuples[role]) for role, rows in enumerate(events)])

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


def _root(roles: Sequence[RoleEvents], reach: Reach) -> int:
    """Return the stream with the fewest events, of several that from which the others are nearest."""
    return min(range(len(roles)), key=lambda role: (len(roles[role]), int(reach.implied_us[role].sum())))
