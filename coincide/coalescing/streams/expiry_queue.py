"""ExpiryQueue: of which group the readings are that leave an extent next."""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.arrays.order import stable_order_by


class ExpiryQueue:
    """Readings of all groups by (ts, group), so that a new extent says how many of each group have left.

    To add readings touches those after the earliest of them alone.

    Examples
    --------
    >>> queue = ExpiryQueue()
    >>> queue.add(np.array([10, 30, 20]), np.array([0, 0, 1]))
    >>> queue.pop(2, groups=3).tolist(), queue.pop_before(30, groups=3).tolist(), len(queue)
    ([1, 1, 0], [0, 0, 0], 1)
    """

    def __init__(self) -> None:
        self._ts = np.empty(0, np.int64)
        self._code = np.empty(0, np.int64)
        self._head = self._tail = 0

    def __len__(self) -> int:
        return self._tail - self._head

    def add(self, ts_us: Int64Array, code: Int64Array) -> None:
        """Put readings in, in any order."""
        if len(ts_us) == 0:
            return
        since = self._head + int(np.searchsorted(self._ts[self._head : self._tail], ts_us.min()))
        ts = np.concatenate([self._ts[since : self._tail], ts_us])
        codes = np.concatenate([self._code[since : self._tail], code])
        order = stable_order_by(ts, codes)
        since = self._with_room(since, len(ts))
        self._tail = since + len(ts)
        self._ts[since : self._tail] = ts[order]
        self._code[since : self._tail] = codes[order]

    def pop(self, count: int, groups: int) -> Int64Array:
        """Take the `count` first; return how many of each group they were, int64 (groups,)."""
        popped = self._code[self._head : self._head + count]
        self._head += count
        return np.bincount(popped, minlength=groups)

    def pop_before(self, ts_us: int, groups: int) -> Int64Array:
        """Take those before an instant; return as `pop`."""
        return self.pop(int(np.searchsorted(self._ts[self._head : self._tail], ts_us)), groups)

    def recode(self, codes: PositionArray) -> None:
        """Give each group the new code at its old one; their order stays."""
        self._code = codes[self._code]

    def _with_room(self, since: int, more: int) -> int:
        """Make room behind `since` for so many; return where it is now."""
        if since + more <= len(self._ts):
            return since
        held = since - self._head
        for name in ("_ts", "_code"):
            column = np.zeros(2 * (held + more), np.int64)
            column[:held] = getattr(self, name)[self._head : since]
            setattr(self, name, column)
        self._head = 0
        return held
