"""Candidates of tuples: which sorted events of each role can be a member at all, and where the others find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.constraints.graph import UNBOUNDED_US, ConstraintGraph, implied_bounds
from coincide.joins.events import SortedEvents
from coincide.joins.keys import Search, search_in
from coincide.joins.probe_bounds import ProbeBounds


@dataclass(frozen=True, eq=False)
class RoleEvents:
    """Some rows of a stream's sorted events, in their order: a stretch from `first` on, or the `chosen` positions."""

    stored: SortedEvents
    first: int = 0
    chosen: PositionArray | None = None

    def __len__(self) -> int:
        return len(self.stored)

    @cached_property
    def area(self) -> CodeArray:
        """Area codes, int32 (n,)."""
        return self.stored.codec.area(self.stored.keys)

    @cached_property
    def time_us(self) -> Int64Array:
        """Reported times, int64 (n,)."""
        return self.stored.codec.time_us(self.stored.keys)

    def rows(self, first: int, last: int) -> RoleEvents:
        """Return rows first : last of these, not copied."""
        chosen = None if self.chosen is None else self.chosen[first:last]
        return RoleEvents(self.stored.rows(first, last), self.first + first, chosen)

    def take(self, rows: PositionArray) -> RoleEvents:
        """Return the given rows, which rise."""
        return RoleEvents(self.stored.take(rows), chosen=self.positions(rows))

    def positions(self, rows: PositionArray) -> PositionArray:
        """Return the positions of some of these rows in the stream."""
        return rows + self.first if self.chosen is None else self.chosen[rows]

    def row_at(self, positions: PositionArray) -> PositionArray:
        """Return the first of these rows at or after each position in the stream."""
        return positions - self.first if self.chosen is None else np.searchsorted(self.chosen, positions)

    def within(self, area: CodeArray, from_us: Int64Array, to_us: Int64Array) -> tuple[PositionArray, PositionArray]:
        """Find the rows start : stop of each area reported in a closed range of time; all arrays of shape (n,)."""
        lower, upper = (self.stored.codec.encode_bound(area, time_us) for time_us in (from_us, to_us))
        search = self._search(len(lower))
        return search(lower, "left"), search(upper, "right")

    def _search(self, bounds: int) -> Search:
        if 2 * bounds < len(self):
            return lambda sought, side: np.searchsorted(self.stored.keys, sought, side)
        return self._grid

    @cached_property
    def _grid(self) -> Search:
        return search_in(self.stored.keys, len(self))


RowRanges = tuple[PositionArray, PositionArray]  # rows start : stop


class LookUp:
    """Where each event of one role finds its candidates of another; it looks all up at once when that is less work."""

    def __init__(self, events: RoleEvents, others: RoleEvents, lo_us: Int64Array, hi_us: Int64Array) -> None:
        self._events, self._others, self._lo_us, self._hi_us = events, others, lo_us, hi_us
        self._all: RowRanges | None = None
        self._looked_up = 0

    def ranges(self, rows: PositionArray) -> RowRanges:
        """Rows start : stop of the other role for each of these rows."""
        self._looked_up += len(rows)
        if self._all is None and self._looked_up < len(self._events):
            return self._ranges_of(rows)
        start, stop = self.all_ranges()
        return start.take(rows), stop.take(rows)

    def all_ranges(self) -> RowRanges:
        """Return `ranges` of all events."""
        if self._all is None:
            self._all = self._ranges_of(slice(None))
        return self._all

    def _ranges_of(self, rows: PositionArray | slice) -> RowRanges:
        events = self._events
        lo_us, hi_us = self._lo_us, self._hi_us
        if len(lo_us) > 1:
            template = events.stored.template[rows]
            lo_us, hi_us = lo_us[template], hi_us[template]
        time_us = events.time_us[rows]
        return self._others.within(events.area[rows], time_us + lo_us, time_us + hi_us)


