"""Numbers compared as the decimals that they were written as: differences with a bound, and the steps that they lie in.

In float64, 0.3 - 0.2 is less than 0.1 and 0.4 - 0.3 is more. One rule mends that: a difference may exceed its bound,
and a number may fall short of the edge of a step, by `ROUNDING` of the largest number in the comparison. Rounding to
float64 can change no comparison by more. So every answer is that of the decimals, as long as all of them are whole
multiples, below 10**15, of one decimal. Whole numbers in int64 are compared exactly, whatever their size.

Each function has two forms, which agree bit for bit: one of two numbers, and one of columns.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array

ROUNDING = 2.0**-51
"""Roundings of 2**-53 change a comparison by three of them at most; that and these four stay below 1e-15."""

UP, DOWN = 1 + ROUNDING, 1 - ROUNDING  # a quotient above 0, or below it, times this is a little larger
MOST_UNSIGNED = (1 << 64) - 1
WHOLE = (int, np.integer)


def is_within(one: Any, other: Any, bound: float, *, relative: bool = False) -> bool:
    """Whether two numbers differ by at most `bound`, or, if it is relative, by that share of the first one's size.

    Within a bound of 0 lie equal numbers only; an infinite number is within any bound of itself.

    Examples
    --------
    >>> is_within(0.3, 0.4, 0.1), is_within(0.3, 0.41, 0.1), is_within(20, 21, 0.05, relative=True)
    (True, False, True)
    """
    kind = type(one)
    if kind is type(other) and (kind is float or kind is int) and not relative and abs(other - one) <= bound:
        return True  # most numbers, at once
    if bound == 0:
        return bool(one == other)
    if not relative and isinstance(one, WHOLE) and isinstance(other, WHOLE):
        return bool(abs(int(other) - int(one)) <= step_of(bound, 1))
    one, other = float(one), float(other)
    distance, limit = abs(other - one), bound * abs(one) if relative else bound
    if distance < math.inf:
        return bool(distance - limit <= ROUNDING * max(abs(one), abs(other), limit))
    return bool(one == other)


def within(one: npt.NDArray[Any], other: npt.NDArray[Any], bound: float, *, relative: bool = False) -> BoolArray:
    """Return `is_within` row by row, bool (n,)."""
    if bound == 0:
        return np.asarray(one == other)
    if not relative and _is_whole(one) and _is_whole(other):
        return np.asarray(_distance(one, other) <= np.uint64(int(min(step_of(bound, 1), MOST_UNSIGNED))))
    one, other = one.astype(np.float64, copy=False), other.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        return _rounded_within(one, other, bound, relative)


def _distance(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return how far whole numbers lie apart: the difference wraps in int64, and not in uint64."""
    greater: npt.NDArray[np.uint64] = np.maximum(one, other, dtype=np.int64).view(np.uint64)
    greater -= np.minimum(one, other, dtype=np.int64).view(np.uint64)
    return greater


def _rounded_within(one: FloatArray, other: FloatArray, bound: float, relative: bool) -> BoolArray:
    distance = np.subtract(other, one)
    np.abs(distance, out=distance)
    size = np.abs(one)
    limit = size * bound if relative else float(bound)
    np.maximum(size, np.abs(other), out=size)
    np.maximum(size, limit, out=size)
    size *= ROUNDING
    distance -= limit
    near = np.asarray(distance <= size)
    if size.max(initial=0) < np.inf:
        return near
    return np.where(np.isfinite(other - one), near, one == other)


def step_of(value: Any, step: float) -> Any:
    """Return the whole number k for which the value lies in [k * step, (k + 1) * step).

    Examples
    --------
    >>> step_of(0.3, 0.1), step_of(0.299, 0.1), step_of(-1, 5)
    (3, 2, -1)
    """
    if isinstance(value, WHOLE) and step == int(step):
        return int(value) // int(step)
    quotient = value / step
    quotient *= UP if quotient > 0 else DOWN
    return math.floor(quotient) if math.isfinite(quotient) else quotient


def steps_of(values: npt.NDArray[Any], step: float) -> Int64Array | FloatArray:
    """Return `step_of` row by row, (n,)."""
    if _is_whole(values) and step < 1 << 63 and step == int(step):
        return np.asarray(values.astype(np.int64, copy=False) // int(step))
    with np.errstate(over="ignore"):
        quotient: FloatArray = np.divide(values, step, dtype=np.float64)
        below_0 = quotient * DOWN
        quotient *= UP
        np.maximum(quotient, below_0, out=quotient)
    return np.floor(quotient, out=quotient)


def lower_end(step_number: Any, step: float) -> Any:
    """Return where a step begins, as the float64 nearest to the decimal: 3 steps of 0.1 begin at 0.3.

    Takes what `step_of` or `steps_of` returns.
    """
    if step > 1e-290:  # else the denominator is beyond float64
        numerator, denominator = Decimal(repr(float(step))).as_integer_ratio()
        return step_number * float(numerator) / float(denominator)
    return step_number * step


def _is_whole(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" and values.dtype != np.uint64
