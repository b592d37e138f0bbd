"""Subtree: where a member can be, given that all members below it fit; piecewise polynomials in columns.

A member's parent asks for the mass between t + lo and t + hi. The subtree keeps the running mass: between
neighbouring break points a polynomial, and beside it the exact times with their weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray, PositionArray
from coincide.exact_sums import ExactSum
from coincide.window_join.joint.breaks import taken
from coincide.window_join.joint.links import Reach
from coincide.window_join.joint.members import moved_s


@dataclass(frozen=True, eq=False)
class Subtree:
    """The mass of one member and all below it, by when that member occurs; n tuples in columns.

    Attributes
    ----------
    time : ExactSum of shape (m, n)
        Break points.
    per_half_width : ndarray of float64, shape (m + 1, n)
        2 / length of each piece; 0 for the ends without end and for pieces without length.
    running : list of ndarray of float64, shape (m + 1, n)
        Coefficients of the mass up to z, from -1 at the start of a piece to 1 at its end; lowest power first.
    atom_time : ExactSum of shape (a, n)
    atom_mass : ndarray of float64, shape (a, n)
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
    """The mass of a subtree between t + lo and t + hi, as a function of t.

    Attributes
    ----------
    subtree : Subtree
    reach : Reach
    breaks : pair of ExactSum of shape (m, n)
        The subtree's break points, earlier by lo and by hi.
    """

    subtree: Subtree
    reach: Reach
    breaks: tuple[ExactSum, ExactSum]

    def on(
        self, time: ExactSum, behind: tuple[PositionArray, PositionArray], half_width_s: FloatArray, slack_s: float
    ) -> Piece:
        """Expand about `time`, where so many of each set of break points lie behind."""
        ends = tuple(
            self._end(breaks, passed, time, half_width_s) for breaks, passed in zip(self.breaks, behind, strict=True)
        )
        return Piece(ends[1], ends[0], self._atoms(time, slack_s))

    def _end(self, breaks: ExactSum, behind: PositionArray, time: ExactSum, half_width_s: FloatArray) -> End:
        row = np.maximum(behind - 1, 0)
        since_s = time.minus(ExactSum(taken(breaks.high, row), taken(breaks.low, row)))
        per_half = taken(self.subtree.per_half_width, behind)
        return End(per_half * since_s - 1.0, per_half * half_width_s, [taken(c, behind) for c in self.subtree.running])

    def _atoms(self, time: ExactSum, slack_s: float) -> FloatArray | float:
        """Mass of the exact times in reach of each time."""
        subtree, (lo_s, hi_s) = self.subtree, self.reach
        mass: FloatArray | float = 0.0
        for row in np.flatnonzero(subtree.atom_mass.any(axis=1)).tolist():
            at = ExactSum(subtree.atom_time.high[row], subtree.atom_time.low[row])
            after_lo, before_hi = moved_s(at, -lo_s).minus(time), time.minus(moved_s(at, -hi_s))
            mass = mass + subtree.atom_mass[row] * ((after_lo >= -slack_s) & (before_hi >= -slack_s))
        return mass


@dataclass(frozen=True, eq=False)
class End:
    """The running mass of a subtree at one end of the window, near a time."""

    z: FloatArray
    z_per_half: FloatArray
    running: list[FloatArray]

    def at(self, node: float) -> FloatArray:
        """Return it at a position in the piece, from -1 to 1."""
        z = np.clip(self.z + node * self.z_per_half, -1.0, 1.0)
        value = self.running[-1]
        for coefficient in self.running[-2::-1]:
            value = value * z + coefficient
        return value


@dataclass(frozen=True, eq=False)
class Piece:
    """A message near a time."""

    upper: End
    lower: End
    atoms: FloatArray | float

    def at(self, node: float) -> FloatArray:
        """Return it at a position in the piece, from -1 to 1."""
        spread: FloatArray = np.maximum(self.upper.at(node) - self.lower.at(node), 0.0)
        return spread + self.atoms
