"""Exact probabilities on trees: messages from the leaves to the centre, as piecewise polynomials in columns.

A member's parent asks for the mass between t + lo and t + hi. The subtree keeps the running mass: between
neighbouring break points a polynomial, and beside it the exact times with their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.exact_sums import ExactSum
from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.probability.joint.member_links import Links, Reach, break_points, centre
from coincide.probability.joint.placed_members import Estimate, PlacedMember, estimated_in_steps, moved_s
from coincide.probability.piecewise import BreakPoints, antiderivative, gauss_legendre, in_rows, times_in_rows, total
from coincide.probability.trapezoids import ATOM_TOLERANCE_S


@dataclass(frozen=True, eq=False)
class Subtree:
    """The mass of one member and all below it, by when that member occurs; n tuples in columns.

    `time` has m break points, so arrays of pieces have shape (m + 1, n): the first and the last have no end.
    `per_half_width` is 2 / length, or 0 for a piece without length. `running` has the coefficients, lowest power first,
    of the mass up to z, from -1 at the start of a piece to 1 at its end. Exact times have `atom_mass` at `atom_time`.
    """

    time: ExactSum
    per_half_width: FloatArray
    running: list[FloatArray]
    atom_time: ExactSum
    atom_mass: FloatArray

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return len(self.running) - 1

    def message(self, reach: Reach) -> Message:
        """Return the chance to fit a parent from which this member lies as far as `reach` says."""
        lo_s, hi_s = reach
        return Message(self, reach, (moved_s(self.time, -lo_s), moved_s(self.time, -hi_s)))


@dataclass(frozen=True, eq=False)
class Message:
    """The mass of a subtree between t + lo and t + hi, as a function of t; `breaks` are its own, earlier by each."""

    subtree: Subtree
    reach: Reach
    breaks: tuple[ExactSum, ExactSum]

    def on(
        self, time: ExactSum, behind: tuple[PositionArray, PositionArray], half_width_s: FloatArray, slack_s: float
    ) -> Callable[[float], FloatArray]:
        """Expand about `time`, where so many of each set of break points lie behind; -1 to 1 is the piece around it."""
        since_lo, since_hi = (
            self._running(breaks, passed, time, half_width_s)
            for breaks, passed in zip(self.breaks, behind, strict=True)
        )
        atoms = self._atoms(time, slack_s)

        def at(node: float) -> FloatArray:
            spread: FloatArray = np.maximum(since_hi(node) - since_lo(node), 0.0)
            return spread + atoms

        return at

    def _running(
        self, breaks: ExactSum, behind: PositionArray, time: ExactSum, half_width_s: FloatArray
    ) -> Callable[[float], FloatArray]:
        """Return the subtree's running mass at one end of the window, near `time`."""
        row = np.maximum(behind - 1, 0)
        since_s = time.minus(times_in_rows(breaks, row))
        per_half = in_rows(self.subtree.per_half_width, behind)
        middle, z_per_half = per_half * since_s - 1.0, per_half * half_width_s
        *lower, highest = (in_rows(coefficient, behind) for coefficient in self.subtree.running)

        def at(node: float) -> FloatArray:
            z = np.clip(middle + node * z_per_half, -1.0, 1.0)
            value = highest
            for coefficient in reversed(lower):
                value = value * z + coefficient
            return value

        return at

    def _atoms(self, time: ExactSum, slack_s: float) -> FloatArray | float:
        """Mass of the exact times in reach of each time."""
        subtree, (lo_s, hi_s) = self.subtree, self.reach
        mass: FloatArray | float = 0.0
        for row in np.flatnonzero(subtree.atom_mass.any(axis=1)).tolist():
            at = ExactSum(subtree.atom_time.high[row], subtree.atom_time.low[row])
            after_lo, before_hi = moved_s(at, -lo_s).minus(time), time.minus(moved_s(at, -hi_s))
            mass = mass + subtree.atom_mass[row] * ((after_lo >= -slack_s) & (before_hi >= -slack_s))
        return mass


