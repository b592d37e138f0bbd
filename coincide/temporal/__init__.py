"""Temporal queries over coalesced facts: predicates and functions of intervals, the temporal join, longest periods."""

from coincide.temporal.allen import ALLEN, overlaps_tsql2, relation
from coincide.temporal.durations import cast_duration, duration_us
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import NOW_US, IntervalError, Intervals, intersect
from coincide.temporal.join import JoinedFacts, WindowedPairs, temporal_join, windowed_join
from coincide.temporal.longest import LongestPeriods, longest_periods
from coincide.temporal.windows import InWindows, Windows, in_windows

__all__ = [
    "ALLEN",
    "NOW_US",
    "Facts",
    "InWindows",
    "IntervalError",
    "Intervals",
    "JoinedFacts",
    "LongestPeriods",
    "WindowedPairs",
    "Windows",
    "cast_duration",
    "duration_us",
    "in_windows",
    "intersect",
    "longest_periods",
    "overlaps_tsql2",
    "relation",
    "temporal_join",
    "windowed_join",
]
