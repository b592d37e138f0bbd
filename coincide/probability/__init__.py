"""Probability: how probable it is that times lie within windows, and when it occurred.

`match_probability` for two events, `joint_probabilities` for any number, `occurred` for the time of the onset.
"""

from __future__ import annotations

from coincide.probability.difference import match_probabilities, match_probability
from coincide.probability.error_sums import whole_error
from coincide.probability.joint import JointProbability, joint_at_least, joint_probabilities
from coincide.probability.onset import Occurred, clock_offsets, occurred, occurred_quantiles_us
from coincide.probability.onset_columns import OccurrenceColumns, occurrence_columns
from coincide.probability.onset_on_clocks import ClockOffset

__all__ = [
    "ClockOffset",
    "JointProbability",
    "Occurred",
    "OccurrenceColumns",
    "clock_offsets",
    "joint_at_least",
    "joint_probabilities",
    "match_probabilities",
    "match_probability",
    "occurred",
    "occurred_quantiles_us",
    "occurrence_columns",
    "whole_error",
]
