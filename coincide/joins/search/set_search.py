"""Set search: the largest sets of at least so many members, worked out anew from the buffered events at every batch.

A set is a match when its last member arrives. It enlarges the set of all its other members if that one was maximal
until then. Events that fit its members and arrived before decide whether it was. So every search finds the pairs of the
new events, and all pairs of the events that these match; `coincide.joins.tuples.maximal_sets` does the rest. Where some
roles are required, new events meet others by way of required members alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.constraints.conditions import allowed
from coincide.joins.events import Events
from coincide.joins.progress import Progress
from coincide.joins.search.pattern import RoleEdge
from coincide.joins.search.search import NO_EVENTS, EdgePairs, MemberRefs, MemberSets, Search
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.event_pairs import EventKinds
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.joins.tuples.set_order import ABSENT, GoesBefore, absent_last, as_told, in_group_order
from coincide.joins.tuples.set_plan import SetPlan


def find_sets(search: Search) -> Iterator[MemberSets]:
    """Find the largest sets that the new events complete, and what they supersede, in blocks.

    Raises
    ------
    CandidateLimitError
        One event has more candidates than allowed.
    """
    nodes = _Nodes.of(search, _CompatiblePairs(search).of_new())
    if not search.pattern.interchange.symmetries:
        yield from _growths(search, nodes)
        return
    sets = MemberSets.all_of(list(_growths(search, nodes)), len(search.pattern.sources))
    yield sets.take(_first_of_each(sets.members))


def _growths(search: Search, nodes: _Nodes) -> Iterator[MemberSets]:
    for sets, enlarges in nodes.compatible().growths(search.first_new_ref, nodes.plan.fewest):
        search.work.hold(len(sets))
        told = nodes.as_told(sets)
        smaller = np.full_like(told, ABSENT)
        smaller[:, enlarges] = nodes.as_told(sets[enlarges, 1:])
        yield MemberSets(nodes.table.arranged(told), nodes.table.arranged(smaller))


PAIRED = 0.3  # share of the work until all pairs are found, more or less


def find_all_sets(search: Search, progress: Progress) -> MemberRefs:
    """Find the largest sets of all events, which are all new; `progress` is told the share that is done.

    Raises
    ------
    CandidateLimitError
        One event has more candidates than allowed.
    """
    nodes = _Nodes.of(search, _CompatiblePairs(search).of_new())
    progress(PAIRED)
    tell = partial(_tell_after_pairs, progress)
    sets = list(nodes.compatible().maximal(0, nodes.plan.fewest, tell))
    smaller = {tuple(each) for larger in sets for each in larger[:, 1:].tolist()}
    final = [each[[(*others, last) not in smaller for last, *others in each.tolist()]] for each in sets]
    told = nodes.table.arranged(np.concatenate([nodes.nobody, *map(nodes.as_told, final)], axis=1))
    return told.take(_first_of_each(told)) if search.pattern.interchange.symmetries else told


def _tell_after_pairs(progress: Progress, share: float) -> None:
    progress(PAIRED + (1 - PAIRED) * share)


def plan_of(search: Search) -> SetPlan:
    """Return how sets are searched, of a pattern whose members may be absent."""
    plan = search.pattern.plan
    if plan is None:
        raise ValueError("no member of the pattern may be absent")
    return plan


def _first_of_each(told: MemberRefs) -> PositionArray:
    """Return one of all sets that differ by swaps of roles, which are told alike."""
    return np.unique(told.ref, axis=1, return_index=True)[1]


@dataclass(frozen=True, eq=False)
class _CompatiblePairs:
    """Finds which events are compatible pairwise, as far as one search must know."""

    search: Search

    def of_new(self) -> list[Link]:
        """Return the pairs of new events with earlier ones, and all pairs of those; some come often."""
        if self._plan.any_required:
            return list(self._of_met())
        new = [(groups, met) for groups, edge in self._edges.items() for met in self._along(edge)]
        old = self._old_partners([met for _, met in new])
        return new + [(groups, met) for groups, edge in self._edges.items() for met in self._along(edge, old)]

    @property
    def _plan(self) -> SetPlan:
        return plan_of(self.search)

    def _of_met(self) -> Iterator[Link]:
        """Yield the pairs of new events, and of the events that these meet by way of required members."""
        met: list[list[Events]] = [[] for _ in self._plan.kinds]
        for first, group in enumerate(self._plan.kinds):
            new = self._near_required(first, self.search.new(group[0]))
            for other in np.flatnonzero(self._plan.tied[first]).tolist():
                yield from self._beside(first, other, new)
            placed = [(first, new)]
            for place, kind in self._plan.reaching(first):
                near, events = placed[place]
                beside = [pairs.all_partners() for _, pairs in self._beside(near, kind, events)]
                placed.append((kind, _distinct(beside)))
                met[kind].append(placed[-1][1])
        for kind, parts in enumerate(met):
            for other in range(len(met)):
                if self._plan.is_probed(kind, other):
                    yield from self._beside(kind, other, _distinct(parts))

    def _near_required(self, kind: int, events: Events) -> Events:
        """Return the events of a kind that have a partner of each required kind tied to it: others end no set."""
        for other in np.flatnonzero(self._plan.tied[kind] & (np.array(self._plan.needed) > 0)).tolist():
            rows = [pairs.rows for _, pairs in self._beside(kind, other, events)]
            events = events.take(np.unique(np.concatenate([np.empty(0, np.intp), *rows])))
        return events

    def _beside(self, kind: int, other: int, events: Events) -> Iterator[Link]:
        """Find the pairs of sorted events of a kind with all partners of another."""
        groups = (kind, other) if (kind, other) in self._edges else (other, kind)
        as_first = groups[0] == kind
        if len(events):
            for pairs in self.search.pairs_along(self._edges[groups], events, as_first=as_first, earlier_only=False):
                self.search.work.hold(len(pairs.rows))
                yield groups, pairs

    @cached_property
    def _edges(self) -> dict[tuple[int, int], RoleEdge]:
        """One edge for every two groups, and for every two members of one group."""
        pattern = self.search.pattern
        group_of = {role: nth for nth, group in enumerate(pattern.interchange.groups) for role in group}
        edges: dict[tuple[int, int], RoleEdge] = {}
        for edge in pattern.edges:
            groups = group_of[edge.first], group_of[edge.second]
            if groups[::-1] not in edges:
                edges[groups] = edge
        return edges

    def _along(self, edge: RoleEdge, old: Mapping[SourceName, Events] | None = None) -> Iterator[EdgePairs]:
        """Find pairs along an edge: of the new events with earlier ones, or of old events with all."""
        search = self.search
        for role, as_first in ((edge.first, True), (edge.second, False)):
            if edge.is_unordered and not as_first:
                break  # one orientation finds every pair
            probing = search.new(role) if old is None else old.get(search.pattern.sources[role], NO_EVENTS)
            if len(probing):
                for pairs in search.pairs_along(edge, probing, as_first=as_first, earlier_only=old is None):
                    search.work.hold(len(pairs.rows))
                    yield pairs

    def _old_partners(self, pairs_of_edges: Sequence[EdgePairs]) -> dict[SourceName, Events]:
        """Return the partners that are no new events, of new ones with enough partners for a set; by source."""
        first_new, least = self.search.first_new_ref, max(2, self._plan.fewest - 1)
        partners = _Counts.of([refs for met in pairs_of_edges for refs in met.refs], first_new)
        by_source: dict[SourceName, list[Events]] = {}
        for met in pairs_of_edges:
            new, stored = met.refs
            source = self.search.pattern.sources[met.edge.second if met.as_first else met.edge.first]
            old = met.partners((stored < first_new) & (partners.of_each(new) >= least))
            by_source.setdefault(source, []).append(old)
        return {source: _distinct(parts) for source, parts in by_source.items()}


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each new ref stands among some."""

    first: int
    counts: PositionArray

    @classmethod
    def of(cls, refs: Sequence[Int64Array], first: int) -> _Counts:
        all_of = np.concatenate([np.empty(0, np.int64), *refs]) - first
        return cls(first, np.bincount(all_of[all_of >= 0]))

    def of_each(self, refs: Int64Array) -> PositionArray:
        return self.counts[refs - self.first]


