"""Windows that slide: what held in the time before each of many instants, and for how long without a break."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array, LabelArray, PositionArray, read_only
from coincide.arrays.numbers import whole_numbers
from coincide.arrays.range_expansion import expanded_ranges
from coincide.errors import IntervalError
from coincide.temporal.durations import checked_duration, duration_us, lasting_until
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import NOW_US, Intervals


class SlidingWindows:
    """Windows [end - size, end) of one size.

    An IntervalError says that the ends are no whole numbers or not ascending, or that the size is below 1.

    Parameters
    ----------
    end_us : array_like of int, shape (m,)
        Microseconds, ascending: the instants at which a query answers.
    size_us : int
        At least 1.

    Examples
    --------
    >>> SlidingWindows.sliding(first_end_us=10, last_end_us=30, size_us=25, slide_us=10).start_us.tolist()
    [-15, -5, 5]
    """

    def __init__(self, end_us: npt.ArrayLike, size_us: int) -> None:
        end = whole_numbers("end_us", end_us, None, IntervalError)
        if end.ndim != 1 or (end[1:] <= end[:-1]).any():
            raise IntervalError("end_us", f"an array of shape {end.shape}", "instants in ascending order, shape (m,)")
        self.end_us = read_only(end)
        self.size_us = checked_duration("size_us", size_us)

    @staticmethod
    def sliding(first_end_us: int, last_end_us: int, size_us: int, slide_us: int) -> SlidingWindows:
        """Return the windows that end at the first instant and every `slide_us` after it, up to the last one."""
        return SlidingWindows(np.arange(first_end_us, last_end_us + 1, checked_duration("slide_us", slide_us)), size_us)

    @property
    def start_us(self) -> Int64Array:
        """Where each window begins, shape (m,)."""
        start: Int64Array = self.end_us - self.size_us
        return start

    def __len__(self) -> int:
        return len(self.end_us)

    def __repr__(self) -> str:
        return f"SlidingWindows({len(self)} of {self.size_us} us)"


@dataclass(frozen=True)
class InWindows:
    """Positions of intervals and of windows that they reach into, by (row, window), and the parts inside.

    No end of a part is open, since now is the window's end.
    """

    row: PositionArray
    window: PositionArray
    intervals: Intervals


def in_windows(intervals: Intervals, windows: SlidingWindows, at_least_us: int = 1) -> InWindows:
    """Cut each interval to every window that it reaches into; leave out parts shorter than `at_least_us`.

    A fact that began before the window counts from the window's start. To cut commutes with `intersect` and with
    coalescing, so a query may join or coalesce first and cut once.

    Examples
    --------
    >>> parts = in_windows(Intervals([0, 12], [8, 20]), SlidingWindows([10, 15], size_us=5))
    >>> parts.row.tolist(), parts.window.tolist(), parts.intervals.start_us.tolist(), parts.intervals.end_us.tolist()
    ([0, 1], [0, 1], [5, 12], [8, 15])
    """
    return cut_to_ranges(intervals, windows, *window_ranges(intervals, windows, at_least_us))


def cut_to_ranges(
    intervals: Intervals, windows: SlidingWindows, first: PositionArray, beyond: PositionArray
) -> InWindows:
    """Cut each interval to the windows at its positions [first, beyond): those of `window_ranges`, or some of them."""
    row, window = expanded_ranges(first, beyond)
    start = np.maximum(intervals.start_us[row], windows.start_us[window])
    end = np.minimum(intervals.end_us[row], windows.end_us[window])
    return InWindows(row, window, Intervals(start, end))


def window_ranges(
    intervals: Intervals, windows: SlidingWindows, at_least_us: int = 1
) -> tuple[PositionArray, PositionArray]:
    """Return the positions [first, beyond) of the windows in which each interval has a part that is long enough.

    These are the parts that `in_windows` makes; so they can be counted before.

    Examples
    --------
    >>> first, beyond = window_ranges(Intervals([0, 12], [8, 20]), SlidingWindows([10, 15], size_us=5))
    >>> (beyond - first).tolist()
    [1, 1]
    """
    checked_duration("at_least_us", at_least_us)
    first_us = lasting_until(intervals.start_us, at_least_us)
    lasts = (first_us <= intervals.end_us) & (at_least_us <= windows.size_us)
    last_us = np.where(lasts, intervals.end_us, NOW_US) - at_least_us
    first = np.searchsorted(windows.end_us, first_us)
    beyond = np.searchsorted(windows.start_us, last_us, side="right")
    return first, np.maximum(np.where(lasts, beyond, first), first)


@dataclass(frozen=True)
class LongestPeriods:
    """How long the longest period of each group in each window is, by (window, group); `window` is a position.

    A group that has no fact in a window has no row.
    """

    window: PositionArray
    group: LabelArray
    duration_us: Int64Array


def longest_periods(facts: Facts, windows: SlidingWindows) -> LongestPeriods:
    """Return how long the longest fact of each group lasts inside each window.

    The paper's Example 2, MAX(CAST(VALID(...))): the longest time above 100 degrees in the past 24 hours. Choose the
    facts above 100 first, then coalesce them whatever their values, then ask here: 101 and 102 degrees in turn are
    one hot period. (To choose before readings have their intervals would bridge the cool spells.)

    Facts must be coalesced. Open ends end with each window.

    Source: Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010), section 1.

    Examples
    --------
    >>> hot = Facts([0, 6, 0], [5, 9, 2], group=["north", "north", "south"])
    >>> longest = longest_periods(hot, SlidingWindows([4, 10], size_us=6))
    >>> longest.window.tolist(), longest.group.tolist(), longest.duration_us.tolist()
    ([0, 0, 1], ['north', 'south', 'north'], [4, 2, 3])
    """
    parts = in_windows(facts.intervals, windows)
    groups, code = np.unique(facts.group, return_inverse=True)
    in_cell = parts.window * len(groups) + code[parts.row]
    cells, cell = np.unique(in_cell, return_inverse=True)
    longest = np.zeros(len(cells), np.int64)
    np.maximum.at(longest, cell, duration_us(parts.intervals))
    window, group = np.divmod(cells, max(1, len(groups)))
    return LongestPeriods(window, groups[group], longest)
