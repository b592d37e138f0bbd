"""HeldFacts: the facts of a stream that are in the extent."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.runs import Label


class FactKey(NamedTuple):
    """What tells facts apart, and their order in the tuple scope; `ref` is the id."""

    start_us: int
    group: Label
    ref: Label
    end_us: int


class HeldFacts:
    """One extent: the w largest facts by (start, group, id, end), or those that end at or after latest - T.

    `latest` is the largest start that has arrived. A fact that reaches into the last T is there, then, however early
    it started.

    Examples
    --------
    >>> held = HeldFacts(WindowExtent(duration_us=10))
    >>> [held.add(FactKey(*key), 81) for key in ((0, "bay", 1, 15), (12, "bay", 2, 13), (1, "bay", 3, 1))]
    [None, None, 1]
    >>> held.add(FactKey(30, "bay", 4, 31), 79), held.dropped, len(held.value_of)
    (None, [FactKey(start_us=12, group='bay', ref=2, end_us=13), FactKey(start_us=0, group='bay', ref=1, end_us=15)], 1)
    """

    def __init__(self, extent: WindowExtent) -> None:
        self.value_of: dict[FactKey, Any] = {}
        self.dropped: list[FactKey] = []  # by the last call of `add`
        self._extent = extent
        self._next_first: list[tuple[Any, FactKey]] = []
        self._latest: int | None = None

    def add(self, key: FactKey, value: Any) -> int | None:
        """Add a fact, and drop those for which there is no place; return by how much it is too late, or None.

        The same key again is the same fact again: the first counts.
        """
        self.dropped = []
        late_by = self._late_by(key)
        if late_by is not None or key in self.value_of:
            return late_by
        self.value_of[key] = value
        heappush(self._next_first, (key if self._extent.duration_us is None else key.end_us, key))
        self._latest = key.start_us if self._latest is None else max(self._latest, key.start_us)
        while self._is_over(self._latest):
            self.dropped.append(heappop(self._next_first)[1])
            del self.value_of[self.dropped[-1]]
        return None

    def _late_by(self, key: FactKey) -> int | None:
        if self._latest is None:
            return None
        if self._extent.duration_us is not None:
            late_by = self._latest - self._extent.duration_us - key.end_us
            return late_by if late_by > 0 else None
        full = len(self.value_of) == self._extent.size
        oldest = self._next_first[0][1]
        return oldest.start_us - key.start_us if full and key < oldest else None

    def _is_over(self, latest: int) -> bool:
        if self._extent.duration_us is None:
            return len(self.value_of) > (self._extent.size or 0)
        return self._next_first[0][1].end_us < latest - self._extent.duration_us
