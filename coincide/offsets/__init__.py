"""Offsets: which differences of reported times satisfy a window and a threshold.

One search for long windows, one for short ones; tables and caches of what they gave.
"""

from __future__ import annotations

from coincide.offsets.pair_work import PairLimits
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.offsets.satisfying import satisfaction_offsets

__all__ = ["PairLimits", "SatisfactionTable", "satisfaction_offsets"]
