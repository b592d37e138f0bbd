"""Tuples of events of any number of streams, tied together by a graph of time constraints."""

from __future__ import annotations

from coincide.joins.tuples.tuple_join import window_join, window_join_blocks

__all__ = ["window_join", "window_join_blocks"]
