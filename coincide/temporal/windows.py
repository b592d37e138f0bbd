"""Windows that slide: at each of many instants, what held in the time before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array, PositionArray, read_only
from coincide.errors import IntervalError
from coincide.temporal.durations import checked_duration
from coincide.temporal.intervals import Intervals
from coincide.timing_join.expansion import expanded_columns
from coincide.whole_numbers import whole_numbers


class Windows:
    """Windows [end - size, end) of one size.

    Parameters
    ----------
    end_us : array_like of int, shape (m,)
        Microseconds, ascending: the instants at which a query answers.
    size_us : int
        At least 1.

    Raises
    ------
    IntervalError
        The ends are no whole numbers or not ascending, or the size is below 1.

    Examples
    --------
    >>> Windows.sliding(first_end_us=10, last_end_us=30, size_us=25, slide_us=10).start_us.tolist()
    [-15, -5, 5]
    """

    def __init__(self, end_us: npt.ArrayLike, size_us: int) -> None:
        end = whole_numbers("end_us", end_us, None, IntervalError)
        if end.ndim != 1 or (end[1:] <= end[:-1]).any():
            raise IntervalError("end_us", f"an array of shape {end.shape}", "instants in ascending order, shape (m,)")
        self.end_us = read_only(end)
        self.size_us = checked_duration("size_us", size_us)

    @staticmethod
    def sliding(first_end_us: int, last_end_us: int, size_us: int, slide_us: int) -> Windows:
        """Return the windows that end at the first instant and every `slide_us` after it, up to the last one."""
        return Windows(np.arange(first_end_us, last_end_us + 1, checked_duration("slide_us", slide_us)), size_us)

    @property
    def start_us(self) -> Int64Array:
        """Where each window begins, shape (m,)."""
        start: Int64Array = self.end_us - self.size_us
        return start

    def __len__(self) -> int:
        return len(self.end_us)

    def __repr__(self) -> str:
        return f"Windows({len(self)} of {self.size_us} us)"


@dataclass(frozen=True)
class InWindows:
    """The parts of intervals that lie in windows, ordered by (row, window).

    Attributes
    ----------
    row, window : ndarray of intp, shape (n,)
        Positions of the interval and of the window.
    intervals : Intervals of length n
        The part; no end is open, since now is the window's end.
    """

    row: PositionArray
    window: PositionArray
    intervals: Intervals


def in_windows(intervals: Intervals, windows: Windows) -> InWindows:
    """Cut each interval to every window that it reaches into.

    A fact that began before the window counts from the window's start. To cut commutes with `intersect` and with
    coalescing, so a query may join or coalesce first and cut once.

    Examples
    --------
    >>> parts = in_windows(Intervals([0, 12], [8, 20]), Windows([10, 15], size_us=5))
    >>> parts.row.tolist(), parts.window.tolist(), parts.intervals.start_us.tolist(), parts.intervals.end_us.tolist()
    ([0, 1], [0, 1], [5, 12], [8, 15])
    """
    first = np.searchsorted(windows.end_us, intervals.start_us, side="right")
    beyond = np.searchsorted(windows.start_us, intervals.end_us, side="left")
    row, window = expanded_columns(first, beyond)
    start = np.maximum(intervals.start_us[row], windows.start_us[window])
    end = np.minimum(intervals.end_us[row], windows.end_us[window])
    return InWindows(row, window, Intervals(start, end))
