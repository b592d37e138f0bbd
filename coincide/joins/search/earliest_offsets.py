"""EarliestOffsets: offsets between earliest times, under which events are buffered, judged by reported times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.templates.codes import TemplatesInOrder

Contains = Callable[[CodeArray, CodeArray, Int64Array], BoolArray]


@dataclass(frozen=True, eq=False)
class EarliestOffsets:
    """Judges offsets between earliest times; `reported` judges those between reported times."""

    reported: Contains
    us: TemplatesInOrder
    vs: TemplatesInOrder
    is_unordered: bool

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether offsets of v's earliest time minus u's qualify for their templates; arrays of shape (n,)."""
        reported_us = offset_us + self.us.earliest_us[u] - self.vs.earliest_us[v]
        if not self.is_unordered:
            return self.reported(u, v, reported_us)
        is_later = reported_us < 0
        one, other = np.where(is_later, v, u), np.where(is_later, u, v)
        qualifies = self.reported(one, other, np.abs(reported_us))
        tied = np.flatnonzero(qualifies & (reported_us == 0))  # neither was first: which is called so must not matter
        if len(tied):
            qualifies[tied] = self.reported(other[tied], one[tied], reported_us[tied])
        return qualifies