class Meeting:
    """A member and the messages from all below it: the density of when it occurs and all of them fit."""

    def __init__(self, member: PlacedMember, messages: list[Message]) -> None:
        self._member, self._messages = member, messages
        self._breaks = BreakPoints([member.edges, *(breaks for each in messages for breaks in each.breaks)])
        self._behind = [self._breaks.behind(which) for which in range(1, 1 + 2 * len(messages))]
        self._degree = sum(each.subtree.degree for each in messages)

    @property
    def mass(self) -> FloatArray:
        """Probability that the member and all below it fit, shape (n,)."""
        nodes, weights = gauss_legendre(self._degree)
        spread = _weighted(weights, self._densities(nodes))
        mass = total(spread * self._breaks.width_s / 2)
        return mass + total(self._atoms()) if self._member.has_atoms else mass

    def subtree(self) -> Subtree:
        """Return the running mass, for the parent."""
        nodes, integrate = antiderivative(self._degree)
        half_width_s = self._breaks.width_s / 2
        densities = [each * half_width_s for each in self._densities(nodes)]
        pieces = [_weighted(row, densities) for row in integrate]
        up_to = np.cumsum(sum(pieces[1:], pieces[0]), axis=0)  # all powers of z are 1 at the end of a piece
        pieces[0][1:] += up_to[:-1]
        nothing = np.zeros((1, len(self._member)))
        running = [np.concatenate((nothing, piece, nothing)) for piece in pieces]
        running[0][-1] = up_to[-1]
        per_half = np.divide(1.0, half_width_s, out=np.zeros_like(half_width_s), where=half_width_s > 0)
        per_half = np.concatenate((nothing, per_half, nothing))
        return Subtree(self._breaks.time, per_half, running, self._member.start, self._atoms())

    def _densities(self, nodes: list[float]) -> list[FloatArray]:
        """Return the density at positions in each piece, from -1 to 1."""
        own = self._breaks.between(0, self._member.density)
        middle, half_width_s = self._breaks.middle, self._breaks.width_s / 2
        pieces = [
            each.on(middle, (self._behind[2 * at][:-1], self._behind[2 * at + 1][:-1]), half_width_s, 0.0)
            for at, each in enumerate(self._messages)
        ]
        return [_product(own, [at(node) for at in pieces]) for node in nodes]

    def _atoms(self) -> FloatArray:
        """Mass of each exact time at which all below fit, shape (k, n)."""
        member = self._member
        if not member.has_atoms or not self._messages:
            return member.atom_mass
        rows = self._breaks.rows(0)[:-1]
        no_width = np.zeros_like(member.atom_mass)
        fits = []
        for at, each in enumerate(self._messages):
            behind = (in_rows(self._behind[2 * at], rows), in_rows(self._behind[2 * at + 1], rows))
            fits.append(each.on(member.start, behind, no_width, ATOM_TOLERANCE_S)(0.0))
        return _product(member.atom_mass, fits)


def _weighted(weights: list[float], values: list[FloatArray]) -> FloatArray:
    first, *rest = (weight * value for weight, value in zip(weights, values, strict=True))
    for term in rest:
        first = first + term
    return first


def _product(first: FloatArray, factors: list[FloatArray]) -> FloatArray:
    for factor in factors:
        first = first * factor
    return first


ELEMENTS_PER_STEP = 16_384  # break points times tuples: temporaries that stay in the processor's cache


@dataclass(frozen=True)
class Forest:
    """Trees of members with so many bucket bounds each (`edges`); what nothing ties together multiplies."""

    links: Links
    edges: Sequence[int]
    is_exact = True

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """P(all windows hold), exact, as many tuples at a time as the cache holds."""
        step = max(1, ELEMENTS_PER_STEP // sum(break_points(self.links, self.edges, root) for root in self._roots))
        return estimated_in_steps(members, step, self._probability)

    @cached_property
    def _roots(self) -> list[int]:
        return [centre(self.links, self.edges, component) for component in self.links.components]

    def _probability(self, members: Mapping[int, PlacedMember]) -> Estimate:
        first, *rest = (self._tree_probability(members, root) for root in self._roots)
        for probability in rest:
            first = first * probability
        return Estimate.exact(first)

    def _tree_probability(self, members: Mapping[int, PlacedMember], root: int) -> FloatArray:
        return self._meeting(members, root, None).mass if self.links.reach[root] else members[root].mass

    def _meeting(self, members: Mapping[int, PlacedMember], at: int, parent: int | None) -> Meeting:
        below = {child: reach for child, reach in self.links.reach[at].items() if child != parent}
        messages = [self._meeting(members, child, at).subtree().message(reach) for child, reach in below.items()]
        return Meeting(members[at], messages)
