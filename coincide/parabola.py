"""Parabolas through three points at whole-microsecond offsets: where they turn and where they cross zero."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray, OffsetArray


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
