"""Who of a match's members is the onset, and how well the others then fit; one match per column.

The density of when a match occurred is a sum of terms f_i(t) prod_j P(t + lo <= Xj <= t + hi), one for each member i
that may be the anchor. Between neighbouring break points f_i is constant and every factor a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import FloatArray, IndexArray, PositionArray
from coincide.constraints.window import Window
from coincide.probability.piecewise import BreakPoints, RangeSums, in_rows, times_in_rows
from coincide.probability.trapezoids import ATOM_TOLERANCE_S
from coincide.templates.template_columns import TemplateColumns

Seconds = float | FloatArray
OWN, LEAST, MOST = range(3)  # where a member's edges are wanted: where they are, or a bound of the window before


@dataclass(frozen=True, eq=False)
class OwnWindows:
    """A symmetric window for each of n matches; half of it, in seconds, is given, shape (n,)."""

    hi_s: FloatArray
    is_symmetric: ClassVar[bool] = True

    @property
    def lo_s(self) -> FloatArray:
        """The lower bounds."""
        return -self.hi_s

    def take(self, rows: IndexArray) -> OwnWindows:
        """Return the windows of these matches."""
        return OwnWindows(self.hi_s[rows])


@dataclass(frozen=True, eq=False)
class Members:
    """The members of n matches, role by role: templates of n columns, and reported times in seconds from any origin.

    A window that is not symmetric is that of the second member minus the first, and there are exactly two.
    """

    templates: Sequence[TemplateColumns]
    reported: Sequence[ExactSum]
    window: Window | OwnWindows

    @property
    def anchors(self) -> range:
        """Members that may be the anchor: in a symmetric window whoever was first, otherwise the first role."""
        return range(len(self.templates) if self.window.is_symmetric else 1)

    @property
    def reach_s(self) -> tuple[Seconds, Seconds]:
        """Bounds of the others' times minus the anchor's, both closed."""
        return (0.0, self.window.hi_s) if self.window.is_symmetric else (self.window.lo_s, self.window.hi_s)

    def others(self, anchor: int) -> list[int]:
        """Return the members beside the anchor."""
        return [member for member in range(len(self.templates)) if member != anchor]

    def edges_before(self, member: int, by_s: Seconds) -> ExactSum:
        """Return the times `by_s` before the member's edges, shape (k + 1, n)."""
        reported = self.reported[member]
        placed = difference_of(self.templates[member].edges_s, -reported.high)
        moved = difference_of(placed.high, by_s)
        return difference_of(moved.high, -(moved.low + placed.low + reported.low))  # so that high sorts them


@dataclass(frozen=True, eq=False)
class AnchorDensity:
    """One anchor's density per second on pieces of time; how the others fit in their middle, and its slope."""

    density: FloatArray
    fit: list[FloatArray]
    slope: list[FloatArray]

    def at(self, from_middle_s: FloatArray) -> FloatArray:
        """Return the density at a time in each piece, counted from its middle."""
        value = self.density
        for fit, slope in zip(self.fit, self.slope, strict=True):
            value = value * np.maximum(fit + slope * from_middle_s, 0.0)
        return value

    def take(self, piece: PositionArray) -> AnchorDensity:
        """Return the density on chosen pieces of each column, given as an array of shape (chosen, n)."""
        fit, slope = ([in_rows(each, piece) for each in factors] for factors in (self.fit, self.slope))
        return AnchorDensity(in_rows(self.density, piece), fit, slope)


