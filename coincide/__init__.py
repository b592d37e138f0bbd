"""Coincide: which things happened together when every sensor is late by an unknown, calibrated amount."""

from __future__ import annotations

from coincide.difference import match_probabilities, match_probability
from coincide.errors import CoincideError, HistogramError, OffsetError, ThresholdError, WindowError
from coincide.histogram import Histogram
from coincide.offsets import satisfaction_offsets
from coincide.satisfaction_table import SatisfactionTable
from coincide.window import Window

__all__ = [
    "CoincideError",
    "Histogram",
    "HistogramError",
    "OffsetError",
    "SatisfactionTable",
    "ThresholdError",
    "Window",
    "WindowError",
    "match_probabilities",
    "match_probability",
    "satisfaction_offsets",
]
