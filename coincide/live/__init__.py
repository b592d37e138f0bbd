"""Live joins: `Engine` runs any number of queries over shared buffers; `TimingJoin` and `WindowJoin` run one."""

from __future__ import annotations

from coincide.live.engine import Engine
from coincide.live.installed import WindowCondition
from coincide.live.pair_stream import TimingJoin
from coincide.live.tuple_stream import WindowJoin

__all__ = ["Engine", "TimingJoin", "WindowCondition", "WindowJoin"]
