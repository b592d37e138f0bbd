"""OnsetGrid: when members that share clocks occurred, and how slow each clock was, on even grids of one step.

Members of one clock are dependent, those of different clocks are not. So the probability that each member lies in a
stretch of time of its own is a product over clocks. A factor is the product of its members' own errors, as a function
of the onset minus the clock's offset, convolved with the clock's error. Each clock costs two convolutions of one
dimension, however many there are.

The onset lies in a cell of the grid, and the others fit, if all members lie in the stretch that begins with the cell
but not all in the one that begins with the next. A stretch that ends as if the onset were at the cell's start gives a
lower bound, and one as if it were at its end an upper bound. Half of each is taken. It is right to about a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.templates.histogram import Histogram

NEGLIGIBLE = 1e-7  # a share of the mass that may be left out at either end
CELLS_AROUND = 2  # kept beyond what is not negligible: a sum of two cells is up to two cells wide

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class PlacedError:
    """A member's error where it was reported, and the stretch of time that the member must lie in.

    The stretch `reach_s` is relative to the start of the onset's cell. In each term its ends are `moves` cells later.
    """

    error: Histogram
    reported_s: float
    reach_s: Interval
    moves: Sequence[tuple[int, int]]

    @property
    def onset_s(self) -> Interval:
        """Between which times the onset must be for the member to be within reach, its clock being right."""
        from_s, to_s = self.reach_s
        earliest_s, latest_s = self.error.edges_s[[0, -1]].tolist()  # a template on a clock may say more than its own
        return self.reported_s + earliest_s - to_s, self.reported_s + latest_s - from_s

    def terms(self, starts_s: FloatArray) -> FloatArray:
        """Return the probability of each term's stretch, shape (terms, n), for n + 1 neighbouring starts."""
        low, high = (self._up_to(starts_s + end_s) for end_s in self.reach_s)
        count = len(starts_s) - 1
        return np.array([np.maximum(high[b : b + count] - low[a : a + count], 0.0) for a, b in self.moves])

    def _up_to(self, time_s: FloatArray) -> FloatArray:
        before = np.concatenate(([0.0], np.cumsum(self.error.mass)))
        return np.interp(time_s - self.reported_s, self.error.edges_s, before)  # an exact time counts from itself on


@dataclass(frozen=True, eq=False)
class ClockMembers:
    """All members on one clock: their `own` errors, and that of the clock.

    A lone one counts for the others by its whole error, `alone`, and needs no integral.
    """

    own: Sequence[PlacedError]
    error: Histogram
    alone: PlacedError | None

    @property
    def onset_s(self) -> Interval:
        """Between which times the onset must be for these members to be within reach."""
        if self.alone:
            return self.alone.onset_s
        starts_s, ends_s = zip(*(each.onset_s for each in self.own), strict=True)
        return max(starts_s) + self.error.earliest_s, min(ends_s) + self.error.latest_s

    def offset_s(self, onset_s: Interval) -> Interval:
        """Between which offsets the clock must be for these members to be within reach of an onset."""
        starts_s, ends_s = zip(*(each.onset_s for each in self.own), strict=True)
        least_s = max(self.error.earliest_s, onset_s[0] - min(ends_s))
        most_s = min(self.error.latest_s, onset_s[1] - max(starts_s))
        return (least_s, most_s) if least_s <= most_s else (self.error.earliest_s, self.error.latest_s)


@dataclass(frozen=True, eq=False)
class GridDensity:
    """Masses of the stretches between neighbouring times, each spread evenly; shapes (n + 1,) and (n,)."""

    edges_s: FloatArray
    mass: FloatArray

    @cached_property
    def _share(self) -> FloatArray:
        total = self.mass.sum()  # nothing is left only of what is less probable than rounding
        share: FloatArray = self.mass / total if total > 0 else np.full(len(self.mass), 1 / len(self.mass))
        return share

    @cached_property
    def mean_s(self) -> float:
        """Expected time."""
        return float(self._share @ (self.edges_s[:-1] + self.edges_s[1:])) / 2

    @property
    def std_s(self) -> float:
        """Standard deviation."""
        middle_s, width_s = (self.edges_s[:-1] + self.edges_s[1:]) / 2, np.diff(self.edges_s)
        return float(np.sqrt(self._share @ ((middle_s - self.mean_s) ** 2 + width_s**2 / 12)))

    def quantile_s(self, share: float) -> float:
        """Return the time up to which a share of the mass lies."""
        up_to = np.append(0.0, np.cumsum(self._share))
        return float(np.interp(share, up_to / up_to[-1], self.edges_s))

    def central_s(self) -> Interval:
        """Return the times between which all but a negligible mass lies."""
        up_to = np.cumsum(self._share)
        found = np.flatnonzero((up_to > NEGLIGIBLE) & (up_to - self._share < 1 - NEGLIGIBLE))
        first, last = int(found[0]) - CELLS_AROUND, int(found[-1]) + 1 + CELLS_AROUND
        return float(self.edges_s[max(first, 0)]), float(self.edges_s[min(last, len(self.mass))])


