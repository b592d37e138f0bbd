"""Tuples that match, those alike together, and what is said of them: one entry for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from msgspec import UNSET, UnsetType

from coincide import ConstraintGraph, Window
from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array, PositionArray
from coincide.constraints.graph import induced
from coincide.constraints.window import is_within_for_certain
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.set_order import ABSENT
from coincide.offsets.distance_offsets import MICROSECONDS_PER_MS
from coincide.places.place_registry import PlaceRegistry
from coincide.probability import ClockOffset, OccurrenceColumns, match_probabilities
from coincide.probability.difference import probabilities_within
from coincide.queries import Query
from coincide.templates.template_columns import TemplatePairs
from coincide.wire.results.match_record import ClockRecord, EdgeRecord, JointRecord, OccurrenceRecord, Unknown


@dataclass(frozen=True)
class MatchTuples:
    """Tuples that one query found in a batch, intp (n, roles); where a role has no member it is `ABSENT`."""

    members: PositionArray
    supersedes: PositionArray | None = None  # the tuple that each one enlarges, if there is one

    @classmethod
    def none(cls, roles: int) -> MatchTuples:
        """Return no tuples."""
        return cls(np.empty((0, roles), np.intp))

    def in_order(self) -> MatchTuples:
        """Sort by the arrival of the last member, then of the one before it and so on, then by role."""
        if len(self.members) < 2:
            return self
        by_arrival = np.sort(self.members, axis=1)[:, ::-1]
        order = np.lexsort([*self.members.T[::-1], *by_arrival.T[::-1]])  # its last key is the first to count
        supersedes = None if self.supersedes is None else self.supersedes[order]
        return MatchTuples(self.members[order], supersedes)

    @property
    def are_standing(self) -> BoolArray:
        """Which tuples none of the others supersedes, (n,)."""
        if self.supersedes is None or not len(self.members):
            return np.ones(len(self.members), np.bool_)
        _, nth = np.unique(np.concatenate((self.members, self.supersedes)), axis=0, return_inverse=True)
        mine, smaller = np.split(nth.ravel(), 2)
        return ~np.isin(mine, smaller)

    def take(self, keep: BoolArray | slice) -> MatchTuples:
        """Return the tuples for which `keep` is true, or of a slice."""
        return MatchTuples(self.members[keep], None if self.supersedes is None else self.supersedes[keep])

    @classmethod
    def joined(cls, parts: Sequence[MatchTuples], roles: int) -> MatchTuples:
        """Return the tuples of all parts, one after the other; all or none of them supersede."""
        if len(parts) == 1:
            return parts[0]
        supersedes = [part.supersedes for part in parts if part.supersedes is not None]
        members = np.concatenate([cls.none(roles).members, *(part.members for part in parts)])
        return cls(members, np.concatenate(supersedes) if supersedes else None)


_induced = lru_cache(maxsize=1024)(induced)
_at_widths = lru_cache(maxsize=1024)(ConstraintGraph.at_widths)


@dataclass(frozen=True, eq=False)
class AlikeTuples:
    """Tuples with the same constraint graph between present members; in a uniform clique its roles stand for any."""

    at: PositionArray  # which of the tuples in question they are
    graph: ConstraintGraph
    roles: PositionArray  # the role of each member, (n, m)
    columns: MemberColumns
    half_width_ms: Int64Array | None = None  # of each tuple's own windows by distance, (edges, n)

    def positions(self, members: PositionArray) -> PositionArray:
        """Return the rows of the present members, (m, n), of all the tuples in question."""
        rows: PositionArray = np.take_along_axis(members[self.at], self.roles, axis=1).T
        return rows

    def edge_probabilities(self) -> FloatArray:
        """Return how probable it is that each edge's window holds, (n, edges)."""
        if self.half_width_ms is None:
            return self.columns.edge_probabilities(self.graph)
        probability = np.empty((len(self.at), len(self.graph.edges)))
        for nth, (edge, widths_ms) in enumerate(zip(self.graph.edges, self.half_width_ms, strict=True)):
            known, index, at_us = self.columns.templates, self.columns.template_index, self.columns.detected_at_us
            a, b = self.graph.roles.index(edge.a), self.graph.roles.index(edge.b)
            pairs, apart_us = TemplatePairs(known[a], known[b], index[a], index[b]), at_us[b] - at_us[a]
            if edge.by_distance is None:
                ends = pairs.us, pairs.vs, pairs.u_index, pairs.v_index
                probability[:, nth] = match_probabilities(*ends, apart_us, edge.window)
            else:
                probability[:, nth] = probabilities_within(pairs, apart_us, widths_ms / 1000)
        return probability


