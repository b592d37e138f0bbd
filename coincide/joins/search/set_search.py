"""Set search: the largest sets of at least so many members, worked out anew from the buffered events at every batch.

A set is a match when its last member arrives. It enlarges the set of all its other members if that one was maximal
until then. Events that fit its members and arrived before decide whether it was. So every search finds the pairs of the
new events, and all pairs of the events that these match; `coincide.joins.tuples.maximal_sets` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, PositionArray
from coincide.errors import CandidateLimitError
from coincide.joins.events import Events
from coincide.joins.search.pattern import RoleEdge
from coincide.joins.search.search import NO_EVENTS, MemberRefs, MemberSets, Search
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.joins.tuples.set_order import ABSENT, GoesBefore, absent_last, as_told, in_group_order


def find_sets(search: Search) -> MemberSets:
    """Find the largest sets that the new events complete, and what they supersede.

    An event with more candidate sets than allowed completes none; nothing changes for the others.
    """
    nodes = _Nodes.of(search, _MeetingEvents(search).of_new())
    events, since_row = nodes.compatible(), search.first_new_ref
    members, supersedes, skipped = [nodes.nobody], [nodes.nobody], []
    while True:
        try:
            for sets, enlarges in events.growths(since_row, search.pattern.at_least or 0):
                members.append(nodes.as_told(sets))
                supersedes.append(np.where(enlarges, nodes.as_told(sets[:, 1:]), ABSENT))
            break
        except CandidateLimitError as error:
            skipped.append(error.row)
            since_row = error.row + 1
    told, smaller = (nodes.table.arranged(np.concatenate(parts, axis=1)) for parts in (members, supersedes))
    _, first = np.unique(told.ref, axis=1, return_index=True)  # one of all that differ by swaps of roles
    return MemberSets(told.take(first), smaller.take(first), tuple(skipped))


def find_all_sets(search: Search) -> MemberRefs:
    """Find the largest sets of all events, which are all new.

    Raises
    ------
    CandidateLimitError
        One event has more candidates than allowed.
    """
    nodes = _Nodes.of(search, _MeetingEvents(search).of_new())
    sets = list(nodes.compatible().maximal(0, search.pattern.at_least or 0))
    smaller = {tuple(each) for larger in sets for each in larger[:, 1:].tolist()}
    final = [each[[(*others, last) not in smaller for last, *others in each.tolist()]] for each in sets]
    told = nodes.table.arranged(np.concatenate([nodes.nobody, *map(nodes.as_told, final)], axis=1))
    return told.take(np.unique(told.ref, axis=1, return_index=True)[1])


Meeting = tuple[tuple[int, int], tuple[int, int], tuple[Events, Events]]  # groups, a role of each, events of both


@dataclass(frozen=True, eq=False)
class _MeetingEvents:
    """Finds which events are compatible pairwise, as far as one search must know."""

    search: Search

    def of_new(self) -> list[Meeting]:
        """Return the pairs of new events with earlier ones, and all pairs of those; some come often."""
        new = [met for link in self._links.items() for met in self._of_link(*link)]
        old = self._old_partners(new)
        return new + [met for link in self._links.items() for met in self._of_link(*link, old)]

    @cached_property
    def _links(self) -> dict[tuple[int, int], RoleEdge]:
        """One edge for every two groups, and for every two members of one group."""
        pattern = self.search.pattern
        group_of = {role: nth for nth, group in enumerate(pattern.interchange.groups) for role in group}
        links: dict[tuple[int, int], RoleEdge] = {}
        for edge in pattern.edges:
            groups = group_of[edge.first], group_of[edge.second]
            if groups[::-1] not in links:
                links[groups] = edge
        return links

    def _of_link(
        self, groups: tuple[int, int], edge: RoleEdge, old: Mapping[SourceName, Events] | None = None
    ) -> Iterator[Meeting]:
        """Find pairs along an edge: of the new events with earlier ones, or of old events with all."""
        search, roles = self.search, (edge.first, edge.second)
        for role, as_first in ((edge.first, True), (edge.second, False)):
            if edge.is_unordered and not as_first:
                break  # one orientation finds every pair
            probing = search.new(role) if old is None else old.get(search.pattern.sources[role], NO_EVENTS)
            for one, other in search.meetings(edge, probing, as_first=as_first, earlier_only=old is None):
                yield groups, roles, (one, other) if as_first else (other, one)

    def _old_partners(self, meetings: Sequence[Meeting]) -> dict[SourceName, Events]:
        """Return the partners that are no new events, of new ones with enough partners for a set; by source."""
        first_new, least = self.search.first_new_ref, max(2, (self.search.pattern.at_least or 0) - 1)
        nothing = np.empty(0, np.int64)
        refs, counts = np.unique(
            np.concatenate([nothing, *(each.ref for _, _, events in meetings for each in events)]), return_counts=True
        )
        enough = refs[(refs >= first_new) & (counts >= least)]
        by_source: dict[SourceName, list[Events]] = {}
        for _, roles, events in meetings:
            for role, partners, others in zip(roles, events, events[::-1], strict=True):
                is_old = (partners.ref < first_new) & np.isin(others.ref, enough)
                by_source.setdefault(self.search.pattern.sources[role], []).append(
                    partners.take(np.flatnonzero(is_old))
                )
        return {source: _distinct(parts) for source, parts in by_source.items()}


def _distinct(parts: Sequence[Events]) -> Events:
    """Return every event once, sorted."""
    columns = zip(
        *((each.area, each.detected_at_us, each.template, each.sensor, each.ref) for each in parts), strict=True
    )
    events = Events(*map(np.concatenate, columns))
    return events.take(np.unique(events.ref, return_index=True)[1]).sorted()


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Events in a group of interchangeable roles, in the order of arrival; sets name their positions.

    `table` has one row: the node's event. An event that may play roles of several groups is several nodes.
    """

    search: Search
    table: MemberRefs
    group: PositionArray
    pairs: PositionArray  # (2, n)

    @classmethod
    def of(cls, search: Search, meetings: Sequence[Meeting]) -> _Nodes:
        """Give each event of some meetings a node for each of its groups."""
        parts = [search.members(roles, events) for _, roles, events in meetings]
        members = MemberRefs.all_of(parts, 2)
        lengths = [len(part) for part in parts]
        groups = np.repeat(np.array([each for each, _, _ in meetings], np.intp).reshape(-1, 2), lengths, axis=0).T
        count = len(search.pattern.interchange.groups)
        names, first, pairs = np.unique(members.ref * count + groups, return_index=True, return_inverse=True)
        table = members.arranged(first[None])
        return cls(search, table, names % count, pairs.reshape(members.ref.shape))

    def compatible(self) -> CompatibleEvents:
        """Return which of them are compatible."""
        pattern = self.search.pattern
        judged = pattern.joint_threshold is not None or len(pattern.interchange.groups) < len(pattern.streams)
        holds = self._hold if judged else None
        return CompatibleEvents.of(self.table.ref[0], self.pairs, holds, pattern.max_candidates)

    @property
    def nobody(self) -> PositionArray:
        """No set at all, by role."""
        return np.empty((len(self.search.pattern.streams), 0), np.intp)

    def as_told(self, sets: PositionArray) -> PositionArray:
        """Return the node of each role, (k, n), in the roles that they are told in; `ABSENT` where there is none."""
        return as_told(self._by_role(sets), self.search.pattern.interchange, self._goes_before)

    def _hold(self, sets: PositionArray) -> BoolArray:
        """Whether there are enough roles for the members, and whether these reach the joint threshold, bool (n,)."""
        pattern, groups = self.search.pattern, self.group[sets]
        holds: BoolArray = np.ones(len(sets), np.bool_)
        for nth, group in enumerate(pattern.interchange.groups):
            holds &= (groups == nth).sum(axis=1) <= len(group)
        if pattern.joint_threshold is not None:
            members = in_group_order(self._by_role(sets[holds]), pattern.interchange, self._goes_before)
            holds[holds] = self.search.hold_jointly(self.table.arranged(members))
        return holds

    @cached_property
    def _goes_before(self) -> GoesBefore:
        return absent_last(self.search.goes_before(self.table))

    def _by_role(self, sets: PositionArray) -> PositionArray:
        """Give each member a role of its group, the first to those that come first."""
        members = np.full((len(self.search.pattern.streams), len(sets)), ABSENT, np.intp)
        groups = self.group[sets]
        for nth, group in enumerate(self.search.pattern.interchange.groups):
            place = np.cumsum(groups == nth, axis=1) - 1
            row, column = np.nonzero(groups == nth)
            members[np.array(group)[place[row, column]], row] = sets[row, column]
        return members
