"""Set search: maximal sets of at least so many members, judged anew from the buffered rows at every batch.

A set is a match when its last member arrives. It enlarges the set of all its other members if that one was maximal
until then. Rows that fit its members and arrived before decide whether it was. So every search takes in again, in the
order of arrival, the rows that the new ones match and all rows that these match. It remembers nothing that matters.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.joins.events import Events
from coincide.joins.tuples.maximal_sets import Growth, MaximalSets, MemberSet
from coincide.joins.tuples.set_order import absent_last, as_told
from spark_jobs.matching.match_verdicts import ABSENT, MatchTuples, hold_jointly
from spark_jobs.matching.role_edges import RoleEdge
from spark_jobs.matching.search import Search

MOST_REMEMBERED = 100_000  # sets remembered from batch to batch; a batch may add more


def find_sets(search: Search) -> MatchTuples:
    """Find the maximal sets that the new rows complete, and what they supersede."""
    return _SetSearch(search, search.query.interchange.groups).matches()


@dataclass(frozen=True, eq=False)
class _SetSearch:
    """Nodes are numbers: of the row times the number of groups of alike roles, plus the group.

    Many sets are judged jointly at once: until then they pass for holding, and all is done again afterwards.
    """

    search: Search
    groups: tuple[tuple[int, ...], ...]
    _unknown: set[MemberSet] = field(default_factory=set)

    def matches(self) -> MatchTuples:
        if len(self.search.offsets.holds_jointly) > MOST_REMEMBERED:
            self.search.offsets.holds_jointly.clear()
        compatible = list(self._compatible())
        growths = self._growths(compatible)
        while self._unknown:
            self._learn()
            growths = self._growths(compatible)
        members = self._as_told([grown for grown, _ in growths])
        supersedes = self._as_told([before or frozenset() for _, before in growths])
        _, first = np.unique(members, axis=0, return_index=True)  # one of all that differ by swaps of roles
        return MatchTuples(members[first], supersedes[first])

    def _as_told(self, sets: list[MemberSet]) -> PositionArray:
        shape = (len(sets), len(self.search.query.roles))
        members = np.array([self._as_members(nodes) for nodes in sets], np.intp).reshape(shape)
        goes_before = absent_last(self.search.order.goes_before)
        return as_told(members.T, self.search.query.interchange, goes_before).T

    def _growths(self, compatible: list[tuple[int, list[int]]]) -> list[Growth]:
        query = self.search.query
        asks = query.joint_threshold is not None or len(self.groups) < len(query.roles)
        sets = MaximalSets(query.at_least or 0, self._holds if asks else None)
        growths: list[Growth] = []
        gone: dict[int, set[MemberSet]] = {}  # by row: of the roles that one row may play each enlarges the same sets
        for node, earlier in compatible:
            row = node // len(self.groups)
            for grown, before in sets.add(node, earlier):
                enlarged = gone.setdefault(row, set())
                if before is not None:
                    enlarged.add(before)
                if row >= self.search.first_new_seq:
                    rest = grown - {node}
                    growths.append((grown, rest if rest in enlarged else None))
        return growths

    def _compatible(self) -> Iterator[tuple[int, list[int]]]:
        """Yield nodes in the order of arrival, each with the earlier ones that it is compatible with."""
        pairs = [self._pairs(edge, groups) for groups, edge in self._links.items()]
        partners = np.unique(np.concatenate(pairs) // len(self.groups))
        old = self.search.table.positions(partners[partners < self.search.first_new_seq])
        pairs += [self._pairs(edge, groups, old) for groups, edge in self._links.items()]
        earlier_of: dict[int, list[int]] = {}
        for earlier, later in np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0).tolist():
            earlier_of.setdefault(later, []).append(earlier)
        yield from sorted(earlier_of.items())

    @cached_property
    def _links(self) -> dict[tuple[int, int], RoleEdge]:
        """One edge for every two groups, and for every two members of one group."""
        group_of = {role: nth for nth, group in enumerate(self.groups) for role in group}
        return {(group_of[edge.first], group_of[edge.second]): edge for edge in self.search.offsets.edges}

    def _pairs(self, edge: RoleEdge, groups: tuple[int, int], of: PositionArray | None = None) -> Int64Array:
        """Return pairs of nodes along an edge, (n, 2): of the new rows with earlier ones, or of old rows with all."""
        search = self.search
        pairs = [search.pairs(edge, self._events(edge.first, of), probing_first=True, earlier_only=of is None)]
        if not edge.is_unordered:
            others = self._events(edge.second, of)
            pairs.append(search.pairs(edge, others, probing_first=False, earlier_only=of is None))
        positions = np.concatenate([np.column_stack(each) for each in pairs])
        nodes: Int64Array = search.rows.seq[positions] * len(self.groups) + np.array(groups)
        return nodes

    def _events(self, role: int, of: PositionArray | None) -> Events:
        search = self.search
        if of is None:
            return search.new(role)
        return search.buffers.events(search.query.sources[role], search.rows, of)

    def _as_members(self, nodes: MemberSet) -> list[int]:
        """Return the position of each role's member; of alike roles the first are taken first."""
        members = [ABSENT] * len(self.search.query.roles)
        positions = self.search.table.positions(np.array(sorted(nodes), np.int64) // len(self.groups)).tolist()
        placed = [(node % len(self.groups), at) for node, at in zip(sorted(nodes), positions, strict=True)]
        for nth, group in enumerate(self.groups):
            own = [at for of, at in placed if of == nth]
            for role, at in zip(group, sorted(own, key=self.search.order.key), strict=False):
                members[role] = at
        return members

    def _holds(self, nodes: MemberSet) -> bool:
        played = [node % len(self.groups) for node in nodes]
        if any(played.count(nth) > len(group) for nth, group in enumerate(self.groups)):  # too few roles in a group
            return False
        if self.search.query.joint_threshold is None or len(nodes) < 3:
            return True
        holds = self.search.offsets.holds_jointly.get(nodes)
        if holds is None:
            self._unknown.add(nodes)
        return holds is not False

    def _learn(self) -> None:
        """Work out which of the sets hold jointly."""
        search, known = self.search, self.search.offsets.holds_jointly
        unknown = list(self._unknown)
        members = np.array([self._as_members(nodes) for nodes in unknown], np.intp)
        known.update(
            zip(unknown, hold_jointly(search.query, members, search.rows, search.templates).tolist(), strict=True)
        )
        self._unknown.clear()
