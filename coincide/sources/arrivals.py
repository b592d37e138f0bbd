"""Arrivals: when what a source makes comes to each member, and by how much that can differ inside a cell of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.places.travel_times import TravelTimes


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Travel times from n places to k members.

    The time of the source is not known, so only differences count: `apart_s` is each travel time less the mean of all.

    Attributes
    ----------
    mean_s : ndarray of float64, shape (n,)
    apart_s : ndarray of float64, shape (n, k)
    within_s : ndarray of float64, shape (n, k)
        So much `apart_s` can differ anywhere in the cell around the place, at most.
    steepest : ndarray of float64, shape (3,)
        Greatest change of any `apart_s` over half a cell along each axis, on average over the cells.
    """

    mean_s: FloatArray
    apart_s: FloatArray
    within_s: FloatArray
    steepest: FloatArray

    @classmethod
    def of(cls, travel: TravelTimes, members_m: FloatArray, centres_m: FloatArray, half_m: FloatArray) -> Arrivals:
        """Return those of cells of one size; with half a size of 0 those of places.

        A travel time is as long as its distance makes it, and distances to a box have exact ends. That bounds each
        time, but not well their differences, which are what counts far away. Those follow their gradient, to within
        what the gradient itself can change in the cell. The smaller of both bounds is taken.
        """
        away = centres_m[:, None] - members_m
        distance_m = np.sqrt((away * away).sum(axis=2))
        time_s = travel.time_s(distance_m)
        nearest_m = np.sqrt((np.maximum(np.abs(away) - half_m, 0.0) ** 2).sum(axis=2))
        furthest_m = np.sqrt(((np.abs(away) + half_m) ** 2).sum(axis=2))
        ends_s = np.maximum(travel.time_s(furthest_m) - time_s, time_s - travel.time_s(nearest_m))
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = away * (travel.slowness_at_s_m(distance_m) / distance_m)[..., None]
            bend_s = _bend_s(travel, nearest_m, furthest_m, float(np.sqrt((half_m * half_m).sum())))
        gradient = np.nan_to_num(gradient, nan=0.0, posinf=0.0, neginf=0.0)  # at a member, where it bends without bound
        slope = np.abs(gradient - gradient.mean(axis=1, keepdims=True))
        straight_s = slope @ half_m + bend_s + bend_s.mean(axis=1, keepdims=True)
        within_s = np.minimum(straight_s, ends_s + ends_s.mean(axis=1, keepdims=True))
        mean_s = time_s.mean(axis=1)
        steepest = slope.max(axis=1).mean(axis=0) * half_m
        return cls(mean_s, time_s - mean_s[:, None], within_s, steepest)

    def take(self, rows: BoolArray | PositionArray) -> Arrivals:
        """Return those of some places."""
        return Arrivals(self.mean_s[rows], self.apart_s[rows], self.within_s[rows], self.steepest)


def _bend_s(travel: TravelTimes, nearest_m: FloatArray, furthest_m: FloatArray, reach_m: float) -> FloatArray:
    """Return how much a time can differ from a straight line within reach: directions turn, and speeds change."""
    steep = travel.slowness_at_s_m(nearest_m)
    turning_s = steep * (reach_m * reach_m / 2) / nearest_m
    return np.nan_to_num(turning_s, nan=0.0, posinf=np.inf) + (steep - travel.slowness_at_s_m(furthest_m)) * reach_m
