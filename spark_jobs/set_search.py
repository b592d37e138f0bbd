"""Set search: maximal sets of at least so many members, judged anew from the buffered rows at every batch.

A set is found when its last member arrives. It enlarges the set of all its other members if that one was maximal
until then: whether it was, rows decide that fit its members and arrived before. So the rows that the new ones match,
and all that these match, are taken in again in the order of their arrival; nothing is remembered between batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from coincide.arrays import Int64Array, PositionArray
from coincide.events import Events
from coincide.window_join.maximal_sets import MaximalSets, MemberSet
from spark_jobs.found import ABSENT, FoundTuples
from spark_jobs.members import hold_jointly
from spark_jobs.role_edges import RoleEdge
from spark_jobs.search import Search


def sets_found(search: Search) -> FoundTuples:
    """Find the maximal sets that the new rows complete, and what they supersede."""
    return _SetSearch(search, search.query.at_least or 0).found()


@dataclass(frozen=True, eq=False)
class _SetSearch:
    """Nodes are numbers: position in the table times the number of groups of alike roles, plus the group."""

    search: Search
    at_least: int
    _held: dict[MemberSet, bool] = field(default_factory=dict)

    def found(self) -> FoundTuples:
        sets = MaximalSets(self.at_least, self._holds if self._asks_of_sets else None)
        members, supersedes = [], []
        for node, earlier in self._compatible():
            for grown, before in sets.add(node, earlier):
                if node // len(self._groups) >= self._first_new:
                    members.append(self._as_members(grown))
                    supersedes.append(self._as_members(before or frozenset()))
        shape = (len(members), len(self.search.query.roles))
        return FoundTuples(np.array(members, np.intp).reshape(shape), np.array(supersedes, np.intp).reshape(shape))

    @property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        return self.search.query.alike

    @cached_property
    def _first_new(self) -> int:
        return int(np.searchsorted(self.search.rows.seq, self.search.first_new_seq))

    @cached_property
    def _links(self) -> list[tuple[RoleEdge, int, int]]:
        """One edge for every two groups, and for every two members of one group, with their groups."""
        group_of = {role: nth for nth, group in enumerate(self._groups) for role in group}
        links = {(group_of[edge.first], group_of[edge.second]): edge for edge in self.search.offsets.edges}
        return [(edge, *groups) for groups, edge in links.items()]

    def _compatible(self) -> Iterator[tuple[int, list[int]]]:
        """Yield nodes in the order of arrival, each with the earlier ones that it is compatible with."""
        pairs = [self._pairs(edge, groups) for edge, *groups in self._links]
        partners = np.unique(np.concatenate(pairs) // len(self._groups))
        pairs += [self._pairs(edge, groups, partners[partners < self._first_new]) for edge, *groups in self._links]
        earlier_of: dict[int, list[int]] = {}
        for earlier, later in np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0).tolist():
            earlier_of.setdefault(later, []).append(earlier)
        yield from sorted(earlier_of.items())

    def _pairs(self, edge: RoleEdge, groups: list[int], of: PositionArray | None = None) -> Int64Array:
        """Return pairs of nodes along an edge, (n, 2): of the new rows with earlier ones, or of old rows with all."""
        search = self.search
        found = [search.pairs(edge, self._events(edge.first, of), probing_first=True, earlier_only=of is None)]
        if not edge.is_unordered:
            others = self._events(edge.second, of)
            found.append(search.pairs(edge, others, probing_first=False, earlier_only=of is None))
        positions = np.concatenate([np.column_stack(each) for each in found])
        nodes: Int64Array = positions * len(self._groups) + np.array(groups)
        return nodes

    def _events(self, role: int, of: PositionArray | None) -> Events:
        search = self.search
        if of is None:
            return search.new(role)
        own = of[search.rows.stream[of] == search.stream(role)]
        return search.buffers.events(search.rows, own, search.query.equal)

    def _as_members(self, nodes: MemberSet) -> list[int]:
        """Return the position of each role's member; of alike roles the first are taken first."""
        members = [ABSENT] * len(self.search.query.roles)
        for nth, group in enumerate(self._groups):
            own = [node // len(self._groups) for node in nodes if node % len(self._groups) == nth]
            for role, at in zip(group, sorted(own, key=self.search.order.key), strict=False):
                members[role] = at
        return members

    @property
    def _asks_of_sets(self) -> bool:
        return self.search.query.joint_threshold is not None or len(self._groups) < len(self.search.query.roles)

    def _holds(self, nodes: MemberSet) -> bool:
        if nodes not in self._held:
            self._held[nodes] = self._fits(nodes) and self._holds_jointly(nodes)
        return self._held[nodes]

    def _fits(self, nodes: MemberSet) -> bool:
        """Whether there are roles enough for the members of each group."""
        played = np.bincount([node % len(self._groups) for node in nodes], minlength=len(self._groups))
        return all(count <= len(group) for count, group in zip(played.tolist(), self._groups, strict=True))

    def _holds_jointly(self, nodes: MemberSet) -> bool:
        search = self.search
        members = np.array([self._as_members(nodes)], np.intp)
        return bool(hold_jointly(search.query, members, search.rows, search.templates)[0])
