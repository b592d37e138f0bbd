"""OrderedRows: intervals by group and start, united where they touch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.coalescing.columns import ROWS_A_GROUP, time_order
from coincide.stable_order import stable_order_by


@dataclass(frozen=True)
class OrderedRows:
    """Rows by (code, start, row).

    Examples
    --------
    >>> rows = OrderedRows.of(np.array([1, 0, 1]), np.array([5, 0, 0]), np.array([9, 4, 5]))
    >>> firsts, lasts, ends = rows.united(rows.same_group, gap_us=0)
    >>> firsts.tolist(), lasts.tolist(), ends.tolist()
    ([0, 1], [0, 2], [4, 9])
    """

    order: PositionArray | slice
    code: Int64Array
    start_us: Int64Array
    end_us: Int64Array

    @classmethod
    def of(cls, codes: Int64Array, start_us: Int64Array, end_us: Int64Array) -> OrderedRows:
        """Put rows into order."""
        order = time_order(codes, start_us)
        if isinstance(order, slice):
            return cls(order, codes, start_us, end_us)
        sizes = np.bincount(codes)
        return cls(order, np.repeat(np.arange(len(sizes)), sizes), start_us.take(order), end_us.take(order))

    @cached_property
    def same_group(self) -> BoolArray:
        """Whether each row but the first is of the group before it, bool (n - 1,)."""
        return np.asarray(self.code[1:] == self.code[:-1])

    @cached_property
    def overlap(self) -> bool:
        """Whether rows of a group overlap or start together, so that more than neighbours can meet."""
        meet = (self.start_us[1:] < self.end_us[:-1]) | (self.start_us[1:] == self.start_us[:-1])
        return bool(np.any(meet & self.same_group))

    def latest_start(self) -> Int64Array:
        """Return the latest start of each code; what codes without rows have means nothing."""
        if len(self.code) == 0:
            return np.empty(0, np.int64)
        ends = np.append(np.flatnonzero(~self.same_group), len(self.code) - 1)
        latest = np.zeros(int(self.code[-1]) + 1, np.int64)
        latest[self.code[ends]] = self.start_us[ends]
        return latest

    def united(self, belongs: BoolArray, gap_us: int) -> tuple[PositionArray, PositionArray, Int64Array]:
        """Return the first and last place of each run in this order, and its end; `belongs` as `same_group`."""
        if len(self.code) == 0:
            return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.int64)
        reach = self._reach(belongs) if self.overlap else self.end_us
        breaks = np.flatnonzero(~(belongs & (self.start_us[1:] - gap_us <= reach[:-1])))
        lasts = np.append(breaks, len(self.code) - 1)
        return np.append(0, breaks + 1), lasts, reach[lasts]

    def rows_at(self, places: PositionArray) -> PositionArray:
        """Return which rows stand at places of this order."""
        return places if isinstance(self.order, slice) else self.order[places]

    def _reach(self, belongs: BoolArray) -> Int64Array:
        """Return the latest end so far among the rows that belong together."""
        breaks = np.append(0, np.flatnonzero(~belongs) + 1)
        if len(breaks) * ROWS_A_GROUP > len(self.code):
            return self._reach_by_rank(belongs)
        reach = self.end_us.copy()
        for begin, end in zip(breaks, np.append(breaks[1:], len(reach)), strict=True):
            np.maximum.accumulate(reach[begin:end], out=reach[begin:end])
        return reach

    def _reach_by_rank(self, belongs: BoolArray) -> Int64Array:
        """Ranks by (part, end) grow from part to part, so that one running maximum serves them all."""
        part = np.append(0, np.cumsum(~belongs))
        by_end = stable_order_by(part, self.end_us)
        rank = np.empty(len(by_end), np.intp)
        rank[by_end] = np.arange(len(by_end))
        return self.end_us[by_end[np.maximum.accumulate(rank)]]
