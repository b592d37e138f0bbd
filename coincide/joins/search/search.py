"""Search: what is at hand when new events look for the tuples that they complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events, SortedEvents
from coincide.joins.pairs.matching import Probe, matching_pairs
from coincide.joins.search.edge_judges import EdgeJudges
from coincide.joins.search.pattern import Pattern, RoleEdge
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork, blocks
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.candidates import RoleBounds
from coincide.joins.tuples.members import PartialColumns
from coincide.joins.tuples.set_order import ABSENT, GoesBefore
from coincide.places.templates_at_places import TemplatesAtPlaces
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.histogram import Histogram

RefTest = Callable[[Int64Array, Int64Array], BoolArray]
"""A test of two events each, by their refs; arrays of shape (n,)."""


@dataclass(frozen=True, eq=False)
class MemberRefs:
    """Members of tuples; all arrays of shape (k, n). `template` is a code of the role's source.

    Where a role is absent, all three are `ABSENT`.
    """

    ref: Int64Array
    template: CodeArray
    detected_at_us: Int64Array

    @classmethod
    def all_of(cls, parts: Sequence[MemberRefs], roles: int) -> MemberRefs:
        """Return the tuples of all parts."""
        if len(parts) == 1:
            return parts[0]
        none = [np.empty((roles, 0), kind) for kind in (np.int64, np.int32, np.int64)]
        if not parts:
            return cls(*none)
        columns = zip(none, *((part.ref, part.template, part.detected_at_us) for part in parts), strict=True)
        return cls(*(np.concatenate(column, axis=1) for column in columns))

    def __len__(self) -> int:
        return int(self.ref.shape[1])

    def take(self, at: BoolArray | PositionArray | slice) -> MemberRefs:
        """Return the given tuples."""
        return MemberRefs(self.ref[:, at], self.template[:, at], self.detected_at_us[:, at])

    def swapped(self) -> MemberRefs:
        """Return the members in the opposite order."""
        return MemberRefs(self.ref[::-1], self.template[::-1], self.detected_at_us[::-1])

    def arranged(self, at: PositionArray) -> MemberRefs:
        """Return tuples whose members are the given positions of these, counted row by row; -1 where one is absent."""
        if self.ref.size == 0:
            return MemberRefs(at.astype(np.int64), at.astype(np.int32), at.astype(np.int64))
        present = at != ABSENT
        columns = (each.ravel()[at] for each in (self.ref, self.template, self.detected_at_us))
        return MemberRefs(*(np.where(present, each, ABSENT) for each in columns))


@dataclass(frozen=True, eq=False)
class EdgePairs:
    """Pairs along an edge: the `rows` of probing events beside the stored ones `at` some positions.

    The probing events are those of the edge's first end if they probe `as_first`.
    """

    edge: RoleEdge
    as_first: bool
    probe: Probe
    rows: PositionArray
    at: PositionArray

    @property
    def refs(self) -> tuple[Int64Array, Int64Array]:
        """The refs of the probing events, and of the stored ones."""
        return self.probe.events.ref[self.rows], self.probe.stored.ref[self.at]

    @property
    def ends(self) -> tuple[EventColumns, EventColumns]:
        """Ref, template and earliest time of the events at the first end of the edge, and at the second."""
        events, stored, rows, at = self.probe.events, self.probe.stored, self.rows, self.at
        probing = (events.ref[rows], events.template[rows], events.detected_at_us[rows])
        partners = (stored.ref[at], stored.template[at], stored.codec.time_us(stored.keys[at]))
        return (probing, partners) if self.as_first else (partners, probing)

    @property
    def sensors(self) -> tuple[CodeArray, CodeArray]:
        """The sensors of the events at the first end of the edge, and at the second."""
        probing, partners = self.probe.events.sensor[self.rows], self.probe.stored.sensor[self.at]
        return (probing, partners) if self.as_first else (partners, probing)

    def where(self, keep: BoolArray) -> EdgePairs:
        """Return the pairs to keep."""
        if keep.all():
            return self
        return replace(self, rows=self.rows[keep], at=self.at[keep])

    def all_partners(self) -> Events:
        """Return the stored events, some of them often."""
        return self.partners(slice(None))

    def partners(self, which: BoolArray | slice) -> Events:
        """Return the stored events of some of the pairs."""
        at = self.at[which]
        stored, codec = self.probe.stored.take(at), self.probe.stored.codec
        return Events(codec.area(stored.keys), codec.time_us(stored.keys), stored.template, stored.sensor, stored.ref)


EventColumns = tuple[Int64Array, CodeArray, Int64Array]
TupleTest = Callable[[MemberRefs], BoolArray]
"""A test of tuples, bool (n,)."""


@dataclass(frozen=True, eq=False)
class MemberSets:
    """Tuples, and the smaller ones that each supersedes, all of whose members are absent where there is none.

    `supersedes` is None where no member may be absent.
    """

    members: MemberRefs
    supersedes: MemberRefs | None = None

    @classmethod
    def all_of(cls, parts: Sequence[MemberSets], roles: int) -> MemberSets:
        """Return the tuples of all parts."""
        smaller = [part.supersedes for part in parts if part.supersedes is not None]
        members = MemberRefs.all_of([part.members for part in parts], roles)
        return cls(members, MemberRefs.all_of(smaller, roles) if smaller else None)

    def take(self, at: PositionArray) -> MemberSets:
        """Return the given tuples."""
        return MemberSets(self.members.take(at), None if self.supersedes is None else self.supersedes.take(at))


class EventBuffers(Protocol):
    """Buffers of events by source, each under its earliest time, and the registries of their templates."""

    @property
    def templates(self) -> Mapping[SourceName, TemplatesInOrder]:
        """The registry of each source; several may share one."""

    def buffer(self, source: SourceName) -> Buffer:
        """Return the buffer of a source."""


@dataclass(frozen=True, eq=False)
class Search:
    """One pattern's search for what new events complete, all of which are buffered already.

    Parameters
    ----------
    new_of : mapping of source to Events
        Sources without new events may be left out.
    since_ref : int
        Events before it do not count.
    goes_first : RefTest
        Whether an event goes before another that was reported at the same time.
    meets_new : bool
        Whether new events may meet each other: then each looks for those that came before it.
    may_meet : RefTest, optional
        Whether two events may be members of one tuple at all.
    work : SearchWork
        Is told what the search does, and may end it.
    explains : TupleTest, optional
        Whether members belong together beyond what the pattern asks. What it says of some it says of each part.
    """

    pattern: Pattern
    judges: EdgeJudges
    buffers: EventBuffers
    new_of: Mapping[SourceName, Events]
    since_ref: int
    goes_first: RefTest
    meets_new: bool
    may_meet: RefTest | None = None
    work: SearchWork = WHATEVER_IT_TAKES
    explains: TupleTest | None = None

    def buffer(self, role: int) -> Buffer:
        """Return the buffer of all events that may play a role."""
        return self.buffers.buffer(self.pattern.sources[role])

    def new(self, role: int) -> Events:
        """Return the new events that may play a role, sorted."""
        return self._new[self.pattern.sources[role]]

    @cached_property
    def _new(self) -> dict[SourceName, Events]:
        return {source: self.new_of.get(source, NO_EVENTS) for source in self.pattern.sources}

    @cached_property
    def first_new_ref(self) -> int:
        """The least ref of a new event that may play any role."""
        return min(int(events.ref.min()) for events in self._new.values() if len(events))

    @cached_property
    def bounds(self) -> RoleBounds:
        """How far members may lie from each other; what is left to judge is judged in blocks if work is bounded."""
        return self.judges.bounds_for(self.work)

    def pairs_along(
        self, edge: RoleEdge, probing: Events, *, as_first: bool, earlier_only: bool
    ) -> Iterator[EdgePairs]:
        """Yield blocks of pairs along an edge, of events of one end with partners at the other.

        `earlier_only` asks for partners that came before.
        """
        ends = (edge.first, edge.second) if as_first else (edge.second, edge.first)
        partners, bounds = self.buffer(ends[1]), self.bounds.edges[ends]
        arguments = partners, probing, bounds, self.pattern.sensors, self.since_ref
        probe = Probe.into(*arguments, earlier_only=earlier_only and self.meets_new)
        for rows, at in matching_pairs(probe):
            pairs = EdgePairs(edge, as_first, probe, rows, at)
            if not earlier_only:
                one, other = pairs.refs
                pairs = pairs.where((one != other) & (other <= self._last_new_ref))
            if self.may_meet is not None:
                pairs = pairs.where(self.may_meet(*pairs.refs))
            yield pairs

    def members_of(self, pairs: EdgePairs) -> MemberRefs:
        """Return pairs as tuples of two, the member at the first end of the edge before the other."""
        ends = []
        for role, events in zip((pairs.edge.first, pairs.edge.second), pairs.ends, strict=True):
            ends.append((*events[:2], events[2] - self._earliest_us(role)[events[1]]))
        return MemberRefs(*(np.array(column) for column in zip(*ends, strict=True)))

    def members(self, stored: Sequence[SortedEvents], at: Mapping[int, PositionArray]) -> MemberRefs:
        """Return the members of tuples, given the events of each role and the positions of the members."""
        columns = []
        for role, events in enumerate(stored):
            template, time_us = events.template[at[role]], events.codec.time_us(events.keys[at[role]])
            columns.append((events.ref[at[role]], template, time_us - self._earliest_us(role)[template]))
        return MemberRefs(*(np.array(column) for column in zip(*columns, strict=True)))

    def goes_before(self, members: MemberRefs) -> GoesBefore:
        """Return the order of members by (detected_at, sensor, id); they are positions, counted row by row."""
        ref, time_us = members.ref.ravel(), members.detected_at_us.ravel()

        def order(one: PositionArray, other: PositionArray) -> BoolArray:
            before: BoolArray = time_us[one] < time_us[other]
            ties = np.flatnonzero(time_us[one] == time_us[other])
            if len(ties):
                before[ties] = self.goes_first(ref[one[ties]], ref[other[ties]])
            return before

        return order

    @property
    def judges_tuples(self) -> bool:
        """Whether more is asked of a tuple than that every edge holds."""
        return self.pattern.joint_threshold is not None or self.explains is not None

    def holds(self, members: MemberRefs) -> BoolArray:
        """Whether each tuple reaches the joint threshold and is explained, where that is asked; bool (n,)."""
        threshold = self.pattern.joint_threshold
        holds = np.ones(len(members), np.bool_) if threshold is None else self._at_least_jointly(members, threshold)
        if self.explains is not None and holds.any():
            holds[holds] = self.explains(members.take(holds))
        return holds

    def _at_least_jointly(self, members: MemberRefs, threshold: float) -> BoolArray:
        if not self.work.is_bounded:
            return columns_of(self.pattern, self.buffers.templates, members).at_least(threshold)
        reaches = np.empty(len(members), np.bool_)
        on_clocks = any(self.buffers.templates[source].has_clocks for source in self.pattern.sources)
        at_once = judged_at_once(self.pattern.graph, on_clocks=on_clocks)
        for part in blocks(len(members), at_once, self.work.check):
            some = members.take(part)
            reaches[part] = columns_of(self.pattern, self.buffers.templates, some).at_least(threshold)
        return reaches

    @cached_property
    def _last_new_ref(self) -> int:
        return max(int(events.ref.max()) for events in self._new.values() if len(events))

    def _earliest_us(self, role: int) -> Int64Array:
        return self.buffers.templates[self.pattern.sources[role]].earliest_us


def columns_of(
    pattern: Pattern, templates: Mapping[SourceName, TemplatesInOrder], members: MemberRefs
) -> PartialColumns:
    """Return tuples with what their probability depends on; `templates` are the registries by source."""
    registries = [templates[source] for source in pattern.sources]
    distinct = list({id(each): each for each in registries}.values())  # several sources may share one
    firsts = np.cumsum([0, *map(len, distinct)])[:-1]  # numbers the templates of all registries through
    first_of = dict(zip(map(id, distinct), firsts.tolist(), strict=True))
    of_role = np.array([first_of[id(registry)] for registry in registries])[:, None]
    present = members.ref != ABSENT
    used, at = np.unique(np.where(present, members.template + of_role, ABSENT), return_inverse=True)
    home = np.searchsorted(firsts, used, side="right") - 1
    named = [
        NOBODY if code == ABSENT else distinct[nth].histogram(code - int(firsts[nth]))
        for code, nth in zip(used.tolist(), home.tolist(), strict=True)
    ]
    widths_ms = _half_widths_ms(pattern.graph, registries, members.template) if pattern.graph.is_by_distance else None
    return PartialColumns(pattern.graph, named, present, at.reshape(present.shape), members.detected_at_us, widths_ms)


def _half_widths_ms(graph: ConstraintGraph, registries: Sequence[TemplatesInOrder], template: CodeArray) -> Int64Array:
    """Return half of the window of each edge by distance between members of each tuple, (edges, n); else 0."""
    widths_ms = np.zeros((len(graph.edges), template.shape[1]), np.int64)
    for nth, edge in enumerate(graph.edges):
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        us, vs, present = registries[a], registries[b], (template[a] != ABSENT) & (template[b] != ABSENT)
        if edge.by_distance is not None and isinstance(us, TemplatesAtPlaces) and isinstance(vs, TemplatesAtPlaces):
            ends = template[a][present], template[b][present]
            widths_ms[nth, present] = us.half_width_ms(*ends, vs, edge.by_distance)
    return widths_ms


def judged_at_once(graph: ConstraintGraph, *, on_clocks: bool) -> int:
    """Return how many tuples can be judged all together within about a second; `on_clocks` if they may share clocks."""
    if on_clocks and len(graph.roles) > 2:
        return ON_CLOCKS_AT_ONCE
    is_quick = len(graph.roles) == 2 or graph.uniform_window is not None
    return 8_192 // len(graph.roles) if is_quick else 128


ON_CLOCKS_AT_ONCE = 16  # an integral over the offset of a clock takes up to some 50 ms

NOBODY = Histogram.point()  # stands for the template of a member that is absent
_NO_CODES, _NO_NUMBERS = np.empty(0, np.int32), np.empty(0, np.int64)
NO_EVENTS = Events(_NO_CODES, _NO_NUMBERS, _NO_CODES, _NO_CODES, _NO_NUMBERS)
