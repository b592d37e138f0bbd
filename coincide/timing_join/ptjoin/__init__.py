"""PTJoin, the join of histogram timestamps, and its yardsticks Simple and Eager; what they rest on, one per file."""

from __future__ import annotations

from coincide.timing_join.ptjoin.eager import eager
from coincide.timing_join.ptjoin.ptjoin import ptjoin
from coincide.timing_join.ptjoin.simple import simple

__all__ = ["eager", "ptjoin", "simple"]
