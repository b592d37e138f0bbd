"""Whole batches side by side: the tuples of their rows in blocks, and the maximal sets of at least m."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, read_only
from coincide.constraints.at_least import AtLeast, checked_at_least
from coincide.constraints.conditions import MemberRules, SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph, refuse_by_distance
from coincide.constraints.interchange import Interchange
from coincide.errors import DetectionsError
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections, checked_batch
from coincide.joins.events import Events, by_time, events_of, in_role_order, is_in_order, positions_in, sorted_events
from coincide.joins.labels import Keys, effective_rule, keyed_batches
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.progress import Progress, unheard
from coincide.joins.search.installed_pattern import InstalledPattern
from coincide.joins.search.pattern import Pattern, with_thresholds
from coincide.joins.search.search import columns_of
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.candidates import RoleBounds, RoleEvents
from coincide.joins.tuples.enumeration import NEAR, Enumeration
from coincide.joins.tuples.maximal_sets import checked_max_candidates
from coincide.joins.tuples.members import MemberColumns, MemberRows
from coincide.joins.tuples.set_order import ABSENT, are_told
from coincide.offsets.cache import judge_of
from coincide.offsets.pair_work import USUAL_LIMITS
from coincide.templates.codes import TemplatesInOrder

Where = Callable[[Int64Array], BoolArray]


class MemberBlock(NamedTuple):
    """Positions of the members of some tuples, shape (n, k).

    `is_in_order` says that they are known to rise in lexicographic order, and to follow those of the blocks before.
    """

    members: Int64Array
    is_in_order: bool


@dataclass(frozen=True, eq=False)
class BatchTuples:
    """The join of the batches of a graph's roles, all arguments checked; one batch in two roles is a self-join.

    `keyed` are the batches with (area, key) in place of the area. `joint` is the least joint probability, None if the
    edges' own thresholds decide.
    """

    given: Mapping[str, Detections]
    keyed: Mapping[str, Detections]
    graph: ConstraintGraph
    thresholds: Sequence[float]
    joint: float | None
    sensors: SensorRule
    progress: Progress = unheard
    work: SearchWork = WHATEVER_IT_TAKES

    @classmethod
    def of(
        cls,
        batches: Mapping[str, Detections],
        graph: ConstraintGraph,
        key: Keys | None,
        threshold: float | None,
        sensors: SensorRule,
    ) -> BatchTuples:
        """Check the arguments of a window join."""
        _check_batches(batches, checked_graph(graph))
        refuse_by_distance(graph)
        exact = {role: all(u.length_s == 0.0 for u in batch.templates) for role, batch in batches.items()}
        thresholds = with_thresholds(graph, threshold, exact)
        joint = threshold if len(graph.edges) > 1 and not all(exact.values()) else None
        return cls(batches, keyed_batches(batches, key), graph, thresholds, joint, checked_sensor_rule(sensors))

    def blocks(self, where: Where | None) -> Iterator[MemberBlock]:
        """Yield all tuples."""
        for members, rises in self._pairs() if len(self.keyed) == 2 else self._tuples():
            kept = members if where is None else members[_kept(where, members)]
            if self.joint is not None:
                kept = kept[self._columns(kept).at_least(self.graph, self.joint)]
            if len(kept):
                yield MemberBlock(kept, rises)
        self.progress(1.0)

    def tuples(self, members: Int64Array) -> Tuples:
        """Return tuples of positions; their probabilities are computed when first asked for."""
        rows = MemberRows([self.given[role].without_labels for role in self.graph.roles], read_only(members))
        return Tuples(
            rows.members,
            partial(rows.joint, self.graph, self.joint),
            partial(rows.edge_probabilities, self.graph),
            threshold=self.joint,
            roles=self.graph.roles,
        )

    def maximal(self, where: Where | None, at_least: int | AtLeast, max_candidates: int) -> Tuples:
        """Return the maximal compatible sets of at least so many members, sorted."""
        if where is not None:
            raise DetectionsError("where", where, "None with at_least: it could not tell which sets may grow")
        least, limit = checked_at_least(at_least, self.graph), checked_max_candidates(max_candidates)
        names = [id(self.keyed[role]) for role in self.graph.roles]
        streams = tuple(self.graph.roles[names.index(name)] for name in names)  # one batch in two roles is one stream
        pattern = Pattern(self.graph, tuple(self.thresholds), streams, streams, self.joint, self.sensors, least, limit)
        batches = {role: self.keyed[role] for role in dict.fromkeys(streams)}
        buffers, new, positions = StreamBuffers(batches), {}, np.empty(0, np.int64)
        for (role, batch), events in zip(batches.items(), events_of(list(batches.values())), strict=True):
            order = np.lexsort(
                (*(() if batch.id is None else (batch.id,)), events.sensor)
            )  # refs tell which goes first
            refs = np.arange(len(positions), len(positions) + len(batch))
            new[role] = buffers.coded(role, replace(events.take(order), ref=refs), batch.templates)
            buffers.insert(role, new[role])
            positions = np.append(positions, order)
        sets = InstalledPattern(pattern, buffers, USUAL_LIMITS).all_sets(new, np.less, self.progress, self.work)
        if len(sets) == 0:
            return columns_of(pattern, buffers.templates, sets).tuples(sets.ref.T, self.joint)
        members = np.where(sets.ref == ABSENT, ABSENT, positions[sets.ref])
        in_order = np.lexsort(members[::-1])
        sets = sets.take(in_order)
        return columns_of(pattern, buffers.templates, sets).tuples(members[:, in_order].T, self.joint)

    def _pairs(self) -> Iterator[MemberBlock]:
        """One edge is a timing join."""
        [edge], [threshold] = self.graph.edges, self.thresholds
        a, b = self.keyed[edge.a], self.keyed[edge.b]
        join = BatchJoin.of(a, None if b is a else b, edge.window, threshold, self.sensors)
        join = replace(join, progress=self.progress)
        a_first = edge.a == self.graph.roles[0] or (b is a and edge.window.is_symmetric)
        for left, right in join.blocks():
            yield MemberBlock(np.array((left, right) if a_first else (right, left)).T, is_in_order=False)

    def _tuples(self) -> Iterator[MemberBlock]:
        events = self._sorted_events()
        templates = {role: TemplatesInOrder(batch.templates) for role, batch in self.keyed.items()}
        judges = [
            judge_of(edge.window, threshold, templates[edge.a], templates[edge.b])
            for edge, threshold in zip(self.graph.edges, self.thresholds, strict=True)
        ]
        bounds = RoleBounds.of(self.graph, [(ProbeBounds.of_a(judge), ProbeBounds.of_b(judge)) for judge in judges])
        stored = {id(rows): sorted_events(rows) for rows in events}
        roles = [RoleEvents(stored[id(rows)]) for rows in events]
        are_in_order = all(is_in_order(rows) for rows in events)
        for tuples in Enumeration(roles, bounds, self._rules(events)).tuples(_root(roles), progress=self.progress):
            at = [tuples[role] for role in range(len(events))]
            if self._interchange.symmetries:  # rows of one stream are in the order of members
                at = list(np.compress(are_told(np.array(at), self._interchange, np.less), at, axis=1))
            members = np.array([positions_in(rows, at[role]) for role, rows in enumerate(events)]).T
            yield MemberBlock(members, are_in_order and list(tuples) == sorted(tuples))

    def _sorted_events(self) -> list[Events]:
        """Return the events of each role; roles that share a batch share them."""
        names = [id(self.keyed[role]) for role in self.graph.roles]
        batches = {id(self.keyed[role]): self.keyed[role] for role in self.graph.roles}
        events = {
            name: in_role_order(rows, batch.id) if names.count(name) > 1 else by_time(rows)
            for (name, batch), rows in zip(batches.items(), events_of(list(batches.values())), strict=True)
        }
        return [events[name] for name in names]

    @cached_property
    def _interchange(self) -> Interchange:
        return Interchange.of(self.graph, self.thresholds, [id(self.keyed[role]) for role in self.graph.roles])

    def _rules(self, events: Sequence[Events]) -> MemberRules:
        rules = {effective_rule(self.sensors, one.sensor, other.sensor) for one, other in combinations(events, 2)}
        twins = tuple((i, j) for i, j in combinations(range(len(events)), 2) if events[i] is events[j])
        sensors: SensorRule = "any" if rules == {"any"} else self.sensors
        return MemberRules(sensors, twins=twins, in_order=self._interchange.pairs)

    def _columns(self, members: Int64Array) -> MemberColumns:
        return MemberRows([self.given[role] for role in self.graph.roles], members).columns()


def _root(roles: Sequence[RoleEvents]) -> int:
    """Return the first stream, or the smallest where that is much smaller."""
    smallest = min(range(len(roles)), key=lambda role: len(roles[role]))
    return smallest if NEAR * len(roles[smallest]) < len(roles[0]) else 0


def _check_batches(batches: Mapping[str, Detections], graph: ConstraintGraph) -> None:
    needed = f"one Detections for each role of the graph: {list(graph.roles)}"
    if not isinstance(batches, Mapping):
        raise DetectionsError("batches", batches, needed)
    if set(batches) != set(graph.roles):
        raise DetectionsError("batches", sorted(batches), needed)
    for role, batch in batches.items():
        checked_batch(f"batches[{role!r}]", batch)


def _kept(where: Where, members: Int64Array) -> BoolArray:
    keep = np.asarray(where(members))
    if keep.shape != (len(members),) or keep.dtype != np.bool_:
        what = f"an array of {keep.dtype} with shape {keep.shape}"
        raise DetectionsError("where", what, f"bool for each of the {len(members)} tuples")
    return keep
