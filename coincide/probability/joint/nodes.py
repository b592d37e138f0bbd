"""Nodes: times at which to fix one member, weighted so that a sum over them is the integral over when it occurs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.probability.joint.placed_members import PlacedMember, moved
from coincide.probability.piecewise import BreakPoints, gauss_legendre
from coincide.probability.trapezoids import ATOM_TOLERANCE_S

Shift = tuple[int, ExactSum]
"""Which member, and how much earlier than its edges the break points lie, as a negative number of seconds."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Times of one member in tuples (`column`), each with the probability it stands for (`weight`); shape (nodes,).

    An exact time still lies on a window's end `slack_s` beyond it.
    """

    column: Int64Array
    time: ExactSum
    weight: FloatArray
    slack_s: float

    def parts(self, most: int) -> Iterator[Nodes]:
        """Yield all nodes, so many at a time."""
        for first in range(0, len(self.column), most):
            part = slice(first, first + most)
            yield Nodes(self.column[part], self.time.take(part), self.weight[part], self.slack_s)


class Pieces:
    """The times at which one member may be, cut at its own edges and at shifted edges of others; shape (pieces,)."""

    def __init__(self, member: PlacedMember, others: Mapping[int, PlacedMember], shifts: Sequence[Shift]) -> None:
        self._members = [member, *(others[other] for other, _ in shifts)]
        self._breaks = BreakPoints([member.edges, *(moved(others[other].edges, by) for other, by in shifts)])
        density = self._densities(0)
        self._chosen = ((density > 0) & (self._breaks.width_s > 0)).nonzero()
        self.column: Int64Array = self._chosen[1]
        self.density: FloatArray = density[self._chosen]
        self.width_s: FloatArray = self._breaks.width_s[self._chosen]

    def density_of(self, shift: int) -> FloatArray:
        """Return the density of a shift's member, so shifted, on each piece."""
        return self._densities(1 + shift)[self._chosen]

    def gauss(self, degree: int) -> list[Nodes]:
        """Return the nodes at which polynomials of a degree are integrated exactly."""
        positions, weights = gauss_legendre(degree)
        middle, half_s = self._middle, self.width_s / 2
        return [
            Nodes(self.column, _beside(middle, position * half_s), weight * half_s * self.density, 0.0)
            for position, weight in zip(positions, weights, strict=True)
        ]

    def cells(self, count: Int64Array) -> Nodes:
        """Return the middles of so many equal cells in each piece."""
        piece = np.repeat(np.arange(len(count)), count)
        rank = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        width_s = self.width_s[piece] / count[piece]
        middle = _beside(self._middle.take(piece), (rank - (count[piece] - 1) / 2) * width_s)
        return Nodes(self.column[piece], middle, self.density[piece] * width_s, 0.0)

    @property
    def _middle(self) -> ExactSum:
        return ExactSum(self._breaks.middle.high[self._chosen], self._breaks.middle.low[self._chosen])

    def _densities(self, which: int) -> FloatArray:
        return self._breaks.between(which, self._members[which].density)


def atom_nodes(member: PlacedMember) -> list[Nodes]:
    """Return the exact times of a member."""
    nodes = []
    for row in np.flatnonzero(member.atom_mass.any(axis=1)).tolist():
        column = np.flatnonzero(member.atom_mass[row])
        time = ExactSum(member.edges.high[row, column], member.edges.low[row, column])
        nodes.append(Nodes(column, time, member.atom_mass[row, column], ATOM_TOLERANCE_S))
    return nodes


def _beside(time: ExactSum, by_s: FloatArray) -> ExactSum:
    return moved(time, ExactSum(by_s, np.zeros_like(by_s)))
