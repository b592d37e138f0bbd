"""Where a probability passes its threshold: brackets that close in, and parabolas that guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, OffsetArray
from coincide.offsets.ranges import Ranges


def vertex_of(
    left: OffsetArray,
    middle: OffsetArray,
    right: OffsetArray,
    at_left: FloatArray,
    at_middle: FloatArray,
    at_right: FloatArray,
) -> OffsetArray:
    """Return the last offset in [left, right] at or before the vertex; `middle` where there is no vertex."""
    slope, curvature = _coefficients(left, middle, right, at_left, at_middle, at_right)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        vertex = np.floor(left - slope / (2 * curvature))
    return _inside(vertex, left, middle, right)


def root_of(
    left: OffsetArray,
    middle: OffsetArray,
    right: OffsetArray,
    at_left: FloatArray,
    at_middle: FloatArray,
    at_right: FloatArray,
) -> OffsetArray:
    """Return the last offset in [left, right] at or before the root there; `middle` where rounding hides it."""
    slope, curvature = _coefficients(left, middle, right, at_left, at_middle, at_right)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        half_spread = np.sqrt(np.maximum(slope * slope - 4 * curvature * at_left, 0.0))
        q = -(slope + np.copysign(half_spread, slope)) / 2
        near, far = at_left / q, q / curvature
    root = np.where((near >= 0) & (near <= right - left), near, far)
    return _inside(np.floor(left + root), left, middle, right)


def _coefficients(
    left: OffsetArray,
    middle: OffsetArray,
    right: OffsetArray,
    at_left: FloatArray,
    at_middle: FloatArray,
    at_right: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Slope and curvature of at_left + slope s + curvature s^2, with s = offset - left."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first, second = (at_middle - at_left) / (middle - left), (at_right - at_middle) / (right - middle)
        curvature = (second - first) / (right - left)
        slope = first - curvature * (middle - left)
    return slope, curvature


def _inside(offset: FloatArray, left: OffsetArray, middle: OffsetArray, right: OffsetArray) -> OffsetArray:
    usable = (offset >= left) & (offset <= right)
    inside: OffsetArray = np.where(usable, offset, middle).astype(np.int64)
    return inside


Excess = Callable[[IndexArray, OffsetArray], FloatArray]


def close_in(ranges: Ranges, at_left: FloatArray, at_right: FloatArray, excess: Excess) -> None:
    """Close in on the one crossing of each monotone range whose ends differ in verdict.

    Parameters
    ----------
    ranges : Ranges
    at_left, at_right : ndarray of float64, shape (n,)
        What `excess` says at their ends.
    excess : callable
        P less what is enough, of template pairs at offsets; who calls it keeps note of the verdicts.
    """
    while True:
        crossing = ((at_left >= 0) != (at_right >= 0)) & (ranges.right - ranges.left > 1)
        if not crossing.any():
            return
        ranges, at_left, at_right = ranges.where(crossing), at_left[crossing], at_right[crossing]
        left, middle, right = ranges.left, (ranges.left + ranges.right) // 2, ranges.right
        at_middle = excess(ranges.pair, middle)
        root = root_of(left, middle, right, at_left, at_middle, at_right)
        bracket = Bracket(ranges, at_left, at_right)
        bracket.narrow(middle, at_middle)
        for probe in (root, np.minimum(root + 1, right)):
            bracket.narrow(probe, excess(ranges.pair, probe))
        ranges, at_left, at_right = bracket.ranges, bracket.at_left, bracket.at_right


@dataclass
class Bracket:
    """Ranges whose ends differ in verdict, narrowed from either side."""

    ranges: Ranges
    at_left: FloatArray
    at_right: FloatArray

    def narrow(self, probe: OffsetArray, at_probe: FloatArray) -> None:
        """Move the end that agrees with the probe there, where the probe lies inside."""
        pair, left, right = self.ranges.pair, self.ranges.left, self.ranges.right
        inside = (probe > left) & (probe < right)
        like_left = (at_probe >= 0) == (self.at_left >= 0)
        to_left, to_right = inside & like_left, inside & ~like_left
        self.ranges = Ranges(pair, np.where(to_left, probe, left), np.where(to_right, probe, right))
        self.at_left = np.where(to_left, at_probe, self.at_left)
        self.at_right = np.where(to_right, at_probe, self.at_right)
