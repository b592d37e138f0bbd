"""Offsets: which differences of reported times satisfy a window and a threshold.

One search for long windows, one for short ones; tables and caches of what they gave; and how often chance alone
gives such an offset. How probable a match can be at most, whatever the offset.
"""

from __future__ import annotations

from coincide.offsets.chance import SensorRate, chance_rate
from coincide.offsets.graph_chance import EstimatedRate, graph_chance_rate
from coincide.offsets.joint_peaks import JointlyAttainable, attainable_jointly
from coincide.offsets.pair_work import PairLimits
from coincide.offsets.peaks import Attainable, attainable
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.offsets.satisfying import satisfaction_offsets

__all__ = [
    "Attainable",
    "EstimatedRate",
    "JointlyAttainable",
    "PairLimits",
    "SatisfactionTable",
    "SensorRate",
    "attainable",
    "attainable_jointly",
    "chance_rate",
    "graph_chance_rate",
    "satisfaction_offsets",
]
