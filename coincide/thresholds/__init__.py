"""Thresholds: what one can reach, and what chance gives at it.

How probable a match can be at most, whatever the reports; how much room a threshold leaves to unrelated reports; and
how often chance alone therefore reaches it, over the time in which something was recorded.
"""

from __future__ import annotations

from coincide.thresholds.chance import SensorRate, chance_rate
from coincide.thresholds.graph_chance import EstimatedRate, graph_chance_rate
from coincide.thresholds.joint_peaks import JointlyAttainable, attainable_jointly
from coincide.thresholds.peaks import Attainable, attainable
from coincide.thresholds.recorded_times import RecordedTime, recorded_time

__all__ = [
    "Attainable",
    "EstimatedRate",
    "JointlyAttainable",
    "RecordedTime",
    "SensorRate",
    "attainable",
    "attainable_jointly",
    "chance_rate",
    "graph_chance_rate",
    "recorded_time",
]