class AnchorDensities:
    """The `breaks` at which the density of a match's time bends, and what each anchor adds to it between them."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._least = OWN if members.window.is_symmetric else LEAST  # the least is 0 there
        by_s = 0.0, *members.reach_s
        shifts = {(anchor, OWN) for anchor in members.anchors}
        shifts |= {
            (other, end)
            for anchor in members.anchors
            for other in members.others(anchor)
            for end in (self._least, MOST)
        }
        self._edges = {(member, end): members.edges_before(member, by_s[end]) for member, end in sorted(shifts)}
        self._number = {shift: number for number, shift in enumerate(self._edges)}
        self.breaks = BreakPoints(list(self._edges.values()))

    def spread(self) -> list[AnchorDensity]:
        """Return the density of every anchor."""
        others = sorted({other for anchor in self._members.anchors for other in self._members.others(anchor)})
        middle = self.breaks.middle
        fits = {other: self._fit_in_middle(other, middle) for other in others}
        densities = []
        for anchor in self._members.anchors:
            own = [fits[other] for other in self._members.others(anchor)]
            fit, slopes = [fit for fit, _ in own], [slope for _, slope in own]
            densities.append(AnchorDensity(self._density(anchor, OWN), fit, slopes))
        return densities

    def atoms(self) -> FloatArray | None:
        """Mass of the anchors' exact times at each break point, shape (m, n); None if there is none."""
        members = self._members
        if not any(members.templates[anchor].has_atoms.any() for anchor in members.anchors):
            return None
        mass = np.zeros_like(self.breaks.time.high)
        for anchor in members.anchors:
            edges, template = self._edges[anchor, OWN], members.templates[anchor]
            start = ExactSum(edges.high[:-1], edges.low[:-1])
            value = np.where(template.length_s == 0, template.mass, 0.0)
            for other in members.others(anchor):
                value = value * self._fit_at(start, other, atoms_after=members.window.is_symmetric and other < anchor)
            part = self.breaks.part(self._number[anchor, OWN])
            mass[part.start : part.stop - 1] += value
        return self.breaks.sorted(mass)

    def _behind(self, member: int, end: int) -> PositionArray:
        """How many of the member's edges lie before each piece, or no further after it than `end`, shape (m - 1, n)."""
        return self.breaks.behind(self._number[member, end])[:-1]

    def _density(self, member: int, end: int) -> FloatArray:
        """Return the member's density on each piece, or `end` after it, shape (m - 1, n); 0 beyond its edges."""
        return self.breaks.between(self._number[member, end], self._members.templates[member].density)

    def _fit_in_middle(self, other: int, middle: ExactSum) -> tuple[FloatArray, FloatArray]:
        """P(lo <= X of `other` - time <= hi) in the middle of each piece, and its slope there; shape (m - 1, n).

        What is added is not negative, so nothing cancels: a part of the bucket in which the window begins, all those
        after it, and a part of the one in which it ends.
        """
        lo_s, hi_s = self._members.reach_s
        first, last = self._behind(other, self._least), self._behind(other, MOST)
        begins, ends = self._density(other, self._least), self._density(other, MOST)
        edges, masses = len(self._members.templates[other].edges_s), RangeSums(self._members.templates[other].mass)
        until_next = times_in_rows(self._edges[other, self._least], np.minimum(first, edges - 1)).minus(middle)
        since_last = middle.minus(times_in_rows(self._edges[other, MOST], np.maximum(last - 1, 0)))
        parts = begins * until_next + ends * since_last + masses.between(first, last - 1)
        return np.where(first == last, begins * (hi_s - lo_s), parts), ends - begins

    def _fit_at(self, time: ExactSum, other: int, *, atoms_after: bool) -> FloatArray:
        """P(lo <= X of `other` - time <= hi) at an anchor's own exact times, shape of `time`.

        `atoms_after` says whether the other's exact time must lie after the lower bound, not on it.
        """
        lo_s, hi_s = self._members.reach_s
        template = self._members.templates[other]
        until_end, since_start = self._edges[other, self._least], self._edges[other, MOST]
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
                reached = ahead > ATOM_TOLERANCE_S if atoms_after else ahead >= -ATOM_TOLERANCE_S
                atom = np.where(template.length_s[bucket] == 0, template.mass[bucket], 0.0)
                fit += atom * (reached & (past >= -ATOM_TOLERANCE_S))
        return fit
