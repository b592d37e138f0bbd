"""Coincide: which things happened together when every sensor is late by an unknown, calibrated amount.

``coincide.timing_join`` is the function; names of the package behind it come by ``from coincide.timing_join import``.
"""

from __future__ import annotations

from coincide.chance_rate import SensorRate, chance_rate
from coincide.changes import Changes
from coincide.coalescing import (
    Bounded,
    CoalescingError,
    CostError,
    Decreasing,
    EagerCoalescing,
    EagerFactCoalescing,
    Equal,
    Increasing,
    LazyCoalescing,
    LazyFactCoalescing,
    Predicate,
    Quantised,
    Run,
    Runs,
    WindowExtent,
    coalesce,
    coalesce_readings,
    measure_costs,
    select_schemes,
    validity,
)
from coincide.detections import Detections
from coincide.difference import match_probabilities, match_probability
from coincide.errors import (
    CoincideError,
    DetectionsError,
    HistogramError,
    OffsetError,
    RateError,
    StreamError,
    ThresholdError,
    WindowError,
)
from coincide.goodness_of_fit import Fit, goodness_of_fit
from coincide.histogram import Histogram
from coincide.occurrences import Occurrences, occurrences
from coincide.offsets import satisfaction_offsets
from coincide.pairs import Pairs
from coincide.posterior import Occurred, occurred
from coincide.satisfaction_table import SatisfactionTable
from coincide.stream import Stream
from coincide.temporal import (
    Facts,
    IntervalError,
    Intervals,
    Windows,
    longest_periods,
    temporal_join,
    windowed_join,
)
from coincide.timing_join import PairLimits, SensorRuleError, TimingJoin, timing_join, timing_join_blocks
from coincide.window import Window
from coincide.window_join import (
    ConstraintGraph,
    Edge,
    GraphError,
    JointProbability,
    Tuples,
    WindowJoin,
    joint_at_least,
    joint_probabilities,
    window_join,
    window_join_blocks,
)

__all__ = [
    "Bounded",
    "Changes",
    "CoalescingError",
    "CoincideError",
    "ConstraintGraph",
    "CostError",
    "Decreasing",
    "Detections",
    "DetectionsError",
    "EagerCoalescing",
    "EagerFactCoalescing",
    "Edge",
    "Equal",
    "Facts",
    "Fit",
    "GraphError",
    "Histogram",
    "HistogramError",
    "Increasing",
    "IntervalError",
    "Intervals",
    "JointProbability",
    "LazyCoalescing",
    "LazyFactCoalescing",
    "Occurred",
    "Occurrences",
    "OffsetError",
    "PairLimits",
    "Pairs",
    "Predicate",
    "Quantised",
    "RateError",
    "Run",
    "Runs",
    "SatisfactionTable",
    "SensorRate",
    "SensorRuleError",
    "Stream",
    "StreamError",
    "ThresholdError",
    "TimingJoin",
    "Tuples",
    "Window",
    "WindowError",
    "WindowExtent",
    "WindowJoin",
    "Windows",
    "chance_rate",
    "coalesce",
    "coalesce_readings",
    "goodness_of_fit",
    "joint_at_least",
    "joint_probabilities",
    "longest_periods",
    "match_probabilities",
    "match_probability",
    "measure_costs",
    "occurred",
    "occurrences",
    "satisfaction_offsets",
    "select_schemes",
    "temporal_join",
    "timing_join",
    "timing_join_blocks",
    "validity",
    "window_join",
    "window_join_blocks",
    "windowed_join",
]
