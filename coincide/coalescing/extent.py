"""WindowExtent: which readings count, and HeldReadings: those of a stream that do."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from coincide.coalescing.columns import duration_of
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.runs import Label

Key = tuple[int, Label, Label]  # (ts_us, group, id): the order of the tuple scope


@dataclass(frozen=True)
class WindowExtent:
    """Which readings of a stream count at any time, whatever the order in which they arrived.

    Of all readings that have arrived, a tuple scope holds the `size` largest by (ts, group, id); a time scope holds
    those with a ts in the closed interval [latest - duration, latest], latest being the largest ts of all. A reading
    outside when it arrives is too late: it never counts.

    Parameters
    ----------
    size : int, optional
        w, at least 1.
    duration_us : int, optional
        T in microseconds, 0 or more. Exactly one of both must be given.
    per_group : bool
        Whether each group has an extent of its own. Default: one for all groups together.

    Raises
    ------
    CoalescingError
        Names the field, the value and what is allowed.

    Examples
    --------
    >>> WindowExtent(size=1000), WindowExtent(duration_us=3_600_000_000).size
    (WindowExtent(size=1000, duration_us=None, per_group=False), None)
    """

    size: int | None = None
    duration_us: int | None = None
    per_group: bool = False

    def __post_init__(self) -> None:
        if (self.size is None) == (self.duration_us is None):
            raise CoalescingError("extent", (self.size, self.duration_us), "size or duration_us, exactly one of both")
        if self.duration_us is not None:
            duration_of("duration_us", self.duration_us)
        elif isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise CoalescingError("size", self.size, "a whole number of readings, 1 or more")
        if not isinstance(self.per_group, bool):
            raise CoalescingError("per_group", self.per_group, "True or False")


def checked_extent(extent: object) -> WindowExtent:
    """Return it if it is a WindowExtent, else raise CoalescingError."""
    if not isinstance(extent, WindowExtent):
        raise CoalescingError("extent", extent, "a WindowExtent, such as WindowExtent(size=1000)")
    return extent


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
        self._extent = extent
        self._oldest_first: list[Key] = []
        self._latest: int | None = None

    def add(self, key: Key, value: Any) -> int | None:
        """Add a reading; return by how many microseconds it is too late, None where it counts.

        The same key again is the same reading again: the first counts.
        """
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
                del self.value_of[heappop(oldest_first)]
            return
        while oldest_first[0][0] < latest - extent.duration_us:
            del self.value_of[heappop(oldest_first)]