@dataclass(frozen=True, eq=False)
class OnsetGrid:
    """One match: its members, the sign of each term, and between which onsets and offsets of clocks it is looked at."""

    clocks: Sequence[ClockMembers]
    others: Sequence[PlacedError]  # on no clock
    signs: FloatArray
    onset_s: Interval
    offsets_s: Sequence[Interval]
    step_s: float

    @cached_property
    def onset(self) -> GridDensity:
        """When it occurred; its mass is about the probability of the match."""
        if self._is_of_one_clock:  # one convolution, of the sum of all terms
            mass = np.convolve(self.signs @ self._own[0], self._cells[0][1], "valid")
        else:
            mass = self.signs @ np.prod(self._factors, axis=0)
        return GridDensity(self._starts_s, np.maximum(mass, 0.0))

    @cached_property
    def offsets(self) -> list[GridDensity]:
        """How slow each clock was."""
        return [self._offset(number) for number in range(len(self.clocks))]

    @property
    def _is_of_one_clock(self) -> bool:
        """Whether a clock has all members: it cancels, and the match tells nothing of it."""
        return len(self.clocks) == 1 and not self.others

    @cached_property
    def _starts_s(self) -> FloatArray:
        return self._grid(self.onset_s)

    def _grid(self, between_s: Interval) -> FloatArray:
        """Return edges of cells that cover an interval and more than a cell on either side: terms are means of two."""
        count = int(np.ceil((between_s[1] - between_s[0]) / self.step_s)) + 4
        return between_s[0] + self.step_s * (np.arange(count, dtype=np.float64) - 1.5)

    @cached_property
    def _factors(self) -> list[FloatArray]:
        """The probability of each clock's stretches at each onset, shape (terms, onsets); then of the others'."""
        return [
            *(self._on_clock(number) for number in range(len(self.clocks))),
            *(each.terms(self._starts_s) for each in self.others),
        ]

    def _on_clock(self, number: int) -> FloatArray:
        alone, (_, weight) = self.clocks[number].alone, self._cells[number]
        if alone:
            return alone.terms(self._starts_s)
        return np.array([np.convolve(term, weight, "valid") for term in self._own[number]])

    @cached_property
    def _cells(self) -> list[tuple[FloatArray, FloatArray]]:
        """Edges of the cells of each clock's offset, and their probabilities before the match."""
        grids = [self._grid(each) for each in self.offsets_s]
        return [(grid, np.diff(each.error.cdf(grid))) for each, grid in zip(self.clocks, grids, strict=True)]

    @cached_property
    def _own(self) -> list[FloatArray]:
        """Terms of the own errors on each clock, by the onset minus the offset: means over a cell of the offset."""
        return [self._own_on(number) for number in range(len(self.clocks))]

    def _own_on(self, number: int) -> FloatArray:
        edges_s, weight = self._cells[number]
        count: Int64Array = np.arange(len(self._starts_s) + len(weight))
        starts_s = self._starts_s[0] - edges_s[-1] + self.step_s * count
        terms = np.prod([each.terms(starts_s) for each in self.clocks[number].own], axis=0)
        means: FloatArray = (terms[:, 1:] + terms[:, :-1]) / 2
        return means

    def _offset(self, number: int) -> GridDensity:
        error, (edges_s, weight) = self.clocks[number].error, self._cells[number]
        if self._is_of_one_clock:
            return GridDensity(error.edges_s, error.mass)
        others = self._factors[:number] + self._factors[number + 1 :]
        rest = np.prod(others, axis=0) * np.repeat(self.signs[:, None], len(self._starts_s) - 1, axis=1)
        terms = [np.correlate(own, each, "valid") for own, each in zip(self._own[number], rest, strict=True)]
        mass = np.maximum(weight * np.flip(np.sum(terms, axis=0)), 0.0)
        if not mass.any():  # a whole error that was learnt may allow what its parts do not: that tells nothing of them
            return GridDensity(error.edges_s, error.mass)
        return GridDensity(np.clip(edges_s, error.earliest_s, error.latest_s), mass)