def alike_tuples(
    query: Query,
    members: PositionArray,
    rows: EventColumns,
    templates: VerifiedTemplates,
    places: PlaceRegistry,
    *,
    part_by_width: bool = True,
) -> Iterator[AlikeTuples]:
    """Part tuples, (n, roles), by their constraint graph: the fewer parts, the faster they are judged.

    Windows by distance are those between the places of the members; or they do not part tuples, and each has its own.
    """
    is_present = members != ABSENT
    is_uniform = query.graph.uniform_window is not None
    alike = is_present.sum(axis=1)[:, None] if is_uniform else is_present.astype(np.int64)
    widths_ms = half_widths_ms(query.graph, members, rows, places) if query.graph.is_by_distance else None
    if widths_ms is not None and part_by_width:
        alike = np.concatenate((alike, widths_ms), axis=1)
    kinds, kind = np.unique(alike, axis=0, return_inverse=True)
    for nth in range(len(kinds)):
        at = np.flatnonzero(kind.ravel() == nth)
        present = is_present[at]
        roles = np.nonzero(present)[1].reshape(len(at), -1)
        named = range(roles.shape[1]) if is_uniform else roles[0].tolist()
        graph, names = query.graph, tuple(query.roles[role][0] for role in named)
        own_ms = None
        if widths_ms is not None and part_by_width:
            graph = _at_widths(graph, tuple(widths_ms[at[0]].tolist()))
        elif widths_ms is not None:
            between = [number for number, edge in enumerate(graph.edges) if edge.pair <= set(names)]
            own_ms = widths_ms[at][:, between].T
        columns = _columns_of(members[at][present].reshape(roles.shape), rows, templates)
        yield AlikeTuples(at, _induced(graph, names), roles, columns, own_ms)


def thresholded(
    query: Query, members: PositionArray, rows: EventColumns, templates: VerifiedTemplates, places: PlaceRegistry
) -> FloatArray:
    """Return of each tuple the probability that the query has a threshold for, (n,)."""
    probability = np.empty(len(members))
    for alike in alike_tuples(query, members, rows, templates, places):
        if query.joint_threshold is not None:
            probability[alike.at] = alike.columns.joint(alike.graph, query.joint_threshold).value
        else:
            probability[alike.at] = alike.columns.edge_probabilities(alike.graph).min(axis=1)
    return probability


def half_widths_ms(
    graph: ConstraintGraph, members: PositionArray, rows: EventColumns, places: PlaceRegistry
) -> Int64Array:
    """Return half of the window of each edge by distance between members of each tuple, (n, edges); else 0."""
    widths_ms = np.zeros((len(members), len(graph.edges)), np.int64)
    for nth, edge in enumerate(graph.edges):
        a, b = (members[:, graph.roles.index(role)] for role in (edge.a, edge.b))
        present = (a != ABSENT) & (b != ABSENT)
        if edge.by_distance is not None:
            ends = rows.place[a[present]], rows.place[b[present]]
            widths_ms[present, nth] = edge.by_distance.half_width_ms(places.distance_m(*ends, places))
    return widths_ms


def _columns_of(members: PositionArray, rows: EventColumns, templates: VerifiedTemplates) -> MemberColumns:
    named, index = templates.among(rows.template[members].ravel())
    return MemberColumns([named] * members.shape[1], index.reshape(members.shape).T, rows.detected_at_us[members].T)


DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed in the same batch
NANOSECOND_DECIMALS = 9
MICROSECOND_DECIMALS = 6


@dataclass(frozen=True)
class Verdicts:
    """One entry for each tuple."""

    probability: list[float]
    occurred: list[OccurrenceRecord | None]
    chance_rate_hz: list[float | None]
    chance_rate_error_hz: list[float | UnsetType]
    edges: list[list[EdgeRecord]]
    unknown: list[Unknown | UnsetType]  # why one of the others is None
    joint: list[JointRecord] = field(default_factory=list)  # none for pairs

    def take(self, at: slice) -> Verdicts:
        """Return those of a slice."""
        return Verdicts(*(column[at] for column in vars(self).values()))


def hold_for_certain(
    window: Window, positions: PositionArray, rows: EventColumns, templates: VerifiedTemplates
) -> BoolArray:
    """Whether every possible pair of times lies in the window, for rows at positions of shape (2, n)."""
    return is_within_for_certain(window, *_possible_us(positions, rows, templates))


def hold_for_certain_within(
    half_width_ms: Int64Array, positions: PositionArray, rows: EventColumns, templates: VerifiedTemplates
) -> BoolArray:
    """`hold_for_certain` where each pair of rows has its own symmetric window, half of which is given."""
    earliest_us, latest_us = _possible_us(positions, rows, templates)
    half_width_us = half_width_ms * MICROSECONDS_PER_MS
    return (-half_width_us <= earliest_us) & (latest_us <= half_width_us)


def _possible_us(
    positions: PositionArray, rows: EventColumns, templates: VerifiedTemplates
) -> tuple[Int64Array, Int64Array]:
    """Return the least and the greatest difference of each two rows' times."""
    a, b = rows.template[positions]
    apart_us = rows.detected_at_us[positions[1]] - rows.detected_at_us[positions[0]]
    earliest_us: Int64Array = apart_us + templates.earliest_us[b] - templates.latest_us[a]
    latest_us: Int64Array = apart_us + templates.latest_us[b] - templates.earliest_us[a]
    return earliest_us, latest_us


def as_recorded(when: OccurrenceColumns) -> list[OccurrenceRecord]:
    """Return when each match occurred as its record says it."""
    std_s = when.std_s.round(NANOSECOND_DECIMALS)
    columns = (column.tolist() for column in (when.mean_us, std_s, when.p05_us, when.p95_us))
    return [OccurrenceRecord(*fields) for fields in zip(*columns, map(_clocks_as_recorded, when.clocks), strict=True)]


def _clocks_as_recorded(clocks: Sequence[ClockOffset]) -> list[ClockRecord] | UnsetType:
    return [_clock_as_recorded(each) for each in clocks] or UNSET


def _clock_as_recorded(told: ClockOffset) -> ClockRecord:
    in_s = (told.mean_s, told.std_s, told.p05_s, told.p95_s)
    return ClockRecord(told.clock, *(round(each, MICROSECOND_DECIMALS) for each in in_s))
