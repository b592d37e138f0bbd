"""Probability: how probable a match is, and when it occurred.

`match_probability` for two events, `joint_probabilities` for any number, `occurred` for the time of the onset.
"""

from __future__ import annotations

from coincide.probability.difference import match_probabilities, match_probability
from coincide.probability.joint import JointProbability, joint_at_least, joint_probabilities
from coincide.probability.onset import Occurred, OccurrenceColumns, occurred, occurred_quantiles_us, occurrence_columns

__all__ = [
    "JointProbability",
    "Occurred",
    "OccurrenceColumns",
    "joint_at_least",
    "joint_probabilities",
    "match_probabilities",
    "match_probability",
    "occurred",
    "occurred_quantiles_us",
    "occurrence_columns",
]
