"""The timing-correlation algorithms for interval timestamps, one per file."""

from __future__ import annotations

from coincide.timing_join.interval.eager import eager
from coincide.timing_join.interval.lazy import lazy
from coincide.timing_join.interval.lazy_lookup import lazy_lookup
from coincide.timing_join.interval.simple import simple
from coincide.timing_join.interval.simple_sort import simple_sort

__all__ = ["eager", "lazy", "lazy_lookup", "simple", "simple_sort"]
