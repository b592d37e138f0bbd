"""Explaining a query: what its thresholds can reach with the sensors there are, and what chance and work to expect.

`explain` gives figures, `sentences_of` says them, and `least_threshold` answers the other way round: which threshold
gives few enough matches by chance.
"""

from __future__ import annotations

from coincide.queries.explaining.explanation import SeenRates, explain, least_threshold
from coincide.queries.explaining.figures import ChanceFigures, EdgeFigures, Explanation, JointFigures, RoleFigures
from coincide.queries.explaining.sensor_pairs import KnownSensor
from coincide.queries.explaining.sentences import sentences_of, unreachable_because

__all__ = [
    "ChanceFigures",
    "EdgeFigures",
    "Explanation",
    "JointFigures",
    "KnownSensor",
    "RoleFigures",
    "SeenRates",
    "explain",
    "least_threshold",
    "sentences_of",
    "unreachable_because",
]
