"""Cells: fix one member in the middles of short cells, with a certified bound on what that is off.

Let h(t) be the chance that the rest fits a member fixed at t, which cuts its neighbours at t + lo and t + hi:

    h'(t) = sum over neighbours u of  f_u(t + hi) K_u(t; hi) - f_u(t + lo) K_u(t; lo)

where K_u is the chance that the others fit the member at t and u at that end. Between times at which an edge of u lies
on an end, f_u is constant there. K_u changes because the windows of other members w move, each by at most two ends:
|K_u'| <= sum_w 2 max f_w, times the masses of the members beside these three. Both together bound h'', by B say, and
the middle of a cell of length s with density f is off by at most f B s^3 / 24 (the midpoint rule). Where w can be at
exact times K_u jumps: these times, two windows away from t, end cells too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.probability.joint.conditioning import ELEMENTS_PER_STEP, Condition, exact_s, shifts
from coincide.probability.joint.nodes import Pieces, Shift, atom_nodes
from coincide.probability.joint.placed_members import Estimate, PlacedMember, estimated_in_steps

FEW_CELLS = 4096


@dataclass(frozen=True)
class Cells:
    """A condition that trades accuracy for time: the sum over the cells may be off by `radius` more than the rest is.

    Where so many cells would cost more, `condition` is used as it is.
    """

    condition: Condition
    radius: float
    exact_times: bool
    is_exact = False

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """P(all windows hold), no further off than allowed."""
        step = max(1, ELEMENTS_PER_STEP // (2 * sum(len(each.edges.high) for each in members.values())))
        return estimated_in_steps(members, step, self._step)

    def _step(self, members: Mapping[int, PlacedMember]) -> Estimate:
        member = members[self.condition.member]
        pieces = Pieces(member, members, self._shifts)
        off = pieces.density * self._bend(members, pieces) * pieces.width_s**3 / 24
        count = self._count(pieces, off, len(member))
        cells = np.bincount(pieces.column, count, len(member)).astype(np.int64)
        dear = self._dearer_than_exact(members, cells)
        count[dear[pieces.column]] = 0
        estimate = self.condition.integral(members, [*atom_nodes(member), pieces.cells(count)])
        radius = estimate.radius + np.bincount(pieces.column, off / np.maximum(count, 1) ** 2, len(member))
        if dear.any():
            exact = self.condition.estimate({i: each.take(np.flatnonzero(dear)) for i, each in members.items()})
            estimate.value[dear], radius[dear] = exact.value, exact.radius
        return Estimate(estimate.value, radius)

    def _dearer_than_exact(self, members: Mapping[int, PlacedMember], count: Int64Array) -> BoolArray:
        """Whether the cells of each tuple are more than all nodes that make it exact, shape (n,)."""
        if count.max(initial=0) <= FEW_CELLS:  # the number of nodes takes longer to find
            return np.zeros(len(count), dtype=np.bool_)
        nodes = (self.condition.degree // 2 + 1) * self.condition.break_points(members)
        return count > max(FEW_CELLS, nodes)

    def _count(self, pieces: Pieces, off: FloatArray, columns: int) -> Int64Array:
        """As few cells as keep the sum of off / count^2 within the radius: in proportion to the cube root of `off`."""
        root = np.cbrt(off)
        density = np.sqrt(np.bincount(pieces.column, root, columns) / self.radius)
        count: Int64Array = np.maximum(np.ceil(root * density[pieces.column]), 1.0).astype(np.int64)
        return count

    def _bend(self, members: Mapping[int, PlacedMember], pieces: Pieces) -> FloatArray:
        """Bound on |h''| inside each piece, per s^2."""
        bend = np.zeros_like(pieces.width_s)
        for at, near in enumerate(self.condition.links.reach[self.condition.member]):
            at_ends = pieces.density_of(2 * at) + pieces.density_of(2 * at + 1)
            bend += at_ends * self._change(members, near)[pieces.column]
        return bend

    def _change(self, members: Mapping[int, PlacedMember], near: int) -> FloatArray:
        """Bound on how fast the chance changes that the others fit the member and a neighbour, shape (n,), per s."""
        reach, member = self.condition.links.reach, self.condition.member
        moving = (reach[member].keys() | reach[near].keys()) - {member, near}
        change = np.zeros(len(members[member]))
        for other in sorted(moving):
            rest = (each.mass for i, each in members.items() if i not in (member, near, other))
            spread = np.where(members[other].length_s > 0, members[other].density, 0.0)
            change += reduce(np.multiply, rest, 2 * spread.max(axis=0))
        return change

    @cached_property
    def _shifts(self) -> list[Shift]:
        links, member = self.condition.links, self.condition.member
        ends = [(near, exact_s(-Fraction(end))) for near, both in links.reach[member].items() for end in both]
        return [*ends, *(shifts(links, member, 2) if self.exact_times else ())]
