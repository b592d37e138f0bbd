"""Sums of two floats without rounding (Dekker, Knuth): the high part and what it leaves out.

Templates may be microseconds wide and minutes apart. Plain floats lose the low digits of such differences, and
with them up to 1e-8 of a probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, Int64Array


@dataclass(frozen=True, eq=False)
class ExactSum:
    """The number high + low, in seconds: rounded, and what the rounding left out; arrays of one shape."""

    high: FloatArray
    low: FloatArray

    def minus(self, other: ExactSum) -> FloatArray:
        """Return self - other, right to the last digits however close the two are."""
        return (self.high - other.high) + (self.low - other.low)

    def take(self, chosen: Int64Array | slice) -> ExactSum:
        """Return the chosen elements."""
        return ExactSum(self.high[chosen], self.low[chosen])


def difference_of(a: npt.ArrayLike, b: npt.ArrayLike) -> ExactSum:
    """Subtract without rounding (Knuth's TwoSum)."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    high = a - b
    b_rounded = a - high
    return ExactSum(high, np.asarray((a - (high + b_rounded)) - (b - b_rounded)))


def seconds_of(time_us: Int64Array) -> ExactSum:
    """Whole microseconds (below 2**53) in seconds, to twice the precision of a float."""
    count = time_us.astype(np.float64)
    high = count / 1e6
    # 24 and 29 significant bits: both products with 1e6, which has 14, are exact
    coarse = high.astype(np.float32).astype(np.float64)
    left_out = (count - coarse * 1e6) - (high - coarse) * 1e6
    return ExactSum(high, left_out / 1e6)


def window_end_minus(end_s: float | FloatArray, offset: ExactSum) -> ExactSum:
    """Subtract `offset` from `end_s`, keeping both parts."""
    ends = difference_of(end_s, offset.high)
    return ExactSum(ends.high, ends.low - offset.low)
