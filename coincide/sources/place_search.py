"""The search for the places that explain some reports: cells are halved where the reports leave room.

Nothing is lost in silence: a cell goes if no place in it explains all reports, or if the upper bound on what it can
hold is small beside the rest. What may have been lost so is summed up. The work is bounded by the cells that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.places.travel_times import TravelTimes
from coincide.sources.arrivals import Arrivals
from coincide.sources.report_density import ReportDensity

MOST_ROUNDS = 80
ENOUGH_CELLS = 400  # to look at in one round; one by one, rounds of a few cost more than the cells
MOST_CELLS = 2_000  # kept of one round
FEW_CELLS = 600  # so many are halved without a bound, which costs more than to see whether they are possible
FINE = {2: 80.0, 3: 100.0}  # of so many cells of like weight a region is made: two or more a deviation
LEAST_SHARE = 3e-3  # of the mass may go in one round, by its bounds
TRIED = 64  # cells of greatest bounds, whose middles say of which size the mass is
LEAST_LOG_MASS = -1e300  # of cells whose middles explain nothing: then only nothing may go


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes of one size: their middles, (n, 3), and half their size, (3,)."""

    centres_m: FloatArray
    half_m: FloatArray

    def __len__(self) -> int:
        return len(self.centres_m)

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of each, over the axes along which they are not flat."""
        return float(np.log(2 * self.half_m[self.half_m > 0]).sum())

    def take(self, rows: BoolArray | PositionArray) -> Cells:
        """Return some of them."""
        return Cells(self.centres_m[rows], self.half_m)

    def halved(self, axis: int) -> Cells:
        """Return both halves of each along an axis."""
        half = self.half_m.copy()
        half[axis] /= 2
        step = np.zeros(3)
        step[axis] = half[axis]
        return Cells(np.concatenate((self.centres_m - step, self.centres_m + step)), half)

    def divided(self, steepest: FloatArray) -> Cells:
        """Return parts of each: halved along the axes with the greatest change, until there are enough to look at."""
        cells, left = self, steepest.copy()
        for _ in range(3):
            axis = int(np.argmax(left))
            cells = cells.halved(axis)
            left[axis] /= 2
            if len(cells) >= ENOUGH_CELLS:
                break
        return cells


@dataclass(frozen=True, eq=False)
class FoundCells:
    """The cells in which the source may be, and the logarithm of the density of the reports from the middle of each.

    `log_lost` bounds the mass (density times volume) of all cells that went: minus infinity if it is nothing.
    """

    cells: Cells
    arrivals: Arrivals
    log_density: FloatArray
    log_lost: float

    @property
    def weight(self) -> FloatArray:
        """Share of each cell in the mass of all, shape (n,)."""
        return shares(self.log_density)

    @property
    def log_mass(self) -> float:
        """Logarithm of the integral of the density over all places."""
        return log_sum(self.log_density) + self.cells.log_volume


def found_cells(density: ReportDensity, travel: TravelTimes, members_m: FloatArray, box: Cells) -> FoundCells | None:
    """Halve cells until those that weigh are fine; None if no place explains the reports."""
    cells, log_lost = box, -np.inf
    fine = FINE[2 if box.half_m[2] == 0 else 3]
    arrivals = Arrivals.of(travel, members_m, cells.centres_m, cells.half_m)
    for _ in range(MOST_ROUNDS):
        cells = cells.divided(arrivals.steepest)
        arrivals = Arrivals.of(travel, members_m, cells.centres_m, cells.half_m)
        cells, arrivals = _chosen(cells, arrivals, density.may_be(arrivals))
        if not len(cells):
            return None
        if len(cells) <= FEW_CELLS:
            continue
        bound = density.log_bound(arrivals)
        if bound.max() == -np.inf:
            return None
        kept = _worth_keeping(bound, _least_mass(density, arrivals, bound))
        log_lost = np.logaddexp(log_lost, log_sum(np.delete(bound, kept)) + cells.log_volume)
        cells, arrivals = _chosen(cells, arrivals, kept)
        if effective_count(shares(bound[kept])) < 1.5 * fine:  # bounds are flatter than what they bound
            continue
        log_density = density.log_density(arrivals)
        if log_density.max() > -np.inf and effective_count(shares(log_density)) >= fine:
            break
    else:
        log_density = density.log_density(arrivals)
        if log_density.max() == -np.inf:
            return None
    return FoundCells(cells, arrivals, log_density, float(log_lost))


def _chosen(cells: Cells, arrivals: Arrivals, rows: BoolArray | PositionArray) -> tuple[Cells, Arrivals]:
    return cells.take(rows), arrivals.take(rows)


def _least_mass(density: ReportDensity, arrivals: Arrivals, bound: FloatArray) -> float:
    """Return the logarithm of what the middles of the best cells make of the sum that the bounds are above."""
    best = np.argpartition(bound, -min(TRIED, len(bound)))[-TRIED:]
    return log_sum(density.log_density(arrivals.take(best)))


def _worth_keeping(bound: FloatArray, log_mass: float) -> PositionArray:
    """Return the rows of the greatest bounds: all but what adds up to a small share of the mass, and not too many."""
    order = np.argsort(bound)
    below = np.cumsum(np.exp(np.minimum(bound[order] - max(log_mass, LEAST_LOG_MASS), 0.0)))
    gone = max(int(np.searchsorted(below, LEAST_SHARE)), len(order) - MOST_CELLS)
    return np.sort(order[gone:])


def shares(log_weight: FloatArray) -> FloatArray:
    """Return weights that add up to 1; none where all are nothing."""
    most = log_weight.max(initial=-np.inf)
    weight = np.exp(log_weight - most) if most > -np.inf else np.zeros_like(log_weight)
    return weight / max(float(weight.sum()), 1e-300)


def log_sum(log_weight: FloatArray) -> float:
    """Return the logarithm of the sum of the weights."""
    most = float(log_weight.max(initial=-np.inf))
    return most if most == -np.inf else most + float(np.log(np.exp(log_weight - most).sum()))


def effective_count(share: FloatArray) -> float:
    """Return of how many equal shares the entropy would be that of these: 4 of four alike, 1 of one that has all."""
    positive = share[share > 0]
    return float(np.exp(-(positive * np.log(positive)).sum()))
