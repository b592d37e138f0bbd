"""Pairs of events of two streams: the kernel, and the join of two whole batches."""

from __future__ import annotations

from coincide.joins.pairs.pair_join import timing_join, timing_join_blocks

__all__ = ["timing_join", "timing_join_blocks"]
