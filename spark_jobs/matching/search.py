"""What is at hand when the new rows of a batch look for the matches that they complete."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import CodeArray, PositionArray
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
from coincide.joins.pairs.matching import Probe, matching_pairs
from coincide.offsets.cache import LookUps, OffsetCache
from coincide.queries import Query
from spark_jobs.core.control import ActiveQuery
from spark_jobs.matching.role_edges import RoleEdge, RoleOrder, possible_bounds
from spark_jobs.matching.row_buffers import RowBuffers
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns, EventTable, VerifiedTemplates


class QueryOffsets:
    """Caches by window and threshold, which together remember at most `most_pairs`."""

    def __init__(self, query: Query, edges: Sequence[RoleEdge], templates: VerifiedTemplates, most_pairs: int) -> None:
        self.query = query
        self.edges = edges
        kinds = dict.fromkeys((edge.window, edge.threshold) for edge in edges)
        room = max(1, most_pairs // len(kinds))
        self._caches = {kind: OffsetCache(*kind, templates, templates, room) for kind in kinds}

    def of(self, edge: RoleEdge) -> OffsetCache:
        """Return the cache that judges an edge."""
        return self._caches[edge.window, edge.threshold]

    def recode(self, code: CodeArray) -> None:
        """Follow a change of template codes; -1 is forgotten."""
        for cache in self._caches.values():
            cache.recode(code, code)

    @property
    def look_ups(self) -> LookUps:
        """Counts of all caches."""
        total = LookUps()
        for cache in self._caches.values():
            total = total.plus(cache.look_ups)
        return total


@dataclass(frozen=True, eq=False)
class Search:
    """One query's search in one batch, whose rows are buffered already, from `first_new_seq` on."""

    active: ActiveQuery
    offsets: QueryOffsets
    buffers: RowBuffers
    table: EventTable
    first_new_seq: int
    areas: Areas
    templates: VerifiedTemplates

    @property
    def query(self) -> Query:
        """The query."""
        return self.active.query

    @cached_property
    def rows(self) -> EventColumns:
        """The rows of the table, which positions name."""
        return self.table.columns

    @cached_property
    def order(self) -> RoleOrder:
        """The order of members whose roles are alike."""
        return RoleOrder(self.rows, self.areas)

    def buffer(self, role: int) -> Buffer:
        """Return the buffer of all rows that may play a role."""
        return self.buffers.buffer(self.query.sources[role])

    def new(self, role: int) -> Events:
        """Return the new rows that may play a role."""
        return self.buffers.new[self.query.sources[role]]

    def pairs(
        self, edge: RoleEdge, probing: Events, *, probing_first: bool, earlier_only: bool = True
    ) -> tuple[PositionArray, PositionArray]:
        """Find pairs (first, second) along an edge of `probing` rows; `earlier_only`: with rows that came before."""
        partners = self.buffer(edge.second if probing_first else edge.first)
        bounds = possible_bounds(edge, self.templates, probing_first=probing_first)
        probe = Probe.into(partners, probing, bounds, self.query.sensors, self.active.activation_seq)
        nothing = np.empty(0, np.intp)
        pairs = [(nothing, nothing)]
        for row, at in matching_pairs(probe):
            one, other = probe.events.ref[row], probe.stored.ref[at]
            wanted = other < one if earlier_only else other != one
            one_at, other_at = self.table.positions(one[wanted]), self.table.positions(other[wanted])
            pairs.append(self._qualified(edge, *((one_at, other_at) if probing_first else (other_at, one_at))))
        firsts, seconds = zip(*pairs, strict=True)
        return np.concatenate(firsts), np.concatenate(seconds)

    def _qualified(
        self, edge: RoleEdge, first: PositionArray, second: PositionArray
    ) -> tuple[PositionArray, PositionArray]:
        rows = self.rows
        if edge.is_unordered:
            swap = self.order.goes_before(second, first)
            first, second = np.where(swap, second, first), np.where(swap, first, second)
        offset_us = rows.detected_at_us[second] - rows.detected_at_us[first]
        qualifies = self.offsets.of(edge).contain(rows.template[first], rows.template[second], offset_us)
        return first[qualifies], second[qualifies]
