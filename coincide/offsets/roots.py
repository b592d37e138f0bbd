"""Where a probability passes its threshold: brackets that close in, and parabolas that guess."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, OffsetArray
from coincide.offsets.ranges import NONE_JUDGED, JudgedOffsets, joined

Judge = Callable[[IndexArray, OffsetArray], JudgedOffsets]


def vertex_of(left: JudgedOffsets, middle: JudgedOffsets, right: JudgedOffsets) -> OffsetArray:
    """Return the last offset at or before the vertex of the parabola through three, the middle one if it is outside."""
    slope, curvature = _coefficients(left, middle, right)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        vertex = np.floor(left.offset - slope / (2 * curvature))
    return _inside(vertex, left, middle, right)


def root_of(left: JudgedOffsets, middle: JudgedOffsets, right: JudgedOffsets) -> OffsetArray:
    """Return the last offset at or before the root of the parabola through three, the middle one if it is hidden."""
    slope, curvature = _coefficients(left, middle, right)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root_of_discriminant = np.sqrt(np.maximum(slope * slope - 4 * curvature * left.excess, 0.0))
        q = -(slope + np.copysign(root_of_discriminant, slope)) / 2
        near, far = left.excess / q, q / curvature
    root = np.where((near >= 0) & (near <= right.offset - left.offset), near, far)
    return _inside(np.floor(left.offset + root), left, middle, right)


def _coefficients(left: JudgedOffsets, middle: JudgedOffsets, right: JudgedOffsets) -> tuple[FloatArray, FloatArray]:
    """Slope and curvature of excess = left.excess + slope s + curvature s^2, with s = offset - left.offset."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = (middle.excess - left.excess) / (middle.offset - left.offset)
        second = (right.excess - middle.excess) / (right.offset - middle.offset)
        curvature = (second - first) / (right.offset - left.offset)
        slope = first - curvature * (middle.offset - left.offset)
    return slope, curvature


def _inside(offset: FloatArray, left: JudgedOffsets, middle: JudgedOffsets, right: JudgedOffsets) -> OffsetArray:
    usable = (offset >= left.offset) & (offset <= right.offset)
    return np.where(usable, offset, middle.offset).astype(np.int64)


def close_in(left: JudgedOffsets, right: JudgedOffsets, judge: Judge) -> JudgedOffsets:
    """Return all judged while closing in on the one crossing between `left` and `right` where their verdicts differ."""
    judged = [NONE_JUDGED]
    while True:
        crossing = (left.qualifies != right.qualifies) & (right.offset - left.offset > 1)
        if not crossing.any():
            return joined(*judged)
        left, right = left.take(crossing), right.take(crossing)
        middle = judge(left.pair, (left.offset + right.offset) // 2)
        root = root_of(left, middle, right)
        guesses = [middle, judge(left.pair, root), judge(left.pair, np.minimum(root + 1, right.offset))]
        for guess in guesses:
            left, right = _narrowed(left, right, guess)
        judged += guesses


def _narrowed(left: JudgedOffsets, right: JudgedOffsets, guess: JudgedOffsets) -> tuple[JudgedOffsets, JudgedOffsets]:
    """Move the end that agrees with the guess there, where the guess lies inside."""
    inside = (guess.offset > left.offset) & (guess.offset < right.offset)
    like_left = guess.qualifies == left.qualifies
    return left.moved_to(guess, inside & like_left), right.moved_to(guess, inside & ~like_left)