@dataclass(frozen=True, eq=False)
class RoleBounds:
    """Bounds of reported time between every two roles: of their own edge, and implied by all others.

    `edges` has both ways of each edge, (probing role, other role). `implied_us`, shape (k, k), is the greatest reported
    t_j - t_i by the offset hulls of the templates in hand (see `implied_bounds`): windows alone would be too narrow
    where templates are wide.
    """

    edges: dict[tuple[int, int], ProbeBounds]
    implied_us: Int64Array

    @classmethod
    def of(cls, graph: ConstraintGraph, of_edges: Sequence[tuple[ProbeBounds, ProbeBounds]]) -> RoleBounds:
        """Combine the bounds of all edges: of each those for events of its a, and those for events of its b."""
        edges = {}
        for edge, (as_a, as_b) in zip(graph.edges, of_edges, strict=True):
            a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
            edges[a, b], edges[b, a] = as_a, as_b
        hulls = np.clip([as_a.outer_us for as_a, _ in of_edges], -UNBOUNDED_US, UNBOUNDED_US)
        return cls(edges, implied_bounds(graph.upper_us((lo, hi) for lo, hi in hulls.tolist())))

    @cached_property
    def is_empty(self) -> bool:
        """Whether no events at all can satisfy every edge."""
        return bool((np.diagonal(self.implied_us) < 0).any()) or any(
            edge.outer_us[0] > edge.outer_us[1] for edge in self.edges.values()
        )

    def span_us(self, probing: int, other: int) -> tuple[int, int]:
        """Return the closed range of other minus probing time, whatever the templates."""
        return -int(self.implied_us[other, probing]), int(self.implied_us[probing, other])

    def reach_us(self, probing: Sequence[int], others: Sequence[int]) -> tuple[Int64Array, Int64Array]:
        """Return a range of times, shape (1,) each, that has `span_us` of all these roles in it, and no time apart."""
        spans = [self.span_us(one, other) for one in probing for other in others] + [(0, 0)]
        lo_us, hi_us = np.array(spans).T
        return lo_us.min(keepdims=True), hi_us.max(keepdims=True)

    def range_us(self, probing: int, other: int) -> tuple[Int64Array, Int64Array]:
        """Return the closed range of other minus probing time by probing template, or one for all."""
        lo_us, hi_us = self.span_us(probing, other)
        edge = self.edges.get((probing, other))
        if edge is None:
            return np.array([lo_us]), np.array([hi_us])
        return np.maximum(edge.outer_lo_us, lo_us), np.minimum(edge.outer_hi_us, hi_us)

    def test(self, role: int, other: int) -> ProbeBounds | None:
        """Return what is left to ask of two events in each other's bounds, probing with `role`; None if nothing."""
        edge = self.edges.get((role, other))
        return None if edge is None or edge.is_sharp else edge


def reduced(roles: Sequence[RoleEvents], bounds: RoleBounds, root: int) -> list[RoleEvents]:
    """Keep the events that have partners all along a tree of edges from the root: semi-joins up, then down.

    This is the full reducer of Yannakakis (Algorithms for Acyclic Database Schemes, 1981). Where the graph is a tree
    and ranges are sharp, every event that stays is a member of some tuple: no partial tuple is written in vain.
    """
    parents = parents_of(bounds, root, len(roles))
    alive = [np.ones(len(role), np.bool_) for role in roles]
    for role, parent in reversed(parents.items()):
        alive[parent] &= _meets(roles, bounds, parent, role, alive[role])
    for role, parent in parents.items():
        alive[role] &= _meets(roles, bounds, role, parent, alive[parent])
    return [role if stays.all() else role.take(np.flatnonzero(stays)) for role, stays in zip(roles, alive, strict=True)]


def parents_of(bounds: RoleBounds, root: int, roles: int) -> dict[int, int]:
    """Return the neighbour of each other role on its way to the root along edges, nearest to the root first."""
    parents, waiting = {}, [root]
    for parent in waiting:
        for role in range(roles):
            if (parent, role) in bounds.edges and role != root and role not in parents:
                parents[role] = parent
                waiting.append(role)
    return parents


def _meets(roles: Sequence[RoleEvents], bounds: RoleBounds, role: int, other: int, alive: BoolArray) -> BoolArray:
    """Whether each event of a role has one that is alive in its range of another."""
    start, stop = LookUp(roles[role], roles[other], *bounds.range_us(role, other)).all_ranges()
    before = np.concatenate(([0], np.cumsum(alive)))
    meets: BoolArray = before[np.maximum(stop, start)] > before[start]
    return meets
