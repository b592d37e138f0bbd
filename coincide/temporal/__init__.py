"""Temporal queries over coalesced facts: predicates and functions of intervals, the temporal join, longest periods.

The coalescing paper's Example 2: how long each region was above 100 degrees without a break, in the past 24 hours. The
stream's extent holds 24 hours; readings that are not hot are left out after they have ended those before them, and hot
ones are coalesced whatever their values:

>>> import numpy as np
>>> from coincide.coalescing import Bounded, EagerCoalescing, WindowExtent
>>> hour_us, minute_us = 3_600_000_000, 60_000_000
>>> ts = np.array([0, 1, 2, 3, 4, 5, 6]) * hour_us
>>> celsius = np.array([99, 101, 103, 98, 105, 99, 99])
>>> hot = EagerCoalescing(WindowExtent(duration_us=24 * hour_us))
>>> changes = hot.push(ts, ["north"] * 7, where=celsius > 100)
>>> longest = longest_periods(Facts.of(hot.scan()), SlidingWindows([6 * hour_us], size_us=24 * hour_us))
>>> longest.group.tolist(), cast_duration(longest.duration_us, "hour").tolist()
(['north'], [2])

Example 1: which regions were alike in humidity, within 2, for 4 minutes or longer, in the past 60:

>>> humid = EagerCoalescing(WindowExtent(duration_us=60 * minute_us), Bounded(0.5))
>>> ts = np.array([0, 9, 0, 3, 8]) * minute_us
>>> changes = humid.push(ts, ["north", "north", "south", "south", "south"], [60.0, 60.0, 75.0, 61.0, 75.0])
>>> alike = join_in_windows(
...     Facts.of(humid.scan()), None, SlidingWindows([9 * minute_us], size_us=60 * minute_us),
...     tolerance=2, at_least_us=4 * minute_us,
... )
>>> (alike.intervals.start_us // minute_us).tolist(), (alike.intervals.end_us // minute_us).tolist()
([3], [8])
"""

from __future__ import annotations

from coincide.temporal.allen import ALLEN, OVERLAPPING, overlaps_tsql2, relation
from coincide.temporal.durations import cast_duration, duration_us
from coincide.temporal.fact_joins import (
    JoinedFacts,
    WindowedPairs,
    join_in_windows,
    temporal_join,
    temporal_join_blocks,
)
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import NOW_US, Intervals, intersect
from coincide.temporal.sliding_windows import InWindows, LongestPeriods, SlidingWindows, in_windows, longest_periods

__all__ = [
    "ALLEN",
    "NOW_US",
    "OVERLAPPING",
    "Facts",
    "InWindows",
    "Intervals",
    "JoinedFacts",
    "LongestPeriods",
    "SlidingWindows",
    "WindowedPairs",
    "cast_duration",
    "duration_us",
    "in_windows",
    "intersect",
    "join_in_windows",
    "longest_periods",
    "overlaps_tsql2",
    "relation",
    "temporal_join",
    "temporal_join_blocks",
]
