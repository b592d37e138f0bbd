"""Satisfaction times by the paper's own way: find the configuration, solve its quadratic equation.

The readable twin of `coincide.offsets.long_windows`, one pair of timestamps at a time, in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.constraints.window import checked_threshold
from coincide.errors import ThresholdError
from coincide.offsets.long_windows import PROBABILITY_TOLERANCE, least_probability
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge


def satisfaction_time(h_i: HistogramTimestamp, h_j: HistogramTimestamp, delta: float) -> float:
    """stime(H_i, H_j, delta) of Definition 8: H_j moved so that max(H_j) is this time, prob(H_i >= H_j) = delta.

    A bucket of no mass makes that true of many times: Lemma 3 fails there, and with it the paper's "a time point". This
    is the latest of them, because Equation 8 asks up to when the constraint holds.
    """
    return h_j.max + greatest_shift(h_i, h_j, delta)


def earliest_satisfaction_time(h_i: HistogramTimestamp, h_j: HistogramTimestamp, delta: float) -> float:
    """stime(H_i, H_j, 1 - delta) as Equation 9 needs it: the earliest max(H_j) with prob(H_j >= H_i) >= delta.

    On a plateau the paper's time is any of an interval's. This is the earliest of them, because Equation 9 asks from
    when the constraint holds. It comes from the same search with the roles swapped, not from 1 - delta, which rounds.
    """
    return h_j.max - greatest_shift(h_j, h_i, delta)


def greatest_shift(h_i: HistogramTimestamp, h_j: HistogramTimestamp, delta: float) -> float:
    """Greatest x with prob(H_i - x >= H_j) >= delta."""
    breaks = break_points(h_i, h_j)
    first, last = bounding_configuration(h_i, h_j, delta)
    start, end = float(breaks[first]), float(breaks[last])
    return start if first == last else quadratic_between(h_i, h_j, start, end).root(delta)


def checked_delta(delta: float) -> float:
    """Return `delta` if it is between 0 and 1 as Definition 7 wants it, else raise ThresholdError."""
    if checked_threshold(delta) == 1.0:
        raise ThresholdError("threshold", delta, "below 1 for the paper's algorithms; timing_join takes 1 too")
    return float(delta)


def break_points(h_i: HistogramTimestamp, h_j: HistogramTimestamp) -> FloatArray:
    """Return the x at which time points of H_i and of H_j + x meet, in order: the configuration changes only there."""
    return np.unique(np.subtract.outer(h_i.points, h_j.points))


def configuration(h_i: HistogramTimestamp, h_j: HistogramTimestamp, x: float) -> tuple[int, ...]:
    """Return in which bucket of H_i each time point of H_j + x is: 0 before the first, n after the last too."""
    return tuple(np.minimum(np.searchsorted(h_i.points, h_j.points + x, side="right"), len(h_i)).tolist())


def quantile_bounds(h_i: HistogramTimestamp, h_j: HistogramTimestamp, delta: float) -> tuple[float, float]:
    """Return the range of x in which prob(H_i - x >= H_j) comes down to delta.

    It goes from max(min(H_i) - t_j, t_i - max(H_j)) to min(max(H_i) - t_j, t_i - min(H_j)), where P(X_i <= t_i) is
    1 - delta and P(X_j <= t_j) is delta. A bucket of no mass makes many such t_i or t_j. Only the latest t_i and the
    earliest t_j bound the latest satisfaction time. About half of the configurations remain, so the binary search is
    one step shorter.
    """
    enough = least_probability(checked_delta(delta))
    t_i = -_quantile(-h_i.points[::-1], h_i.mass[::-1], enough)
    t_j = _quantile(h_j.points, h_j.mass, enough)
    return max(h_i.min - t_j, t_i - h_j.max), min(h_i.max - t_j, t_i - h_j.min)


def bounding_configuration(h_i: HistogramTimestamp, h_j: HistogramTimestamp, delta: float) -> tuple[int, int]:
    """Return the break points (positions) between which prob(H_i - x >= H_j) comes down to delta, by binary search.

    Both positions are the same where an exact time makes the probability jump at the last break point.
    """
    breaks, enough = break_points(h_i, h_j), least_probability(checked_delta(delta))
    least, greatest = quantile_bounds(h_i, h_j, delta)
    passing = max(int(np.searchsorted(breaks, least, side="right")) - 1, 0)
    failing = max(int(np.searchsorted(breaks, greatest, side="right")), passing + 1)
    while failing - passing > 1:
        middle = (passing + failing) // 2
        if ge(h_i - breaks[middle], h_j) >= enough:
            passing = middle
        else:
            failing = middle
    return passing, min(failing, len(breaks) - 1)


@dataclass(frozen=True)
class Quadratic:
    """prob(H_i - x >= H_j) = constant + slope s + curvature s^2 with s = x - start, as long as start < x <= end."""

    start: float
    end: float
    constant: float
    slope: float
    curvature: float

    def root(self, delta: float) -> float:
        """Return the x at which the probability is delta, or the end that is nearest to it.

        Where delta is met at an end up to rounding, the root is the break point itself, and not where rounding takes
        the square root of next to nothing.
        """
        length = self.end - self.start
        excess = self.constant - delta
        excess_at_end = self.constant + length * (self.slope + length * self.curvature) - delta
        if excess <= PROBABILITY_TOLERANCE:
            return self.start
        if excess_at_end >= -PROBABILITY_TOLERANCE:
            return self.end
        # it falls from above delta to below: one crossing, and this form of it does not cancel
        spread = math.sqrt(max(self.slope**2 - 4 * self.curvature * excess, 0.0))
        return min(self.start + 2 * excess / (spread - self.slope), self.end)


def quadratic_between(h_i: HistogramTimestamp, h_j: HistogramTimestamp, start: float, end: float) -> Quadratic:
    """Return the quadratic of the configuration between two neighbouring break points.

    Three probabilities by Theorem 1 fix it. They are taken inside, because an exact time makes the probability jump at
    the start.
    """
    length = end - start
    first, second, third = (ge(h_i - (start + share * length), h_j) for share in (0.25, 0.5, 0.75))
    bend = 8 * (first - 2 * second + third)
    rise = 2 * (third - first) - bend
    return Quadratic(start, end, second - rise / 2 - bend / 4, rise / length, bend / length**2)


def _quantile(points: FloatArray, mass: FloatArray, p: float) -> float:
    """Return the earliest t with P(X <= t) >= p."""
    below = np.concatenate(([0.0], np.cumsum(mass)))
    bucket = min(int(np.searchsorted(below, p, side="left")), len(mass)) - 1
    share = (p - below[bucket]) / mass[bucket]
    return float(points[bucket] + min(share, 1.0) * (points[bucket + 1] - points[bucket]))
