"""Which events a window join may take together, straight from the definition."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np

from coincide import ConstraintGraph, Detections, Edge, Histogram
from tests.reference.counted_cells import joint_probability
from tests.reference.posterior import ExactPosterior
from tests.reference.timing_join import offsets

Frames = Mapping[str, Detections]
Keys = Mapping[str, Any] | None

ACCURACY = 1e-12  # to which a joint probability is compared with its threshold


@dataclass(frozen=True)
class Member:
    """One event in the role of one stream; all that a join may look at."""

    position: int
    frame: int
    detected_at_us: int
    template: Histogram
    area: int | str | None
    sensor: int | str | None
    id: int | str | None
    key: object

    @property
    def place(self) -> tuple[Any, ...]:
        """Order among the members of one frame that play roles which are alike."""
        return self.detected_at_us, *(() if self.sensor is None else (self.sensor,)), self.id or 0, self.position


@dataclass(frozen=True)
class Rules:
    """What is asked of the members of one call, beyond what they are; `threshold` is the joint one."""

    graph: ConstraintGraph
    threshold: float | None = None
    sensors: str = "different"
    _fits: dict[tuple[str, int, str, int], bool] = field(default_factory=dict, init=False)

    def is_told(self, present: Mapping[str, Member]) -> bool:
        """Whether no way to swap roles of one frame that leaves the graph as it is lets earlier members come first."""
        frames = {role: member.frame for role, member in present.items()}
        edges = {(edge.a, edge.b): (edge.window, self._least(edge) or 1.0) for edge in self.graph.edges}
        edges |= {(edge.b, edge.a): (edge.window.swapped(), self._least(edge) or 1.0) for edge in self.graph.edges}
        renamings = (dict(zip(present, names, strict=True)) for names in permutations(present))
        same = (
            to
            for to in renamings
            if all(frames[role] == frames[to[role]] for role in present)
            and {(to[a], to[b]): kind for (a, b), kind in edges.items()} == edges
        )
        own = [member.place for member in present.values()]
        return all([present[to[role]].place for role in present] >= own for to in same)

    def allow(self, present: Mapping[str, Member]) -> bool:
        """Whether members are compatible: all streams', or (of a clique) some streams'."""
        in_order = [(stream, present[stream]) for stream in self.graph.roles if stream in present]
        return all(self._fit(*one, *other) for one, other in combinations(in_order, 2)) and (
            self.threshold is None or self.joint(present) >= Fraction(self.threshold) - Fraction(ACCURACY)
        )

    def joint(self, present: Mapping[str, Member]) -> Fraction:
        members, names, window = list(present.values()), list(present), self.graph.uniform_window
        templates, times_us = [each.template for each in members], [each.detected_at_us for each in members]
        if window is not None:
            return ExactPosterior(templates, [time_us - times_us[0] for time_us in times_us], window).mass
        windows = {(names.index(edge.a), names.index(edge.b)): edge.window for edge in self._edges_of(present)}
        return joint_probability(templates, times_us, windows)

    def _least(self, edge: Edge) -> float | None:
        """Least probability asked of the edge: joint <= every edge's, so the joint threshold loses nothing."""
        return self.threshold if edge.threshold is None else edge.threshold

    def _edges_of(self, present: Mapping[str, Member]) -> list[Edge]:
        return [edge for edge in self.graph.edges if edge.pair <= present.keys()]

    def _fit(self, a: str, one: Member, b: str, other: Member) -> bool:
        """Whether two members, in the order of their streams, may meet and qualify their edge; looked at once."""
        pair = (a, one.position, b, other.position)
        if pair not in self._fits:
            members = {a: one, b: other}
            qualify = (self._qualifies(edge, members) for edge in self._edges_of(members))
            self._fits[pair] = self._may_meet(one, other) and all(qualify)
        return self._fits[pair]

    def _may_meet(self, one: Member, other: Member) -> bool:
        same_event = (one.frame, one.position) == (other.frame, other.position)
        same_sensor = one.sensor is not None and one.sensor == other.sensor
        sensors_fit = self.sensors == "any" or (self.sensors == "same") == same_sensor
        return not same_event and one.area == other.area and one.key == other.key and sensors_fit

    def _qualifies(self, edge: Edge, present: Mapping[str, Member]) -> bool:
        a, b = present[edge.a], present[edge.b]
        threshold = self._least(edge)
        if threshold is None:
            if a.template.length_s or b.template.length_s:
                raise ValueError(f"edge {edge.a}-{edge.b} has no threshold, and its times are not exact")
            threshold = 1.0
        offset_us = b.detected_at_us - a.detected_at_us
        return any(lo <= offset_us <= hi for lo, hi in offsets(a.template, b.template, edge.window, threshold))


def members_of(frames: Frames, graph: ConstraintGraph, key: Keys) -> dict[str, list[Member]]:
    def members(rows: Detections, key: Any) -> list[Member]:
        labels = [[None] * len(rows) if each is None else each for each in (rows.area, rows.sensor, rows.id, key)]
        templates = [rows.templates[which] for which in rows.template_index.tolist()]
        columns = (rows.detected_at_us.tolist(), templates, *(np.asarray(each).tolist() for each in labels))
        return [Member(position, id(rows), *row) for position, row in enumerate(zip(*columns, strict=True))]

    return {name: members(frames[name], None if key is None else key[name]) for name in graph.roles}