Link = tuple[tuple[int, int], EdgePairs]  # the groups of the two ends of an edge, and pairs along it


def _distinct(parts: Sequence[Events]) -> Events:
    """Return every event once, sorted."""
    if not parts:
        return NO_EVENTS
    columns = ((each.area, each.detected_at_us, each.template, each.sensor, each.ref) for each in parts)
    events = Events(*map(np.concatenate, zip(*columns, strict=True)))
    return events.take(np.unique(events.ref, return_index=True)[1]).sorted()


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Events in a group of interchangeable roles, in the order of arrival; sets name their positions.

    `table` has one row: the node's event. An event that may play roles of several groups is several nodes.
    """

    search: Search
    table: MemberRefs
    group: PositionArray
    sensor: CodeArray
    pairs: PositionArray  # (2, n)

    @classmethod
    def of(cls, search: Search, links: Sequence[Link]) -> _Nodes:
        """Give each event of some pairs_of_edges a node for each of its groups."""
        members = MemberRefs.all_of([search.members_of(met) for _, met in links], 2)
        groups = np.repeat([each for each, _ in links], [len(met.rows) for _, met in links], axis=0)
        count = len(search.pattern.interchange.groups)
        names = members.ref * count + groups.reshape(-1, 2).T
        distinct, first = np.unique(names, return_index=True)
        sensor = np.concatenate([np.empty((2, 0), np.int32), *(np.array(met.sensors) for _, met in links)], axis=1)
        pairs = np.searchsorted(distinct, names)
        return cls(search, members.arranged(first[None]), distinct % count, sensor.ravel()[first], pairs)

    @property
    def plan(self) -> SetPlan:
        """How sets are searched."""
        return plan_of(self.search)

    def compatible(self) -> CompatibleEvents:
        """Return which of them are compatible."""
        pattern = self.search.pattern
        judged = self.search.judges_tuples or len(pattern.interchange.groups) < len(pattern.streams)
        holds = self._hold if judged else None
        kinds = EventKinds(self.plan, self.group, self._may_meet) if self.plan.any_required else None
        limit, looks_at = pattern.max_candidates, self.search.work.look_at
        return CompatibleEvents.of(self.table.ref[0], self.pairs, holds, limit, kinds=kinds, looks_at=looks_at)

    @property
    def nobody(self) -> PositionArray:
        """No set at all, by role."""
        return np.empty((len(self.search.pattern.streams), 0), np.intp)

    def as_told(self, sets: PositionArray) -> PositionArray:
        """Return the node of each role, (k, n), in the roles that they are told in; `ABSENT` where there is none."""
        return as_told(self._by_role(sets), self.search.pattern.interchange, self._goes_before)

    def _may_meet(self, one: PositionArray, other: PositionArray) -> BoolArray:
        """Whether nodes whose roles have no edge may be in one set: their sensors say so."""
        may = allowed(self.search.pattern.sensors, self.sensor[one], self.sensor[other])
        return np.ones(len(one), np.bool_) if may is None else may

    def _hold(self, sets: PositionArray) -> BoolArray:
        """Whether there are enough roles for the members, and whether these hold together, bool (n,)."""
        pattern, groups = self.search.pattern, self.group[sets]
        holds: BoolArray = np.ones(len(sets), np.bool_)
        for nth, group in enumerate(pattern.interchange.groups):
            if len(group) > 1:  # two of a single role are never compatible
                holds &= (groups == nth).sum(axis=1) <= len(group)
        if self.search.judges_tuples:
            members = in_group_order(self._by_role(sets[holds]), pattern.interchange, self._goes_before)
            holds[holds] = self.search.holds(self.table.arranged(members))
        return holds

    @cached_property
    def _goes_before(self) -> GoesBefore:
        return absent_last(self.search.goes_before(self.table))

    def _by_role(self, sets: PositionArray) -> PositionArray:
        """Give each member a role of its group, the first to those that come first."""
        members = np.full((len(self.search.pattern.streams), len(sets)), ABSENT, np.intp)
        groups = self.group[sets]
        role = self._first_role[groups]
        for nth, group in enumerate(self.search.pattern.interchange.groups):
            if len(group) > 1:
                nth_role = np.array(group)[np.minimum(np.cumsum(groups == nth, axis=1), len(group)) - 1]
                role = np.where(groups == nth, nth_role, role)
        members[role, np.arange(len(sets))[:, None]] = sets
        return members

    @cached_property
    def _first_role(self) -> PositionArray:
        return np.array([group[0] for group in self.search.pattern.interchange.groups])
