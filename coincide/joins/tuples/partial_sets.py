"""PartialSets: maximal sets of at least m members of a clique, worked out from what is buffered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array, PositionArray
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, induced
from coincide.joins.answers import Tuples
from coincide.joins.events import Events, SortedEvents
from coincide.joins.pairs.matching import Probe, matching_pairs
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.installed_graph import InstalledGraph
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.set_order import ABSENT
from coincide.probability.joint import JointProbability
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class PartialColumns:
    """Tuples of a clique some of whose members are absent; arrays of shape (k, n), `template` a position."""

    graph: ConstraintGraph
    templates: Sequence[Histogram]
    present: BoolArray
    template: IndexArray
    detected_at_us: Int64Array

    def at_least(self, threshold: float) -> BoolArray:
        """Whether the joint probability of the members present reaches the threshold, bool (n,)."""
        reaches = np.empty(self.present.shape[1], np.bool_)
        for at, graph, columns in self._alike(self.graph.uniform_window is not None):
            reaches[at] = columns.at_least(graph, threshold)
        return reaches

    def joint(self, threshold: float | None) -> JointProbability:
        """Return the joint probability of the members present, as well as the threshold needs."""
        joint = JointProbability.unset(self.present.shape[1])
        for at, graph, columns in self._alike(self.graph.uniform_window is not None):
            joint.put(at, columns.joint(graph, threshold))
        return joint

    def of_edges(self) -> FloatArray:
        """Return the probability of each edge, NaN where a member is absent; float64 (n, edges)."""
        probability = np.full((self.present.shape[1], len(self.graph.edges)), np.nan)
        for at, graph, columns in self._alike(by_size=False):
            edges = np.array([nth for nth, edge in enumerate(self.graph.edges) if edge in graph.edges])
            probability[at[:, None], edges] = columns.edge_probabilities(graph)
        return probability

    def _alike(self, by_size: bool) -> Iterator[tuple[PositionArray, ConstraintGraph, MemberColumns]]:
        """Yield the tuples that have the same roles present, or as many: which, their graph and their columns."""
        kind = self.present.sum(axis=0)[None] if by_size else self.present
        kinds, of = np.unique(kind, axis=1, return_inverse=True)
        for nth in range(kinds.shape[1]):
            at = np.flatnonzero(of.ravel() == nth)
            present = self.present[:, at].T
            roles = np.flatnonzero(present[0])
            template, time_us = (
                column[:, at].T[present].reshape(len(at), -1).T for column in (self.template, self.detected_at_us)
            )
            graph = induced(self.graph, [self.graph.roles[role] for role in roles])
            yield at, graph, MemberColumns([self.templates] * len(roles), template, time_us)


@dataclass(frozen=True, eq=False)
class MemberTable:
    """Events that may be members of sets, by position, their refs rising; arrays of shape (n,)."""

    graph: ConstraintGraph
    templates: Sequence[Histogram]
    ref: Int64Array
    role: PositionArray
    template: IndexArray
    detected_at_us: Int64Array

    @classmethod
    def of(cls, installed: InstalledGraph, buffers: StreamBuffers, events: Sequence[tuple[int, Events]]) -> MemberTable:
        """Make a table of events by role; some may come often."""
        nothing = np.empty((4, 0), np.int64)
        columns = [
            np.array([each.ref, np.full(len(each), role), each.template, each.detected_at_us]) for role, each in events
        ]
        all_of = np.concatenate([nothing, *columns], axis=1)
        ref, role_of, template, time_us = all_of[:, np.unique(all_of[0], return_index=True)[1]]
        code_of: dict[Histogram, int] = {}
        for role, name in enumerate(installed.streams):
            own = np.flatnonzero(role_of == role)
            used, at = np.unique(template[own], return_inverse=True)
            known = map(buffers.templates[name].histogram, used.tolist())
            codes = [code_of.setdefault(each, len(code_of)) for each in known]
            template[own] = np.array(codes, np.int64)[at.ravel()]
        return cls(installed.graph, list(code_of), ref, role_of, template, time_us)

    def positions(self, refs: Int64Array) -> PositionArray:
        """Return where refs are, which must be known."""
        return np.searchsorted(self.ref, refs)

    def by_role(self, sets: Sequence[PositionArray]) -> PositionArray:
        """Return sets of positions, each array (n, size), as tuples by role, (k, n): `ABSENT` where it has none."""
        tuples = np.full((len(self.graph.roles), sum(map(len, sets))), ABSENT, np.intp)
        first = 0
        for each in sets:
            tuples[self.role[each], np.arange(first, first + len(each))[:, None]] = each
            first += len(each)
        return tuples

    def columns(self, tuples: PositionArray) -> PartialColumns:
        """Return tuples by role with what their probability depends on."""
        return PartialColumns(
            self.graph, self.templates, tuples != ABSENT, self.template[tuples], self.detected_at_us[tuples]
        )

    def refs(self, tuples: PositionArray) -> Int64Array:
        """Return the ref of each member, `ABSENT` where there is none."""
        return np.where(tuples == ABSENT, ABSENT, self.ref[tuples]) if len(self.ref) else tuples.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PartialSets:
    """Maximal compatible sets of at least m events of a clique, each role with a stream of its own.

    `threshold` is the least joint probability of the members present, None if the edges decide alone. Events before
    `since_ref` do not count.
    """

    installed: InstalledGraph
    at_least: int
    threshold: float | None
    sensors: SensorRule
    labels: RowLabels
    max_candidates: int
    since_ref: int = 0

    meets_itself: ClassVar[bool] = False

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Tuples, Tuples]:
        """Return the sets that a sorted batch brings, and those that they supersede.

        Raises
        ------
        CandidateLimitError
            A row has too many candidate sets.
        """
        if len(batch) == 0:
            return (Tuples.none(len(self.installed.graph.roles), len(self.installed.graph.edges)),) * 2
        meetings = _Meetings(self, buffers)
        meetings.add_new(batch, self.installed.streams.index(stream))
        table, events = meetings.compatible()
        growths = list(events.growths(int(batch.ref.min()), self.at_least))
        inserted = table.by_role([sets for sets, _ in growths])
        superseded = table.by_role([sets[enlarges, 1:] for sets, enlarges in growths])
        return self.tuples(table, inserted), self.tuples(table, superseded)

    def of_all(self, buffers: StreamBuffers) -> tuple[MemberTable, PositionArray]:
        """Return the maximal sets of all that is buffered, by role, (k, n), and the table of their members."""
        meetings = _Meetings(self, buffers)
        meetings.add_all()
        table, events = meetings.compatible()
        sets = list(events.maximal(0, self.at_least))
        smaller = {tuple(each) for larger in sets for each in larger[:, 1:].tolist()}
        final = [each[[(*others, last) not in smaller for last, *others in each.tolist()]] for each in sets]
        return table, table.by_role(final)

    def tuples(self, table: MemberTable, by_role: PositionArray) -> Tuples:
        """Return tuples by role as an answer."""
        columns, names = table.columns(by_role), self.labels.names(table.refs(by_role).T)
        joint = partial(columns.joint, self.threshold)
        return Tuples(names, joint, columns.of_edges, columns.present.T, self.threshold)


class _Meetings:
    """Which events are compatible pairwise, as far as one search must know."""

    def __init__(self, sets: PartialSets, buffers: StreamBuffers) -> None:
        self._sets, self._buffers = sets, buffers
        self._installed = sets.installed
        self._installed.bounds(buffers.templates)  # has all templates judged
        self._events: list[tuple[int, Events]] = []
        self._pairs = [np.empty((2, 0), np.int64)]  # of refs

    def add_new(self, batch: Events, role: int) -> None:
        """Add the pairs of new events that have enough partners for a set, and all pairs of these partners."""
        self._events.append((role, batch))
        partners = [(other, *self._partners(other, batch, bounds)) for other, bounds in self._edges(role)]
        count = np.bincount(np.concatenate([rows for _, rows, _ in partners]), minlength=len(batch))
        for other, rows, stored in partners:
            self._add(other, rows, stored, batch, count >= self._sets.at_least - 1)
            old = _distinct(stored.take(np.flatnonzero(count[rows] >= max(2, self._sets.at_least - 1))))
            for third, bounds in self._edges(other) if len(old) else ():
                self._add(third, *self._partners(third, old, bounds), old)

    def add_all(self) -> None:
        """Add the pairs of all buffered events."""
        for role, name in enumerate(self._installed.streams):
            events = self._buffers.buffer(name).events()
            for other, bounds in self._edges(role):
                if role < other:
                    self._add(other, *self._partners(other, events, bounds), events)
                    self._events.append((role, events))

    def compatible(self) -> tuple[MemberTable, CompatibleEvents]:
        """Return the events that were met, and which of them are compatible."""
        table = MemberTable.of(self._installed, self._buffers, self._events)
        threshold = self._sets.threshold
        pairs = table.positions(np.concatenate(self._pairs, axis=1))
        judge = None if threshold is None else lambda sets: table.columns(table.by_role([sets])).at_least(threshold)
        return table, CompatibleEvents.of(table.ref, pairs, judge, self._sets.max_candidates)

    def _edges(self, role: int) -> Iterator[tuple[int, ProbeBounds]]:
        """Yield the other roles, and where partners of events of this one may lie."""
        names = self._installed.graph.roles
        for edge in self._installed.edges:
            a, b = names.index(edge.condition.a), names.index(edge.condition.b)
            if role in (a, b):
                yield (b, edge.as_a) if role == a else (a, edge.as_b)

    def _partners(self, other: int, events: Events, bounds: ProbeBounds) -> tuple[PositionArray, Events]:
        """Return the pairs of events with buffered ones in the role `other`, rows beside partners."""
        buffer = self._buffers.buffer(self._installed.streams[other])
        probe = Probe.into(buffer, events, bounds, self._sets.sensors, self._sets.since_ref)
        blocks = [np.empty((2, 0), np.intp), *map(np.array, matching_pairs(probe))]
        rows, at = np.concatenate(blocks, axis=1)
        stored = _unsorted(probe.stored.take(at))
        if self._sets.labels.is_keyed:
            equal = np.flatnonzero(self._sets.labels.have_equal_keys(events.ref[rows], stored.ref))
            rows, stored = rows[equal], stored.take(equal)
        return rows, stored

    def _add(
        self, other: int, rows: PositionArray, stored: Events, events: Events, counts: BoolArray | None = None
    ) -> None:
        """Add pairs of events with partners in the role `other`; of some events only, if not all count."""
        if counts is not None and not counts.all():
            kept = np.flatnonzero(counts[rows])
            rows, stored = rows[kept], stored.take(kept)
        self._pairs.append(np.array([events.ref[rows], stored.ref]))
        self._events.append((other, stored))


def _unsorted(stored: SortedEvents) -> Events:
    area, time_us = stored.codec.area(stored.keys), stored.codec.time_us(stored.keys)
    return Events(area, time_us, stored.template, stored.sensor, stored.ref)


def _distinct(events: Events) -> Events:
    """Return every event once, in order."""
    once = events.take(np.unique(events.ref, return_index=True)[1])
    return once.sorted()
