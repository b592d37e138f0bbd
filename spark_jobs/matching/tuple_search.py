"""Matches with a member in every role, each tuples when its last member arrives."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from coincide.arrays.kinds import PositionArray
from coincide.constraints.conditions import MemberRules
from coincide.joins.events import sorted_events
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.tuples.candidates import RoleBounds, RoleEvents
from coincide.joins.tuples.enumeration import Enumeration
from coincide.joins.tuples.set_order import are_told, in_group_order
from spark_jobs.matching.match_verdicts import MatchTuples, hold_jointly
from spark_jobs.matching.role_edges import EarliestOffsets, RoleEdge, possible_bounds
from spark_jobs.matching.search import Search


def find_pairs(search: Search) -> MatchTuples:
    """Find the pairs of a query of two roles."""
    [edge] = search.offsets.edges
    pairs = [search.pairs(edge, search.new(edge.first), probing_first=True)]
    if not edge.is_unordered:  # there one orientation finds every pair
        pairs.append(search.pairs(edge, search.new(edge.second), probing_first=False))
    return MatchTuples(np.concatenate([np.array(each).T for each in pairs]))


def find_tuples(search: Search) -> MatchTuples:
    """Find the tuples of any query; the last to arrive may play any role, of alike ones the first."""
    reach = RoleBounds.of(search.query.graph, [_bounds(search, edge) for edge in search.offsets.edges])
    tuples = MatchTuples.none(len(search.query.roles)).members
    for group in search.query.interchange.groups:
        enumeration = Enumeration(_roles_near(search, reach, group[0]), reach, _rules(search, group[0]))
        tuples = np.concatenate([tuples, *_tuples_with(search, enumeration, group[0])])
    return MatchTuples(tuples)


def _roles_near(search: Search, reach: RoleBounds, root: int) -> list[RoleEvents]:
    """Return the rows of each role that lie near new ones of the root; roles of one source share them."""
    sources, new = search.query.sources, search.new(root)
    near = {}
    for role, source in enumerate(sources):
        if source not in near:
            roles = [other for other, name in enumerate(sources) if name == source]
            near[source] = RoleEvents(search.buffer(role).near(new, *reach.reach_us([root], roles)))
    return [near[source] for source in sources]


def _tuples_with(search: Search, enumeration: Enumeration, root: int) -> Iterator[PositionArray]:
    """Find the tuples whose last member plays the root role before those of alike roles are put in order."""
    query, new = search.query, search.new(root)
    if len(new) == 0:
        return
    events = sorted_events(new.sorted())
    for block in enumeration.tuples(root, RoleEvents(events)):
        stored = [events if role == root else each.stored for role, each in enumerate(enumeration.roles)]
        seqs = [stored[role].ref[at] for role, at in sorted(block.items())]
        found = np.array([search.table.positions(seq) for seq in seqs])
        ordered = in_group_order(found, query.interchange, search.order.goes_before)
        members = ordered[:, are_told(ordered, query.interchange, search.order.goes_before)].T
        yield members[hold_jointly(query, members, search.rows, search.templates)]


def _rules(search: Search, root: int) -> MemberRules:
    """Return rules for a root that arrives last: it differs from its twins, which are in order among themselves."""
    query = search.query
    others = [role for role in range(len(query.roles)) if role != root]
    twins = tuple((i, j) for i, j in combinations(others, 2) if query.streams[i] == query.streams[j])
    in_order = tuple(pair for pair in query.interchange.pairs if root not in pair)
    return MemberRules(query.sensors, search.active.activation_seq, twins, in_order, root_arrived_last=True)


def _bounds(search: Search, edge: RoleEdge) -> tuple[ProbeBounds, ProbeBounds]:
    """Return the bounds for events of the a of the graph's edge, and of its b."""
    judge = EarliestOffsets(search.offsets.of(edge), search.templates.earliest_us, edge.is_unordered)
    first = possible_bounds(edge, search.templates, probing_first=True, judge=judge)
    second = possible_bounds(edge, search.templates, probing_first=False, judge=judge)
    return (first, second) if edge.is_forward else (second, first)
