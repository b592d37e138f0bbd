"""HeldReadings: the readings of a stream that are in the extent, one reading after the other."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from coincide.changes import Changes
from coincide.coalescing.extent import Key, WindowExtent
from coincide.coalescing.frame import Frame, frame_of
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Label, Runs


class HeldReadings:
    """The readings in one extent, in a heap: to add one costs a logarithm of how many are held.

    Examples
    --------
    >>> held = HeldReadings(WindowExtent(size=2))
    >>> [held.add((ts, "bay", ts), 81) for ts in (30, 10, 20, 5)], sorted(held.value_of)
    ([None, None, None, 15], [(20, 'bay', 20), (30, 'bay', 30)])
    """

    def __init__(self, extent: WindowExtent) -> None:
        self.value_of: dict[Key, Any] = {}
        self.dropped: list[Key] = []  # by the last call of `add`
        self._extent = extent
        self._oldest_first: list[Key] = []
        self._latest: int | None = None

    def add(self, key: Key, value: Any) -> int | None:
        """Add a reading; return by how many microseconds it is too late, None where it counts.

        The same key again is the same reading again: the first counts.
        """
        self.dropped = []
        if key in self.value_of:
            return None
        late_by = self._late_by(key)
        if late_by is not None:
            return late_by
        self.value_of[key] = value
        heappush(self._oldest_first, key)
        self._latest = key[0] if self._latest is None else max(self._latest, key[0])
        self._drop_expired(self._latest)
        return None

    def _late_by(self, key: Key) -> int | None:
        if self._latest is None:
            return None
        if self._extent.duration_us is not None:
            late_by = self._latest - self._extent.duration_us - key[0]
            return late_by if late_by > 0 else None
        full = len(self._oldest_first) == self._extent.size
        return self._oldest_first[0][0] - key[0] if full and key < self._oldest_first[0] else None

    def _drop_expired(self, latest: int) -> None:
        extent, oldest_first = self._extent, self._oldest_first
        if extent.duration_us is None:
            if len(oldest_first) > (extent.size or 0):
                self._drop_oldest()
            return
        while oldest_first[0][0] < latest - extent.duration_us:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = heappop(self._oldest_first)
        del self.value_of[oldest]
        self.dropped.append(oldest)


class SingleReadings:
    """The extents of a stream: one, or one for each group."""

    def __init__(self, extent: WindowExtent) -> None:
        self._extent = extent
        self._scopes: dict[Label | None, HeldReadings] = {}

    def __len__(self) -> int:
        return sum(len(scope.value_of) for scope in self._scopes.values())

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; say which are late."""
        late = []
        for row, (ts, group, value, ref) in enumerate(frame.arrivals()):
            late_by = self._scope(group).add((ts, group, ref), value)
            if late_by is not None:
                late.append((row, late_by))
        return RunChanges().changes(late)

    def readings(self) -> Frame:
        """Return the readings, by (group, ts, id)."""
        value_of: dict[Key, Any] = {}
        for scope in self._scopes.values():
            value_of |= scope.value_of
        rows = sorted(value_of, key=lambda key: (key[1], key[0], key[2]))
        return frame_of([(ts, group, value_of[ts, group, ref], ref) for ts, group, ref in rows])

    def _scope(self, group: Label) -> HeldReadings:
        name = group if self._extent.per_group else None
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = HeldReadings(self._extent)
        return scope
