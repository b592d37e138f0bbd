"""plan: how to compute the joint probability of tuples of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coincide.window_join.joint.cells import Cells
from coincide.window_join.joint.condition import Condition
from coincide.window_join.joint.estimate import Estimate, Plan
from coincide.window_join.joint.forest import Forest
from coincide.window_join.joint.links import Links
from coincide.window_join.joint.members import PlacedMember
from coincide.window_join.joint.tuples import TupleShape


@dataclass(frozen=True)
class Product:
    """Groups of members that nothing ties together."""

    parts: tuple[tuple[tuple[int, ...], Plan], ...]

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """Multiply what the groups have."""
        return Estimate.product(plan.estimate({i: members[i] for i in group}) for group, plan in self.parts)


def plan(links: Links, shape: TupleShape, radius: float) -> Plan:
    """Return the cheapest way known to compute the joint probability of tuples of one shape.

    Members at exact times are fixed first, which costs nothing, then the others that close cycles.

    Parameters
    ----------
    links : Links
    shape : TupleShape
    radius : float
        How far off the estimate may be; it is exact if one member whose time is not closes all cycles.
    """
    if links.is_forest:
        return Forest(links, shape.edges)
    groups = links.components
    if len(groups) > 1:
        return Product(tuple((tuple(g), plan(links.among(g), shape, radius / len(groups))) for g in groups))
    fixed = [member for member in links.on_cycles if member in shape.points]
    if fixed:
        return Condition(links, fixed[0], plan(links.without(fixed[0]), shape, radius))
    return _plan_without_points(links, shape, radius)


def _plan_without_points(links: Links, shape: TupleShape, radius: float) -> Plan:
    def break_points(member: int) -> int:
        return sum(shape.edges[other] * len(sums) for other, sums in links.path_sums(member).items())

    sets = list(links.cycle_breakers())
    further = len(sets[0]) - 1
    if not further:
        member = min((chosen[0] for chosen in sets), key=lambda each: (break_points(each), each))
        return Condition(links, member, plan(links.without(member), shape, radius))
    member = min((each for chosen in sets for each in chosen), key=lambda each: (-len(links.reach[each]), each))
    share = radius / further
    condition = Condition(links, member, plan(links.without(member), shape, radius - share))
    return Cells(condition, share, exact_times=bool(shape.exact & (links.reach.keys() - {member})))
