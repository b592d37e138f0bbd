"""Arrivals: when what a source makes comes to each member, and by how much that can differ inside a cell of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.places.travel_times import TravelTimes

LEAST_M = 1e-9  # of a distance whose direction counts


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
        Change of `apart_s` over half a cell along each axis, on average over members and cells.
    """

    mean_s: FloatArray
    apart_s: FloatArray
    within_s: FloatArray
    steepest: FloatArray

    @classmethod
    def of(cls, travel: TravelTimes, members_m: FloatArray, centres_m: FloatArray, half_m: FloatArray) -> Arrivals:
        """Return those of cells of one size; with half a size of 0 those of places.

        A travel time follows its gradient to within what that can change in the cell, and changes no more than the
        distance does. The smaller of both counts. Their differences are bounded better by the differences of the
        gradients: far away, all times change together.
        """
        axes = [axis for axis in range(3) if half_m[axis] > 0]
        aways = [centres_m[:, axis, None] - members_m[:, axis] for axis in range(3)]
        distance_m = np.sqrt(sum(away * away for away in aways))
        time_s = travel.time_s(distance_m)
        mean_s = _mean(time_s)
        apart_s = time_s - mean_s[:, None]
        if not axes:
            return cls(mean_s, apart_s, np.zeros_like(apart_s), np.zeros(3))
        reach_m = float(np.sqrt(half_m @ half_m))
        bend_s, ends_s = _bounds_s(travel, distance_m, time_s, reach_m)
        # At a member there is no direction; any will do, for what the bend allows is without bound.
        steep = travel.slowness_at_s_m(distance_m) / np.maximum(distance_m, LEAST_M)
        along_s, across_s, steepest = bend_s.copy(), bend_s + _mean(bend_s)[:, None], np.zeros(3)
        for axis in axes:
            change_s = aways[axis] * steep
            change_s *= half_m[axis]
            along_s += np.abs(change_s)
            change_s -= _mean(change_s)[:, None]
            np.abs(change_s, out=change_s)
            across_s += change_s
            steepest[axis] = change_s.mean()
        ends_s = np.minimum(ends_s, along_s)
        return cls(mean_s, apart_s, np.minimum(across_s, ends_s + _mean(ends_s)[:, None]), steepest)

    def take(self, rows: BoolArray | PositionArray) -> Arrivals:
        """Return those of some places."""
        return Arrivals(self.mean_s[rows], self.apart_s[rows], self.within_s[rows], self.steepest)


def _mean(of_members: FloatArray) -> FloatArray:
    """Return the mean of each row; a product is several times as fast as a mean of short rows."""
    members = of_members.shape[1]
    mean: FloatArray = of_members @ np.full(members, 1 / members)
    return mean


def _bounds_s(
    travel: TravelTimes, distance_m: FloatArray, time_s: FloatArray, reach_m: float
) -> tuple[FloatArray, FloatArray]:
    """Return how much a time can differ within reach from its gradient, and how much at all.

    Directions turn, and speeds change.
    """
    nearest_m, furthest_m = np.maximum(distance_m - reach_m, 0.0), distance_m + reach_m
    ends_s = np.maximum(travel.time_s(furthest_m) - time_s, time_s - travel.time_s(nearest_m))
    steep = travel.slowness_at_s_m(nearest_m)
    with np.errstate(divide="ignore"):
        bend_s = steep * (reach_m * reach_m / 2) / nearest_m
    bend_s += (steep - travel.slowness_at_s_m(furthest_m)) * reach_m
    return bend_s, ends_s
