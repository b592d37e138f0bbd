"""Search: what is at hand when the new rows of a batch look for the matches that they complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays import PositionArray
from coincide.events import Events, SortedEvents
from coincide.query import Query
from coincide.timing_join.matching import Probe, matching_pairs
from spark_jobs.areas import Areas
from spark_jobs.control import ActiveQuery
from spark_jobs.edge_bounds import possible_bounds
from spark_jobs.events import EventColumns, EventTable
from spark_jobs.query_offsets import QueryOffsets
from spark_jobs.role_edges import RoleEdge
from spark_jobs.role_order import RoleOrder
from spark_jobs.row_buffers import RowBuffers
from spark_jobs.templates import Templates


@dataclass(frozen=True, eq=False)
class Search:
    """One query's search in one batch.

    Attributes
    ----------
    active : ActiveQuery
    offsets : QueryOffsets
        The query's edges and what is known of template pairs.
    buffers : RowBuffers
        The new rows are in them already.
    first_new_seq : int
        Sequence number of the first new row.
    """

    active: ActiveQuery
    offsets: QueryOffsets
    buffers: RowBuffers
    table: EventTable
    first_new_seq: int
    stream_codes: Mapping[str, int]
    areas: Areas
    templates: Templates

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

    def stream(self, role: int) -> int:
        """Return the code of a role's stream."""
        return self.stream_codes[self.query.streams[role]]

    def stored(self, role: int) -> SortedEvents:
        """Return all rows that may play a role."""
        return self.buffers.view(self.stream(role), self.query.equal)

    def new(self, role: int) -> Events:
        """Return the new rows that may play a role."""
        return self.buffers.new(self.stream(role), self.query.equal)

    def pairs(
        self, edge: RoleEdge, probing: Events, *, probing_first: bool, earlier_only: bool = True
    ) -> tuple[PositionArray, PositionArray]:
        """Find pairs along an edge, as positions of its first role's member and of its second's.

        Parameters
        ----------
        edge : RoleEdge
        probing : Events
            Rows that look for partners.
        probing_first : bool
            Whether they play the edge's first role.
        earlier_only : bool
            Only partners that arrived before them.
        """
        probe = Probe(
            events=probing,
            stored=self.stored(edge.second if probing_first else edge.first),
            bounds=possible_bounds(edge, self.templates, probing_first=probing_first),
            sensors=self.query.sensors,
            since_ref=self.active.activation_seq,
        )
        nothing = np.empty(0, np.intp)
        found = [(nothing, nothing)]
        for row, at in matching_pairs(probe):
            one, other = probe.events.ref[row], probe.stored.ref[at]
            wanted = other < one if earlier_only else other != one
            one_at, other_at = self.table.positions(one[wanted]), self.table.positions(other[wanted])
            found.append(self._qualified(edge, *((one_at, other_at) if probing_first else (other_at, one_at))))
        firsts, seconds = zip(*found, strict=True)
        return np.concatenate(firsts), np.concatenate(seconds)

    def _qualified(
        self, edge: RoleEdge, first: PositionArray, second: PositionArray
    ) -> tuple[PositionArray, PositionArray]:
        rows = self.rows
        if edge.is_unordered:
            first, second = self.order.ordered(first, second)
        offset_us = rows.detected_at_us[second] - rows.detected_at_us[first]
        qualifies = self.offsets.of(edge).contain(rows.template[first], rows.template[second], offset_us)
        return first[qualifies], second[qualifies]
