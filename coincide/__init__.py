"""Coincide: which things happened together when every sensor is late by an unknown, calibrated amount.

``coincide.timing_join`` is the function; names of the package behind it come by ``from coincide.timing_join import``.
"""

from __future__ import annotations

from coincide.chance_rate import SensorRate, chance_rate
from coincide.coalescing import (
    Bounded,
    CoalescingError,
    Decreasing,
    EagerCoalescing,
    Equal,
    Increasing,
    LazyCoalescing,
    Predicate,
    Quantised,
    Run,
    Runs,
    WindowExtent,
    coalesce,
    coalesce_readings,
    validity,
)
from coincide.detections import Detections, DetectionsError
from coincide.difference import match_probabilities, match_probability
from coincide.errors import CoincideError, HistogramError, OffsetError, RateError, ThresholdError, WindowError
from coincide.goodness_of_fit import Fit, goodness_of_fit
from coincide.histogram import Histogram
from coincide.occurrences import Occurrences, occurrences
from coincide.offsets import satisfaction_offsets
from coincide.pairs import Changes, Pairs
from coincide.posterior import Occurred, occurred
from coincide.satisfaction_table import SatisfactionTable
from coincide.stream import Stream, StreamError
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
    "Decreasing",
    "Detections",
    "DetectionsError",
    "EagerCoalescing",
    "Edge",
    "Equal",
    "Fit",
    "GraphError",
    "Histogram",
    "HistogramError",
    "Increasing",
    "JointProbability",
    "LazyCoalescing",
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
    "chance_rate",
    "coalesce",
    "coalesce_readings",
    "goodness_of_fit",
    "joint_at_least",
    "joint_probabilities",
    "match_probabilities",
    "match_probability",
    "occurred",
    "occurrences",
    "satisfaction_offsets",
    "timing_join",
    "timing_join_blocks",
    "validity",
    "window_join",
    "window_join_blocks",
]
