"""The offsets tb - ta at which two events match: the satisfaction times of the papers, for any window."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from coincide.difference import ATOM_TOLERANCE_S, Difference, match_probability
from coincide.errors import ThresholdError
from coincide.histogram import FloatArray, Histogram
from coincide.window import Window

OffsetArray = npt.NDArray[np.int64]

PROBABILITY_TOLERANCE = 5e-13  # half of the promised 1e-12, the rest is for rounding


def checked_threshold(threshold: float) -> float:
    """Return `threshold` as a float if it is in (0, 1], else raise ThresholdError."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise ThresholdError("threshold", threshold, "a number above 0 and at most 1")
    return float(threshold)


def satisfaction_offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> OffsetArray:
    """Offsets tb - ta at which P(lo <= Xb - Xa <= hi) >= threshold.

    Parameters
    ----------
    u, v : Histogram
        Templates of a and of b.
    window : Window
    threshold : float
        In (0, 1]; 1 means that every possible pair of times lies in the window.

    Returns
    -------
    ndarray of int64, shape (n, 2)
        Closed, disjoint intervals in microseconds, in order; n = 0 if no offset qualifies. Every offset inside
        has P >= threshold - 1e-12, every one outside P < threshold + 1e-12.

    Examples
    --------
    >>> satisfaction_offsets(Histogram.point(), Histogram.uniform(-2, 0), Window(5), 0.5)
    array([[-4000000,  6000000]])
    """
    threshold = checked_threshold(threshold)
    difference = Difference(u, v)
    knots_us = np.unique(np.concatenate([_integers_around(window, difference), _roots(difference, window, threshold)]))
    inside = match_probability(u, v, knots_us / 1e6, window) >= threshold - PROBABILITY_TOLERANCE
    starts = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0) == 1)
    ends = np.flatnonzero(np.diff(inside.astype(np.int8), append=0) == -1)
    return np.column_stack((knots_us[starts], knots_us[ends]))


def _breaks_s(window: Window, difference: Difference) -> FloatArray:
    return np.unique(np.concatenate((window.lo_s - difference.breaks_s, window.hi_s - difference.breaks_s)))


def _whole_us(offsets_s: FloatArray) -> OffsetArray:
    """Integers next to each time on both sides: one on each side even if the time is an integer or nearly so."""
    nearest = np.rint(np.asarray(offsets_s) * 1e6).astype(np.int64)
    return np.asarray((nearest[:, None] + np.array([-1, 0, 1])).ravel())


def _integers_around(window: Window, difference: Difference) -> OffsetArray:
    return _whole_us(_breaks_s(window, difference))


def _roots(difference: Difference, window: Window, threshold: float) -> OffsetArray:
    breaks = _breaks_s(window, difference)
    left, right = breaks[:-1], breaks[1:]
    inset = np.minimum(4 * ATOM_TOLERANCE_S, (right - left) / 4)
    points = np.stack((left + inset, (left + right) / 2, right - inset))
    excess = difference.cdf(window.hi_s - points) - difference.below(window.lo_s - points) - threshold
    roots: list[float] = []
    for a, middle, b, e0, e1, e2 in zip(*points, *excess, strict=True):
        roots += [a + (b - a) * t for t in _unit_roots(e0, e1, e2)]
        roots.append(middle)
    return _whole_us(np.array(roots))


def _unit_roots(e0: float, e1: float, e2: float) -> list[float]:
    """Where in [0, 1] the parabola through (0, e0), (1/2, e1), (1, e2) is zero or has its vertex."""
    a, b = 2 * (e0 - 2 * e1 + e2), 4 * e1 - 3 * e0 - e2
    candidates = [] if a == 0 else [-b / (2 * a)]
    discriminant = b * b - 4 * a * e0
    if discriminant >= 0:
        q = -(b + math.copysign(math.sqrt(discriminant), b)) / 2
        candidates += ([q / a] if a else []) + ([e0 / q] if q else [])
    return [t for t in candidates if 0 <= t <= 1]
