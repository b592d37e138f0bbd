"""Live joins: the streaming twins of `coincide.timing_join` and `coincide.window_join`."""

from __future__ import annotations

from coincide.live.pair_stream import TimingJoin
from coincide.live.tuple_stream import WindowJoin

__all__ = ["TimingJoin", "WindowJoin"]
