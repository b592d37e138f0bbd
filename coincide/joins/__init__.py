"""Joins: detections, the sorted buffers that hold them, when one is late, and the joins of whole batches.

`pairs` joins two streams, `tuples` any number. The streaming joins are in `coincide.live`.
"""

from __future__ import annotations

from coincide.joins.answers import Pairs, Tuples
from coincide.joins.detections import Detections
from coincide.joins.echoes import without_echoes
from coincide.joins.pairs.distance_join import distance_join
from coincide.joins.pairs.pair_join import timing_join, timing_join_blocks
from coincide.joins.pairs.placed import PlacedDetections
from coincide.joins.tuples.tuple_join import window_join, window_join_blocks

__all__ = [
    "Detections",
    "Pairs",
    "PlacedDetections",
    "Tuples",
    "distance_join",
    "timing_join",
    "timing_join_blocks",
    "window_join",
    "window_join_blocks",
    "without_echoes",
]
