"""plan: how to compute the joint probability of tuples of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coincide.window_join.joint_condition import Condition
from coincide.window_join.joint_estimate import Estimate, Plan
from coincide.window_join.joint_forest import Forest
from coincide.window_join.joint_links import Links
from coincide.window_join.joint_members import PlacedMember


@dataclass(frozen=True)
class Product:
    """Groups of members that nothing ties together."""

    parts: tuple[tuple[tuple[int, ...], Plan], ...]

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """Multiply what the groups have."""
        return Estimate.product(plan.estimate({i: members[i] for i in group}) for group, plan in self.parts)


def plan(links: Links, edges: Mapping[int, int], points: frozenset[int]) -> Plan:
    if links.is_forest:
        return Forest(links, edges)
    if len(links.components) > 1:
        groups = [frozenset(component) for component in links.components]
        return Product(
            tuple(
                (tuple(sorted(g)), plan(links.without(*(links.reach.keys() - g)), edges, points)) for g in groups
            )
        )
    member = first_fixed(links, edges, points)
    return Condition(links, member, plan(links.without(member), edges, points))


def first_fixed(links: Links, edges: Mapping[int, int], points: frozenset[int]) -> int:
    exact = [member for member in links.on_cycles if member in points]
    if exact:
        return exact[0]

    def cost(member: int) -> int:
        return sum(edges[other] * len(own) for other, own in links.path_sums(member).items())

    best = min(links.cycle_breakers(), key=lambda chosen: (sum(map(cost, chosen)), chosen))
    return max(best, key=lambda member: (cost(member), member))
