"""Crossings: where a probability that only rises, or only falls, passes its threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray, IndexArray, OffsetArray
from coincide.parabola import root_of
from coincide.ranges import Ranges

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
