"""nearest_places: of sets of reports, the place from which the times fit best, by least squares.

A step of Gauss and Newton for all sets at once, damped as Levenberg and Marquardt say. It costs a hundredth of a search
over places. It may end in the wrong one of two places, or outside of the box: then a search has to look.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.places.travel_times import TravelTimes

STEPS = 12
LEAST_M = 1e-3  # of a distance whose direction counts
DAMPING = 1e-4
TO_MILLIMETRES = 3  # so that a last digit depends on nothing


def nearest_places(
    travel: TravelTimes, members_m: FloatArray, at_s: FloatArray, low_m: FloatArray, high_m: FloatArray
) -> FloatArray:
    """Return the place of each set.

    Parameters
    ----------
    travel : TravelTimes
    members_m : ndarray of float64, shape (n, k, 3)
        Where the members are.
    at_s : ndarray of float64, shape (n, k)
        When what they heard came, by the means of their templates.
    low_m, high_m : ndarray of float64, shape (n, 3)
        The box in which the source is.

    Returns
    -------
    ndarray of float64, shape (n, 3)
    """
    starts = _starts(members_m, at_s, low_m, high_m)
    found = [_descended(travel, members_m, at_s, low_m, high_m, start) for start in starts]
    places = np.stack([place for place, _ in found])
    best = np.argmin([misfit for _, misfit in found], axis=0)
    rounded: FloatArray = np.round(places[best, np.arange(len(members_m))], TO_MILLIMETRES)
    return rounded


def _starts(members_m: FloatArray, at_s: FloatArray, low_m: FloatArray, high_m: FloatArray) -> list[FloatArray]:
    """Return beginnings: the middle of the members, and half-way from it to the first."""
    middle_m, middle_of_box_m = members_m.mean(axis=1), (low_m + high_m) / 2
    first_m = members_m[np.arange(len(members_m)), np.argmin(at_s, axis=1)]
    starts = [middle_m, middle_m + (first_m - middle_m) * 0.5]
    for start in starts:
        start[:, 2] = middle_of_box_m[:, 2]
    return starts


def _descended(
    travel: TravelTimes,
    members_m: FloatArray,
    at_s: FloatArray,
    low_m: FloatArray,
    high_m: FloatArray,
    start_m: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    place_m = start_m.copy()
    free: BoolArray = np.asarray((high_m > low_m).any(axis=0))
    best_m, least = place_m, np.full(len(place_m), np.inf)
    damping = np.full(len(place_m), DAMPING)
    for _ in range(STEPS):
        late_s, slope = _misfits(travel, members_m, at_s, place_m, free)
        misfit = (late_s * late_s).sum(axis=1)
        better: BoolArray = misfit < least
        least, best_m = np.where(better, misfit, least), np.where(better[:, None], place_m, best_m)
        damping = np.where(better, damping / 4, damping * 8)
        step_m = np.zeros_like(place_m)
        step_m[:, free] = _step_m(late_s, slope, damping)
        place_m = np.clip(np.where(better[:, None], place_m, best_m) + step_m, low_m, high_m)
    return best_m, least


def _misfits(
    travel: TravelTimes, members_m: FloatArray, at_s: FloatArray, place_m: FloatArray, free: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return how late each member is beside the others, (n, k), and how that changes along each axis, (n, k, axes)."""
    away_m = place_m[:, None] - members_m
    distance_m = np.sqrt((away_m * away_m).sum(axis=2))
    late_s = at_s - travel.time_s(distance_m)
    steep = travel.slowness_at_s_m(distance_m) / np.maximum(distance_m, LEAST_M)
    slope = away_m[:, :, free] * steep[:, :, None]
    return late_s - late_s.mean(axis=1, keepdims=True), slope - slope.mean(axis=1, keepdims=True)


def _step_m(late_s: FloatArray, slope: FloatArray, damping: FloatArray) -> FloatArray:
    curve = (slope[:, :, :, None] * slope[:, :, None, :]).sum(axis=1)
    size = np.trace(curve, axis1=1, axis2=2) + 1e-300
    curve += (damping * size)[:, None, None] * np.eye(curve.shape[1])
    down = (slope * late_s[:, :, None]).sum(axis=1)
    step: FloatArray = np.linalg.solve(curve, down[:, :, None])[:, :, 0]
    return step
