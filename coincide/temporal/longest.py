"""Longest periods: how long a fact held without a break, at most, in each group and window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import Int64Array, LabelArray, PositionArray
from coincide.temporal.durations import duration_us
from coincide.temporal.facts import Facts
from coincide.temporal.windows import Windows, in_windows


@dataclass(frozen=True)
class LongestPeriods:
    """The longest period of each group in each window, ordered by (window, group).

    Attributes
    ----------
    window : ndarray of intp, shape (n,)
        Position of the window. A group that has no fact in it has no row.
    group : ndarray, shape (n,)
    duration_us : ndarray of int64, shape (n,)
    """

    window: PositionArray
    group: LabelArray
    duration_us: Int64Array


def longest_periods(facts: Facts, windows: Windows) -> LongestPeriods:
    """Return how long the longest fact of each group lasts inside each window.

    The paper's Example 2, MAX(CAST(VALID(...))): the longest time above 100 degrees in the past 24 hours. Choose the
    facts above 100 first, then coalesce them whatever their values, then ask here: 101 and 102 degrees in turn are
    one hot period. (To choose before readings have their intervals would bridge the cool spells.)

    Parameters
    ----------
    facts : Facts
        Coalesced. Open ends end with each window.
    windows : Windows

    Returns
    -------
    LongestPeriods

    References
    ----------
    Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010), section 1.

    Examples
    --------
    >>> hot = Facts([0, 6, 0], [5, 9, 2], group=["north", "north", "south"])
    >>> found = longest_periods(hot, Windows([4, 10], size_us=6))
    >>> found.window.tolist(), found.group.tolist(), found.duration_us.tolist()
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
