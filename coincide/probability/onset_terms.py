"""Who of a match's members is the onset, and how well the others then fit; one match per column.

The density of when a match occurred is a sum of terms f_i(t) prod_j P(t + lo <= Xj <= t + hi), one for each member i
that may be the anchor. Between neighbouring break points f_i is constant and every factor a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.constraints.window import Window
from coincide.probability.trapezoids import ATOM_TOLERANCE_S
from coincide.templates.template_columns import TemplateColumns


@dataclass(frozen=True, eq=False)
class Members:
    """The members of n matches, role by role: templates and reported times.

    Attributes
    ----------
    templates : list of TemplateColumns of length n
    reported : list of ExactSum of shape (n,)
        Reported times in seconds, from any common origin.
    window : Window
        Symmetric: no two members occur further apart than its half-width. Otherwise of the second member minus the
        first, and there are exactly two.
    """

    templates: Sequence[TemplateColumns]
    reported: Sequence[ExactSum]
    window: Window

    @property
    def anchors(self) -> range:
        """Members that may be the anchor: in a symmetric window whoever was first, otherwise the first role."""
        return range(len(self.templates) if self.window.is_symmetric else 1)

    @property
    def reach_s(self) -> tuple[float, float]:
        """Bounds of the others' times minus the anchor's, both closed."""
        return (0.0, self.window.hi_s) if self.window.is_symmetric else (self.window.lo_s, self.window.hi_s)

    def others(self, anchor: int) -> list[int]:
        """Return the members beside the anchor."""
        return [member for member in range(len(self.templates)) if member != anchor]

    def edges_before(self, member: int, by_s: float) -> ExactSum:
        """Return the times `by_s` before the member's edges, shape (k + 1, n)."""
        reported = self.reported[member]
        placed = difference_of(self.templates[member].edges_s, -reported.high)
        moved = difference_of(placed.high, by_s)
        return difference_of(moved.high, -(moved.low + placed.low + reported.low))  # so that high sorts them


@dataclass(frozen=True, eq=False)
class Term:
    """One anchor's part of the density, on pieces of time; arrays of shape (pieces, n).

    Attributes
    ----------
    density : ndarray
        The anchor's, per second.
    fit : list of ndarray
        Chance that each other member fits an anchor in the middle of the piece.
    slope : list of ndarray
        Its change per second.
    """

    density: FloatArray
    fit: list[FloatArray]
    slope: list[FloatArray]

    def at(self, from_middle_s: FloatArray) -> FloatArray:
        """Return the term at a time in each piece, counted from its middle."""
        value = self.density
        for fit, slope in zip(self.fit, self.slope, strict=True):
            value = value * np.maximum(fit + slope * from_middle_s, 0.0)
        return value

    def take(self, piece: PositionArray) -> Term:
        """Return the term on chosen pieces of each column, given as an array of shape (chosen, n)."""
        fit, slope = ([taken(each, piece) for each in factors] for factors in (self.fit, self.slope))
        return Term(taken(self.density, piece), fit, slope)


