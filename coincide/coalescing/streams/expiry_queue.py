"""ExpiryQueue: which reading of all groups leaves next."""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.arrays.order import merged_order_by, stable_order_by
from coincide.coalescing.streams.segments import MergedBatch


class ExpiryQueue:
    """Readings of all groups by (ts, group), so that a new extent says how many of each group have left.

    To add readings touches those after the earliest of them alone.
    """

    def __init__(self) -> None:
        self._ts = np.empty(0, np.int64)
        self._code = np.empty(0, np.int64)
        self._head = self._tail = 0

    def __len__(self) -> int:
        return self._tail - self._head

    def add(self, merged: MergedBatch) -> None:
        """Put the new readings of a batch in."""
        ts_us, code = merged.readings.ts_us[merged.is_new], merged.readings.group[merged.is_new]
        if len(ts_us) == 0:
            return
        since = self._head + int(np.searchsorted(self._ts[self._head : self._tail], ts_us.min()))
        order = stable_order_by(ts_us, code)
        ts, codes = ts_us[order], code[order]
        if since < self._tail:
            ts = np.concatenate([self._ts[since : self._tail], ts])
            codes = np.concatenate([self._code[since : self._tail], codes])
            order = merged_order_by(ts, codes)
            ts, codes = ts[order], codes[order]
        since = self._with_room(since, len(ts))
        self._tail = since + len(ts)
        self._ts[since : self._tail] = ts
        self._code[since : self._tail] = codes

    def pop(self, count: int, groups: int) -> Int64Array:
        """Take the `count` first; return how many of each group they were, int64 (groups,)."""
        popped = self._code[self._head : self._head + count]
        self._head += count
        return np.bincount(popped, minlength=groups)

    def before(self, ts_us: int) -> int:
        """Return how many are before an instant."""
        return int(np.searchsorted(self._ts[self._head : self._tail], ts_us))

    def recode(self, codes: PositionArray) -> None:
        """Give each group the new code at its old one; their order stays."""
        self._code = codes[self._code]

    def _with_room(self, since: int, more: int) -> int:
        """Make room behind `since` for so many; return where it is now."""
        if since + more <= len(self._ts):
            return since
        rows = since - self._head
        for name in ("_ts", "_code"):
            column = np.zeros(2 * (rows + more), np.int64)
            column[:rows] = getattr(self, name)[self._head : since]
            setattr(self, name, column)
        self._head = 0
        return rows
