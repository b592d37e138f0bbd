"""Set search: maximal sets of at least so many members, worked out anew from the buffered rows at every batch.

A set is a match when its last member arrives. It enlarges the set of all its other members if that one was maximal
until then. Rows that fit its members and arrived before decide whether it was. So every search finds the pairs of the
new rows, and all pairs of the rows that these match; `coincide.joins.tuples.maximal_sets` does the rest.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.errors import CandidateLimitError
from coincide.joins.events import Events
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.joins.tuples.set_order import ABSENT, absent_last, as_told, in_group_order
from spark_jobs.matching.match_verdicts import MatchTuples, hold_jointly
from spark_jobs.matching.role_edges import RoleEdge
from spark_jobs.matching.search import Search


def find_sets(search: Search, max_candidates: int) -> MatchTuples:
    """Find the maximal sets that the new rows complete, and what they supersede.

    A row with more candidate sets than allowed completes none; nothing changes for the others.
    """
    pairs = _NodePairs(search).of_new_rows()
    nodes, at = np.unique(pairs, return_inverse=True)
    sets = _NodeSets(search, nodes)
    query = search.query
    judged = query.joint_threshold is not None or len(query.interchange.groups) < len(query.roles)
    events = CompatibleEvents.of(sets.seq, at.reshape(pairs.shape), sets.hold if judged else None, max_candidates)
    members, supersedes, since_seq = [sets.none], [sets.none], search.first_new_seq
    skipped: list[int] = []
    while True:
        try:
            for grown, enlarges in events.growths(since_seq, query.at_least or 0):
                members.append(sets.as_told(grown))
                supersedes.append(np.where(enlarges[:, None], sets.as_told(grown[:, 1:]), ABSENT))
            break
        except CandidateLimitError as error:
            skipped.append(error.row)
            since_seq = error.row + 1
    told = np.concatenate(members)
    _, first = np.unique(told, axis=0, return_index=True)  # one of all that differ by swaps of roles
    return MatchTuples(told[first], np.concatenate(supersedes)[first], tuple(skipped))


@dataclass(frozen=True, eq=False)
class _NodePairs:
    """Finds pairs of nodes: numbers of the row times the number of groups of alike roles, plus the group."""

    search: Search

    def of_new_rows(self) -> Int64Array:
        """Return the pairs of new rows with earlier ones, and all pairs of those, (2, n); some come often."""
        pairs = [self._pairs(edge, groups) for groups, edge in self._links.items()]
        partners = np.unique(np.concatenate(pairs, axis=1) // len(self._groups))
        old = self.search.table.positions(partners[partners < self.search.first_new_seq])
        pairs += [self._pairs(edge, groups, old) for groups, edge in self._links.items()]
        return np.concatenate(pairs, axis=1)

    @property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        return self.search.query.interchange.groups

    @cached_property
    def _links(self) -> dict[tuple[int, int], RoleEdge]:
        """One edge for every two groups, and for every two members of one group."""
        group_of = {role: nth for nth, group in enumerate(self._groups) for role in group}
        return {(group_of[edge.first], group_of[edge.second]): edge for edge in self.search.offsets.edges}

    def _pairs(self, edge: RoleEdge, groups: tuple[int, int], of: PositionArray | None = None) -> Int64Array:
        """Return pairs of nodes along an edge, (2, n): of the new rows with earlier ones, or of old rows with all."""
        search = self.search
        pairs = [search.pairs(edge, self._events(edge.first, of), probing_first=True, earlier_only=of is None)]
        if not edge.is_unordered:
            others = self._events(edge.second, of)
            pairs.append(search.pairs(edge, others, probing_first=False, earlier_only=of is None))
        positions = np.concatenate([np.array(each) for each in pairs], axis=1)
        nodes: Int64Array = search.rows.seq[positions] * len(self._groups) + np.array(groups)[:, None]
        return nodes

    def _events(self, role: int, of: PositionArray | None) -> Events:
        search = self.search
        if of is None:
            return search.new(role)
        return search.buffers.events(search.query.sources[role], search.rows, of)


class _NodeSets:
    """Sets of nodes, (n, size), as members by role; nodes are named by their position among `nodes`."""

    def __init__(self, search: Search, nodes: Int64Array) -> None:
        self._search, self._groups = search, search.query.interchange.groups
        self.seq, self._group = np.divmod(nodes, len(self._groups))
        self._at = search.table.positions(self.seq)
        self.none = MatchTuples.none(len(search.query.roles)).members
        self._goes_before = absent_last(search.order.goes_before)

    def as_told(self, sets: PositionArray) -> PositionArray:
        """Return the position of each role's member, (n, roles), in the roles that they are told in."""
        return as_told(self._by_role(sets).T, self._search.query.interchange, self._goes_before).T

    def hold(self, sets: PositionArray) -> BoolArray:
        """Whether there are enough roles for the members, and whether these reach the joint threshold, bool (n,)."""
        groups = self._group[sets]
        holds: BoolArray = np.ones(len(sets), np.bool_)
        for nth, group in enumerate(self._groups):
            holds &= (groups == nth).sum(axis=1) <= len(group)
        search, members = self._search, self._by_role(sets[holds])
        members = in_group_order(members.T, search.query.interchange, self._goes_before).T
        holds[holds] = hold_jointly(search.query, members, search.rows, search.templates)
        return holds

    def _by_role(self, sets: PositionArray) -> PositionArray:
        """Give each member a role of its group, the first to those that come first."""
        members = np.full((len(sets), len(self._search.query.roles)), ABSENT, np.intp)
        groups, at = self._group[sets], self._at[sets]
        for nth, group in enumerate(self._groups):
            place = np.cumsum(groups == nth, axis=1) - 1
            row, column = np.nonzero(groups == nth)
            members[row, np.array(group)[place[row, column]]] = at[row, column]
        return members
