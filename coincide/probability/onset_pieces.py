"""PosteriorPieces: the density of when a match occurred, as polynomials between break points; one match per column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.probability.onset_terms import AnchorDensities, AnchorDensity, Members
from coincide.probability.piecewise import gauss_legendre, in_rows, total

NEWTON_ROUNDS = 60  # many more than it takes: by then the bracket has shrunk to nothing even by halving
SETTLED_S = 1e-9


class PosteriorPieces:
    """Mass, mean, spread and quantiles of the density of when each match occurred, shape (n,).

    With k members a piece is a polynomial of degree k - 1, which Gauss-Legendre integrates exactly. Nothing cancels,
    so results are as good for improbable matches as for sure ones. The results of a column do not depend on the other
    columns, not by one bit.
    """

    def __init__(self, members: Members) -> None:
        densities = AnchorDensities(members)
        breaks = densities.breaks
        self._time_s = breaks.time.high
        self._middle_s = breaks.middle.high + breaks.middle.low
        self._pieces = _Pieces(densities.spread(), breaks.width_s, _nodes(len(members.templates)))
        self._atoms = densities.atoms()

    @cached_property
    def mass(self) -> FloatArray:
        """The joint probability of the members."""
        return total(self._piece_mass) + (0.0 if self._atoms is None else total(self._atoms))

    @cached_property
    def mean_s(self) -> FloatArray:
        """Expected time."""
        return self._expected(self._middle_s, self._time_s, power=1)

    @cached_property
    def std_s(self) -> FloatArray:
        """Standard deviation."""
        return np.sqrt(self._expected(self._middle_s - self.mean_s, self._time_s - self.mean_s, power=2))

    def quantiles_s(self, *p: float) -> FloatArray:
        """Least times with at least a share `p` of the mass up to them, shape (len(p), n)."""
        before, up_to = self._cumulative
        target = np.multiply.outer(np.array(p), self.mass)
        piece = np.minimum((up_to[:, None] < target).sum(axis=0), len(up_to) - 1)
        wanted = target - in_rows(before, piece)
        share = self._pieces.take(piece).share_with_mass(wanted)
        return in_rows(self._middle_s, piece) + (share - 0.5) * in_rows(self._pieces.width_s, piece)

    @cached_property
    def _piece_mass(self) -> FloatArray:
        return self._pieces.mass

    @cached_property
    def _cumulative(self) -> tuple[FloatArray, FloatArray]:
        """Mass before each piece, exact times at its start included, and up to its end; shape (m - 1, n)."""
        up_to = np.cumsum(self._piece_mass, axis=0)
        before = up_to - self._piece_mass
        if self._atoms is not None:
            passed = np.cumsum(self._atoms, axis=0)[:-1]
            return before + passed, up_to + passed
        return before, up_to

    def _expected(self, middle_s: FloatArray, time_s: FloatArray, power: int) -> FloatArray:
        """Return the moment of what is `middle_s` in the middle of a piece and `time_s` at a break point."""
        moment = total(self._pieces.moment(middle_s, power))
        if self._atoms is not None:
            moment = moment + total(self._atoms * time_s**power)
        return moment / self.mass


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Polynomials on pieces, of shape (pieces, n); some of each column are chosen by `take`."""

    anchors: list[AnchorDensity]
    width_s: FloatArray
    nodes: list[tuple[float, float]]  # position from -1/2 to 1/2 in the piece, weight

    def take(self, piece: PositionArray) -> _Pieces:
        return _Pieces([each.take(piece) for each in self.anchors], in_rows(self.width_s, piece), self.nodes)

    def density(self, from_middle_s: FloatArray) -> FloatArray:
        first, *rest = (each.at(from_middle_s) for each in self.anchors)
        for other in rest:
            first = first + other
        return first

    def moment(self, middle_s: FloatArray, power: int) -> FloatArray:
        """Integral of density * (middle_s + time from the middle) ** power over each piece."""
        moment = np.zeros_like(self.width_s)
        for (node, weight), density in zip(self.nodes, self._at_nodes, strict=True):
            moment += weight * density * (middle_s + node * self.width_s) ** power
        return moment * self.width_s

    @cached_property
    def _at_nodes(self) -> list[FloatArray]:
        return [self.density(node * self.width_s) for node, _ in self.nodes]

    @property
    def mass(self) -> FloatArray:
        """Mass of each piece."""
        mass = np.zeros_like(self.width_s)
        for (_, weight), density in zip(self.nodes, self._at_nodes, strict=True):
            mass += weight * density
        return mass * self.width_s

    def mass_up_to(self, share: FloatArray | float) -> FloatArray:
        """Mass of the first part of each piece, `share` of its length."""
        mass = np.zeros_like(self.width_s)
        for node, weight in self.nodes:
            mass += weight * self.density(((0.5 + node) * share - 0.5) * self.width_s)
        mass *= share * self.width_s
        return mass

    def share_with_mass(self, wanted: FloatArray) -> FloatArray:
        """Return the part of each piece's length that has the wanted mass."""
        are_straight = all(len(each.fit) == 1 for each in self.anchors)
        return self._share_of_straight(wanted) if are_straight else self._share_of_bent(wanted)

    def _share_of_straight(self, wanted: FloatArray) -> FloatArray:
        """Solve a quadratic equation: two members' density is a straight line."""
        at_start, at_end = (self.density(side * self.width_s) for side in (-0.5, 0.5))
        gained = wanted / self.width_s
        root = np.sqrt(np.maximum(at_start**2 + 2.0 * (at_end - at_start) * gained, 0.0))
        share: FloatArray = np.nan_to_num(np.clip(2.0 * gained / (at_start + root), 0.0, 1.0))
        return share

    def _share_of_bent(self, wanted: FloatArray) -> FloatArray:
        """Apply Newton's method in a bracket."""
        least, most = np.zeros_like(wanted), np.ones_like(wanted)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num(np.clip(wanted / self.mass_up_to(1.0), 0.0, 1.0))
        for _ in range(NEWTON_ROUNDS):
            excess = self.mass_up_to(share) - wanted
            least, most = np.where(excess < 0, share, least), np.where(excess < 0, most, share)
            with np.errstate(divide="ignore", invalid="ignore"):
                root = share - excess / (self.density((share - 0.5) * self.width_s) * self.width_s)
            closer = np.where((root >= least) & (root <= most), root, (least + most) / 2)
            moving = np.abs(closer - share) * self.width_s > SETTLED_S
            share = np.where(moving, closer, share)
            if not moving.any():
                break
        return share


def _nodes(members: int) -> list[tuple[float, float]]:
    """Return nodes for degree k + 1, that of the second moment, and their weights."""
    nodes, weights = gauss_legendre(members + 1)
    return [(node / 2, weight / 2) for node, weight in zip(nodes, weights, strict=True)]
