"""PartialSets: sets of at least m members of a clique, as new events enlarge them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coincide.arrays import Int64Array, PositionArray
from coincide.events import Events
from coincide.stream_buffers import StreamBuffers
from coincide.timing_join.matching import Probe, matching_pairs
from coincide.timing_join.sensor_rule import SensorRule
from coincide.window_join.installed_graph import InstalledGraph
from coincide.window_join.joint import induced
from coincide.window_join.maximal_sets import Growth, MaximalSets, MemberSet
from coincide.window_join.member_labels import MemberLabels
from coincide.window_join.partial_probabilities import MemberEvent, PartialProbabilities, columns_of
from coincide.window_join.tuples import Tuples


class PartialSets:
    """Maximal compatible sets of at least m events, at most one of each stream.

    Parameters
    ----------
    installed : InstalledGraph
        Of a clique, each role with a stream of its own.
    at_least : int
    threshold : float or None
        Least joint probability of the members present.
    sensors : SensorRule
    labels : MemberLabels
    """

    def __init__(
        self,
        installed: InstalledGraph,
        at_least: int,
        threshold: float | None,
        sensors: SensorRule,
        labels: MemberLabels,
    ) -> None:
        self._installed, self._sensors, self._labels = installed, sensors, labels
        self._events: dict[int, MemberEvent] = {}
        self._sets = MaximalSets(at_least, None if threshold is None else self._reaching(threshold))

    def changes(self, stream: str, batch: Events, held: StreamBuffers) -> tuple[Tuples, Tuples]:
        """Take a sorted batch in; return the sets that it brings, and those that they supersede."""
        grown = self.grow(stream, batch, held)
        return self.tuples([each for each, _ in grown]), self.tuples([before for _, before in grown if before])

    def grow(self, stream: str, batch: Events, held: StreamBuffers) -> list[Growth]:
        """Return what `changes` does as sets of refs."""
        partners: dict[int, list[int]] = {}
        for new, old in self._compatible(stream, batch, held):
            keep = self._labels.have_equal_keys(new, old) if self._labels.is_keyed else slice(None)
            for one, other in zip(new[keep].tolist(), old[keep].tolist(), strict=True):
                partners.setdefault(one, []).append(other)
        held.insert(stream, batch)
        return [growth for ref in sorted(partners) for growth in self._sets.add(ref, partners[ref])]

    def forget(self, refs: Int64Array) -> None:
        """Forget events that are not held any more."""
        known = [ref for ref in refs.tolist() if ref in self._events]
        self._sets.forget(known)
        for ref in known:
            del self._events[ref]

    def tuples(self, sets: Sequence[MemberSet]) -> Tuples:
        """Return sets of refs as tuples."""
        refs = np.full((len(sets), len(self._installed.players)), -1)
        for row, members in zip(refs, sets, strict=True):
            for ref in members:
                row[self._events[ref].role] = ref
        events = [[self._events.get(ref) for ref in row] for row in refs.tolist()]
        chances = PartialProbabilities(self._installed.graph, events)
        return Tuples(self._labels.names(refs), chances.joint, chances.of_edges, refs >= 0)

    def _compatible(self, stream: str, batch: Events, held: StreamBuffers) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield refs of new events beside those of held ones that each is compatible with."""
        self._installed.reach(held.templates)  # has all templates judged
        names, role = self._installed.graph.streams, self._installed.players.index(stream)
        for edge in self._installed.edges:
            a, b = names.index(edge.condition.a), names.index(edge.condition.b)
            if role not in (a, b):
                continue
            other, bounds = (b, edge.as_a) if role == a else (a, edge.as_b)
            probe = Probe(batch, held.view(self._installed.players[other]), bounds, self._sensors)
            for rows, at in matching_pairs(probe):
                self._know(role, rows, at, other, probe, held)
                yield probe.events.ref[rows], probe.stored.ref[at]

    def _know(
        self, role: int, rows: PositionArray, at: PositionArray, other: int, probe: Probe, held: StreamBuffers
    ) -> None:
        """Note the members of some pairs: their templates too, whose codes may change."""
        events, stored = probe.events, probe.stored
        stored_us = stored.codec.time_us(stored.keys[at])
        for of_role, ref, template, time_us in (
            (role, events.ref[rows], events.template[rows], events.detected_at_us[rows]),
            (other, stored.ref[at], stored.template[at], stored_us),
        ):
            known = held.templates[self._installed.players[of_role]].templates
            for each, code, when_us in zip(ref.tolist(), template.tolist(), time_us.tolist(), strict=True):
                if each not in self._events:
                    self._events[each] = MemberEvent(of_role, known[code], when_us)

    def _reaching(self, threshold: float) -> Callable[[MemberSet], bool]:
        def reaches(members: MemberSet) -> bool:
            if len(members) == 1:
                return True
            present = sorted((self._events[ref] for ref in members), key=lambda event: event.role)
            graph = induced(self._installed.graph, [self._installed.graph.streams[event.role] for event in present])
            return bool(columns_of([present]).at_least(graph, threshold)[0])

        return reaches
