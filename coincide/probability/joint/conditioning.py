"""Condition: take one member out of its cycles by fixing when it occurs, and integrate over that.

With its time t fixed, a member only cuts its neighbours to their windows. The chance h(t) that the rest then fits is
a piecewise polynomial. It bends only where t is as far from an edge of some template as the windows on a simple path
to that member, each taken at one of its ends, add up to. Gauss-Legendre between all such times is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.probability.joint.member_links import Links
from coincide.probability.joint.nodes import Nodes, Pieces, Shift, atom_nodes
from coincide.probability.joint.placed_members import Estimate, PlacedMember, Plan, estimated_in_steps, moved_s

ELEMENTS_PER_STEP = 32_768  # break points times tuples
NODES_PER_STEP = 65_536


@dataclass(frozen=True)
class Condition:
    """One member fixed at all times that matter; `rest` is the plan for the others, `links` ties all of them."""

    links: Links
    member: int
    rest: Plan

    @property
    def is_exact(self) -> bool:
        """Whether the rest is."""
        return self.rest.is_exact

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """P(all windows hold): as good as the rest's."""
        step = max(1, ELEMENTS_PER_STEP // self.break_points(members))
        return estimated_in_steps(members, step, lambda some: self.integral(some, self._nodes(some)))

    def integral(self, members: Mapping[int, PlacedMember], nodes: list[Nodes]) -> Estimate:
        """Add up the chance that the rest fits, over the nodes."""
        count = len(members[self.member])
        value, radius = np.zeros(count), np.zeros(count)
        for each in (part for some in nodes for part in some.parts(NODES_PER_STEP)):
            column, weight, rest = self._fixed(members, each)
            if len(column):
                estimate = self.rest.estimate(rest)
                np.add.at(value, column, weight * estimate.value)  # one after the other, whatever the steps
                np.add.at(radius, column, weight * estimate.radius)
        return Estimate(value, radius)

    def break_points(self, members: Mapping[int, PlacedMember]) -> int:
        """Return at how many times h(t) may bend."""
        shifted = (len(members[other].edges.high) for other, _ in self._shifts)
        return len(members[self.member].edges.high) + sum(shifted)

    @property
    def degree(self) -> int:
        """Degree of h(t) between break points: each other member adds one at most."""
        return len(self.links.reach) - 1

    def _nodes(self, members: Mapping[int, PlacedMember]) -> list[Nodes]:
        pieces = Pieces(members[self.member], members, self._shifts)
        return atom_nodes(members[self.member]) + pieces.gauss(self.degree)

    def _fixed(
        self, members: Mapping[int, PlacedMember], nodes: Nodes
    ) -> tuple[Int64Array, FloatArray, dict[int, PlacedMember]]:
        """Return column, weight and the others of each node at which all neighbours can be in their windows."""
        cut = {
            other: members[other]
            .take(nodes.column)
            .within(moved_s(nodes.time, lo_s), moved_s(nodes.time, hi_s), nodes.slack_s)
            for other, (lo_s, hi_s) in self.links.reach[self.member].items()
        }
        possible = np.flatnonzero(np.logical_and.reduce([each.mass > 0 for each in cut.values()]))
        column = nodes.column[possible]
        rest = {
            other: cut[other].take(possible) if other in cut else member.take(column)
            for other, member in members.items()
            if other != self.member
        }
        return column, nodes.weight[possible], rest

    @cached_property
    def _shifts(self) -> list[Shift]:
        return shifts(self.links, self.member)


def shifts(links: Links, member: int, longest: int | None = None) -> list[Shift]:
    """Return whose edges, and by how much earlier, may bend h(t): those at the ends of paths of so many edges."""
    sums = links.path_sums(member, longest)
    return [(other, exact_s(-each)) for other, own in sums.items() for each in sorted(own)]


def exact_s(seconds: Fraction) -> ExactSum:
    """Return seconds as the sum of two floats."""
    high = float(seconds)
    return ExactSum(np.array(high), np.array(float(seconds - Fraction(high))))