class BreakPoints:
    """The times at which a density bends, sorted; what each member's density is between them.

    Attributes
    ----------
    time : ExactSum of shape (m, n)
    width_s : ndarray of float64, shape (m - 1, n)
        Lengths of the pieces; right to the last digits.
    """

    def __init__(self, members: Members) -> None:
        lo_s, hi_s = members.reach_s
        shifts = {(anchor, 0.0) for anchor in members.anchors}
        shifts |= {
            (other, by_s) for anchor in members.anchors for other in members.others(anchor) for by_s in (lo_s, hi_s)
        }
        self._members = members
        self._sets = {key: members.edges_before(*key) for key in sorted(shifts)}
        high, low = (np.concatenate([getattr(each, part) for each in self._sets.values()]) for part in ("high", "low"))
        self._order = np.lexsort((low, high), axis=0)
        self.time = ExactSum(self.sorted(high), self.sorted(low))
        self.width_s: FloatArray = np.diff(self.time.high, axis=0) + np.diff(self.time.low, axis=0)
        self._half = ExactSum(self.time.high[:-1], self.time.low[:-1] + self.width_s / 2)

    def sorted(self, of_edges: FloatArray) -> FloatArray:
        """Put values given set by set, edge by edge, into the order of time; shape (m, n)."""
        return np.take_along_axis(of_edges, self._order, axis=0)

    def rows(self, member: int, by_s: float) -> slice:
        """Return where `sorted` expects the member's edges, earlier by `by_s`."""
        start = 0
        for key, edges in self._sets.items():
            if key == (member, by_s):
                return slice(start, start + len(edges.high))
            start += len(edges.high)
        raise KeyError((member, by_s))

    def edges(self, member: int, by_s: float) -> ExactSum:
        """Return the times `by_s` before the member's edges, shape (k + 1, n)."""
        return self._sets[member, by_s]

    def density(self, member: int, by_s: float) -> FloatArray:
        """Return the member's density `by_s` after each piece, shape (m - 1, n)."""
        own = self.rows(member, by_s)
        passed = np.cumsum((self._order >= own.start) & (self._order < own.stop), axis=0)[:-1]
        nothing = np.zeros((1, passed.shape[1]))
        density = np.concatenate((nothing, self._members.templates[member].density, nothing))
        return np.take_along_axis(density, passed, axis=0)

    def terms(self) -> list[Term]:
        """Return the term of every anchor."""
        lo_s, hi_s = self._members.reach_s
        fits: dict[int, tuple[FloatArray, FloatArray]] = {}
        for other in sorted({other for anchor in self._members.anchors for other in self._members.others(anchor)}):
            slope = self.density(other, hi_s) - self.density(other, lo_s)
            fits[other] = self._fit(other, self._half), slope
        terms = []
        for anchor in self._members.anchors:
            own = [fits[other] for other in self._members.others(anchor)]
            terms.append(Term(self.density(anchor, 0.0), [fit for fit, _ in own], [slope for _, slope in own]))
        return terms

    def atoms(self) -> FloatArray | None:
        """Mass of the anchors' exact times at each break point, shape (m, n); None if there is none."""
        members = self._members
        if not any(members.templates[anchor].has_atoms.any() for anchor in members.anchors):
            return None
        mass = np.zeros_like(self.time.high)
        for anchor in members.anchors:
            rows, edges, template = self.rows(anchor, 0.0), self.edges(anchor, 0.0), members.templates[anchor]
            start = ExactSum(edges.high[:-1], edges.low[:-1])
            value = np.where(template.length_s == 0, template.mass, 0.0)
            for other in members.others(anchor):
                value = value * self._fit(other, start, atoms_after=members.window.is_symmetric and other < anchor)
            mass[rows.start : rows.stop - 1] += value
        return self.sorted(mass)

    def _fit(self, other: int, time: ExactSum, *, atoms_after: bool | None = None) -> FloatArray:
        """P(lo <= X of `other` - time <= hi), shape of `time`.

        Between break points no exact time lies on a bound. At an anchor's own exact time, `atoms_after` says whether
        that of the other must lie after the lower bound, not on it: of two that tie, one is the onset.
        """
        lo_s, hi_s = self._members.reach_s
        template = self._members.templates[other]
        until_end, since_start = self.edges(other, lo_s), self.edges(other, hi_s)
        fit = np.zeros_like(time.high)
        for bucket in range(len(template.mass)):  # sums of what is not negative: nothing cancels
            ahead = ExactSum(until_end.high[bucket + 1], until_end.low[bucket + 1]).minus(time)
            inside = np.minimum(ahead, template.length_s[bucket])
            past = time.minus(ExactSum(since_start.high[bucket], since_start.low[bucket]))
            np.minimum(inside, past, out=inside)
            np.minimum(inside, hi_s - lo_s, out=inside)
            np.maximum(inside, 0.0, out=inside)
            inside *= template.density[bucket]
            fit += inside
            if template.has_atoms.any():
                slack = 0.0 if atoms_after is None else ATOM_TOLERANCE_S
                reached = ahead > slack if atoms_after else ahead >= -slack
                atom = np.where(template.length_s[bucket] == 0, template.mass[bucket], 0.0)
                fit += atom * (reached & (past >= -slack))
        return fit


def taken(values: FloatArray, piece: PositionArray) -> FloatArray:
    """Return chosen rows of each column, in the shape of `piece`, (chosen, n)."""
    return np.take_along_axis(values, piece, axis=0)
