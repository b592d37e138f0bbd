"""Tuples with a member in every role, each found when its last member arrives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from coincide.joins.events import sorted_events
from coincide.joins.search.search import MemberRefs, Search
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.candidates import RoleEvents
from coincide.joins.tuples.enumeration import Enumeration
from coincide.joins.tuples.set_order import are_told, in_group_order


def find_pairs(search: Search) -> Iterator[MemberRefs]:
    """Find the pairs of a pattern of two roles, in blocks."""
    for pairs in _counted(search, _pairs(search)):
        yield _told(search, pairs)


def find_tuples(search: Search) -> Iterator[MemberRefs]:
    """Find the tuples of any pattern, in blocks."""
    for tuples in _counted(search, _tuples(search)):
        yield tuples.take(search.holds(tuples)) if search.judges_tuples else tuples


def _counted(search: Search, parts: Iterator[MemberRefs]) -> Iterator[MemberRefs]:
    """Pass candidates on; all at once where work is bounded, since none may be judged before all are counted."""
    if search.work.is_bounded:
        found = list(parts)
        search.work.end()
        parts = iter([MemberRefs.all_of(found, len(search.pattern.streams))] if found else ())
    yield from parts


def _pairs(search: Search) -> Iterator[MemberRefs]:
    """Find pairs before they are told."""
    [edge] = search.pattern.edges
    for role, as_first in ((edge.first, True), (edge.second, False)):
        if edge.is_unordered and not as_first:
            break  # one orientation finds every pair
        if not len(search.new(role)):
            continue
        for each in search.pairs_along(edge, search.new(role), as_first=as_first, earlier_only=True):
            search.work.complete(each.refs[0])
            if len(each.rows):
                pairs = search.members_of(each)
                yield pairs if edge.first == 0 else pairs.swapped()


def _tuples(search: Search) -> Iterator[MemberRefs]:
    """Find tuples before they are judged; the last to arrive may play any role, of interchangeable ones the first."""
    for group in search.pattern.interchange.groups:
        for tuples in _tuples_with(search, group[0]) if len(search.new(group[0])) else ():
            search.work.complete(tuples.ref.max(axis=0))
            yield tuples


def _tuples_with(search: Search, root: int) -> Iterator[MemberRefs]:
    """Find the tuples whose last member plays the root role, before those of interchangeable roles are in order."""
    roles = _roles_near(search, root)
    rules = search.pattern.rules(root, search.since_ref, root_arrived_last=search.meets_new)
    stored = [events.stored for events in roles]
    for block in Enumeration(roles, search.bounds, rules).tuples(root, roles[root]):
        tuples = _told(search, search.members(stored, block))
        if search.may_meet is not None:
            for i, j in combinations(range(len(tuples.ref)), 2):
                tuples = tuples.take(search.may_meet(tuples.ref[i], tuples.ref[j]))
        yield tuples


def _roles_near(search: Search, root: int) -> list[RoleEvents]:
    """Return the new events of the root, and those of each other role near them; roles of one source share these."""
    sources, new = search.pattern.sources, search.new(root)
    near: dict[SourceName, RoleEvents] = {}
    for role, source in enumerate(sources):
        if role != root and source not in near:
            alike = [other for other, name in enumerate(sources) if name == source]
            near[source] = RoleEvents(search.buffer(role).near(new, *search.bounds.reach_us([root], alike)))
    return [RoleEvents(sorted_events(new)) if role == root else near[source] for role, source in enumerate(sources)]


def _told(search: Search, tuples: MemberRefs) -> MemberRefs:
    """Give members the roles that they are told in; of tuples that differ by swaps of roles only one stays."""
    interchange = search.pattern.interchange
    if not interchange.swaps or len(tuples) == 0:
        return tuples
    goes_before = search.goes_before(tuples)
    at = in_group_order(np.arange(tuples.ref.size).reshape(tuples.ref.shape), interchange, goes_before)
    if interchange.symmetries:
        at = at[:, are_told(at, interchange, goes_before)]
    return tuples.arranged(at)
