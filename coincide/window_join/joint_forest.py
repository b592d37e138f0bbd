"""The joint probability of members whose constraints form no cycle: exact, by messages towards each tree's centre."""

from __future__ import annotations

from collections.abc import Sequence

from coincide.histogram import FloatArray
from coincide.window_join.joint_links import Links
from coincide.window_join.joint_members import PlacedMember
from coincide.window_join.joint_rooting import centre
from coincide.window_join.joint_subtree import Meeting, Message


def forest_probability(links: Links, members: Sequence[PlacedMember]) -> FloatArray:
    """P(all windows hold), shape (n,); members that `links` does not name do not count.

    Trees that nothing ties together multiply.
    """
    edges = [len(member.edges.high) for member in members]
    first, *rest = (
        _member_mass(links, members, centre(links, edges, component), None) for component in links.components
    )
    for mass in rest:
        first = first * mass
    return first


def _member_mass(links: Links, members: Sequence[PlacedMember], root: int, parent: int | None) -> FloatArray:
    if not links.reach[root]:
        return members[root].mass
    return _meeting(links, members, root, parent).mass


def _meeting(links: Links, members: Sequence[PlacedMember], at: int, parent: int | None) -> Meeting:
    messages: list[Message] = [
        _meeting(links, members, child, at).subtree().message(reach)
        for child, reach in links.reach[at].items()
        if child != parent
    ]
    return Meeting(members[at], messages)
