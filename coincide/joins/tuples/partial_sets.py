"""PartialSets: sets of at least m members of a clique, as new events enlarge them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array, PositionArray
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, induced
from coincide.joins.answers import Tuples
from coincide.joins.events import Events
from coincide.joins.pairs.matching import Probe, matching_pairs
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.installed_graph import InstalledGraph
from coincide.joins.tuples.maximal_sets import Growth, MaximalSets, MemberSet
from coincide.joins.tuples.members import MemberColumns
from coincide.templates.histogram import Histogram

RefColumns = tuple[Int64Array, Int64Array]


@dataclass(frozen=True)
class MemberEvent:
    """What is known of an event that is a member of some set."""

    role: int
    template: Histogram
    detected_at_us: int


def columns_of(members: Sequence[Sequence[MemberEvent]]) -> MemberColumns:
    """Return tuples whose members are all present, each a list of events by role, as columns."""
    templates = [list(dict.fromkeys(event.template for event in role)) for role in zip(*members, strict=True)]
    code_of = [{template: code for code, template in enumerate(side)} for side in templates]
    index = [[code_of[at][event.template] for at, event in enumerate(each)] for each in members]
    times_us = [[event.detected_at_us for event in each] for each in members]
    return MemberColumns(templates, np.array(index, np.int64).T, np.array(times_us, np.int64).T)


@dataclass(frozen=True)
class PartialProbabilities:
    """Sets of members of a clique: for each set the member of each role, None if it is absent."""

    graph: ConstraintGraph
    members: Sequence[Sequence[MemberEvent | None]]

    def joint(self) -> FloatArray:
        """Return the joint probability of the members present, float64 (n,)."""
        probability = np.empty(len(self.members))
        for rows, graph, columns in self._alike():
            probability[rows] = columns.probabilities(graph)
        return probability

    def of_edges(self) -> FloatArray:
        """Return the probability of each edge, NaN where a member is absent; float64 (n, edges)."""
        probability = np.full((len(self.members), len(self.graph.edges)), np.nan)
        for rows, graph, columns in self._alike():
            at = np.array([nth for nth, edge in enumerate(self.graph.edges) if edge in graph.edges])
            probability[rows[:, None], at] = columns.edge_probabilities(graph)
        return probability

    def _alike(self) -> Iterator[tuple[IndexArray, ConstraintGraph, MemberColumns]]:
        """Yield the sets that have the same roles present: which, their graph and their columns."""
        rows_of: dict[tuple[str, ...], list[int]] = {}
        for row, each in enumerate(self.members):
            present = tuple(role for role, event in zip(self.graph.roles, each, strict=True) if event is not None)
            rows_of.setdefault(present, []).append(row)
        for present, rows in rows_of.items():
            chosen = [[event for event in self.members[row] if event is not None] for row in rows]
            yield np.array(rows), induced(self.graph, present), columns_of(chosen)


class PartialSets:
    """Maximal compatible sets of at least m events of a clique, each role with a stream of its own.

    `threshold` is the least joint probability of the members present.
    """

    meets_itself = False

    def __init__(
        self,
        installed: InstalledGraph,
        at_least: int,
        threshold: float | None,
        sensors: SensorRule,
        labels: RowLabels,
    ) -> None:
        self._installed, self._sensors, self._labels = installed, sensors, labels
        self._events: dict[int, MemberEvent] = {}
        self._sets = MaximalSets(at_least, None if threshold is None else self._reaching(threshold))

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Tuples, Tuples]:
        """Return the sets that a sorted batch brings, and those that they supersede."""
        grown = self.grow(stream, batch, buffers)
        return self.tuples([each for each, _ in grown]), self.tuples([before for _, before in grown if before])

    def grow(self, stream: str, batch: Events, buffers: StreamBuffers) -> list[Growth]:
        """Return what `changes` does as sets of refs."""
        partners: dict[int, list[int]] = {}
        for new, old in self._compatible(stream, batch, buffers):
            keep = self._labels.have_equal_keys(new, old) if self._labels.is_keyed else slice(None)
            for one, other in zip(new[keep].tolist(), old[keep].tolist(), strict=True):
                partners.setdefault(one, []).append(other)
        return [growth for ref in sorted(partners) for growth in self._sets.add(ref, partners[ref])]

    def forget(self, refs: Int64Array) -> None:
        """Forget events that the buffers have dropped."""
        known = [ref for ref in refs.tolist() if ref in self._events]
        self._sets.forget(known)
        for ref in known:
            del self._events[ref]

    def tuples(self, sets: Sequence[MemberSet]) -> Tuples:
        """Return sets of refs as tuples."""
        refs = np.full((len(sets), len(self._installed.streams)), -1)
        for row, members in zip(refs, sets, strict=True):
            for ref in members:
                row[self._events[ref].role] = ref
        events = [[self._events.get(ref) for ref in row] for row in refs.tolist()]
        chances = PartialProbabilities(self._installed.graph, events)
        return Tuples(self._labels.names(refs), chances.joint, chances.of_edges, refs >= 0)

    def _compatible(self, stream: str, batch: Events, buffers: StreamBuffers) -> Iterator[RefColumns]:
        """Yield refs of new events beside those of buffered ones that each is compatible with."""
        self._installed.bounds(buffers.templates)  # has all templates judged
        names, role = self._installed.graph.roles, self._installed.streams.index(stream)
        for edge in self._installed.edges:
            a, b = names.index(edge.condition.a), names.index(edge.condition.b)
            if role not in (a, b):
                continue
            other, bounds = (b, edge.as_a) if role == a else (a, edge.as_b)
            probe = Probe.into(buffers.buffer(self._installed.streams[other]), batch, bounds, self._sensors)
            for rows, at in matching_pairs(probe):
                self._know(role, rows, at, other, probe, buffers)
                yield probe.events.ref[rows], probe.stored.ref[at]

    def _know(
        self, role: int, rows: PositionArray, at: PositionArray, other: int, probe: Probe, buffers: StreamBuffers
    ) -> None:
        """Note the members of some pairs: their templates too, whose codes may change."""
        events, stored = probe.events, probe.stored
        stored_us = stored.codec.time_us(stored.keys[at])
        for of_role, ref, template, time_us in (
            (role, events.ref[rows], events.template[rows], events.detected_at_us[rows]),
            (other, stored.ref[at], stored.template[at], stored_us),
        ):
            known = buffers.templates[self._installed.streams[of_role]].templates
            for each, code, when_us in zip(ref.tolist(), template.tolist(), time_us.tolist(), strict=True):
                if each not in self._events:
                    self._events[each] = MemberEvent(of_role, known[code], when_us)

    def _reaching(self, threshold: float) -> Callable[[MemberSet], bool]:
        def reaches(members: MemberSet) -> bool:
            if len(members) == 1:
                return True
            present = sorted((self._events[ref] for ref in members), key=lambda event: event.role)
            graph = induced(self._installed.graph, [self._installed.graph.roles[event.role] for event in present])
            return bool(columns_of([present]).at_least(graph, threshold)[0])

        return reaches
