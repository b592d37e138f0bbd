"""Meeting: a member and the messages from all below it, where they meet; piecewise polynomials in columns."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray
from coincide.trapezoids import ATOM_TOLERANCE_S
from coincide.window_join.joint.breaks import MergedBreaks, taken, taken_counts
from coincide.window_join.joint.members import PlacedMember, total
from coincide.window_join.joint.quadrature import antiderivative, gauss_legendre
from coincide.window_join.joint.subtree import Message, Subtree


class Meeting:
    """A member and the messages from all below it: the density of when it occurs and all of them fit."""

    def __init__(self, member: PlacedMember, messages: list[Message]) -> None:
        self._member, self._messages = member, messages
        self._breaks = MergedBreaks([member.edges, *(breaks for each in messages for breaks in each.breaks)])
        self._behind = [self._breaks.behind(which) for which in range(1 + 2 * len(messages))]
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
        nothing = np.zeros((1, len(self._member)))
        own = taken(np.concatenate((nothing, self._member.density, nothing)), self._behind[0][:-1])
        middle, half_width_s = self._breaks.middle, self._breaks.width_s / 2
        pieces = [
            each.on(middle, (self._behind[2 * at + 1][:-1], self._behind[2 * at + 2][:-1]), half_width_s, 0.0)
            for at, each in enumerate(self._messages)
        ]
        return [_product(own, [piece.at(node) for piece in pieces]) for node in nodes]

    def _atoms(self) -> FloatArray:
        """Mass of each exact time at which all below fit, shape (k, n)."""
        member = self._member
        if not member.has_atoms or not self._messages:
            return member.atom_mass
        rows = self._breaks.rows(0)[:-1]
        no_width = np.zeros_like(member.atom_mass)
        fits = []
        for at, each in enumerate(self._messages):
            behind = (taken_counts(self._behind[2 * at + 1], rows), taken_counts(self._behind[2 * at + 2], rows))
            fits.append(each.on(member.start, behind, no_width, ATOM_TOLERANCE_S).at(0.0))
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
