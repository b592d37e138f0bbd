"""Join buffers: the tuples of one stream that may still join, as a list to scan or as a hash table to probe."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from operator import attrgetter
from typing import Protocol

from coincide.papers.window_join.window_replay import Label, Point

_time_us = attrgetter("time_us")


class JoinBuffer(Protocol):
    """Tuples of one stream in order of time."""

    def __len__(self) -> int: ...

    def insert(self, point: Point) -> None:
        """Add a tuple at its place in time."""

    def newest_first(self, key: Label) -> Iterator[Point]:
        """Yield the tuples that are to be looked at for partners of a tuple with this key."""

    @property
    def oldest(self) -> Point | None:
        """The tuple of the least time."""

    def drop_oldest(self) -> None:
        """Forget the tuple of the least time."""


class NestedLoopBuffer:
    """The nested loop's queue: all tuples are looked at, whatever their key.

    Examples
    --------
    >>> buffer = NestedLoopBuffer()
    >>> for row, time_us in enumerate([5, 9, 7]):
    ...     buffer.insert(Point("a", row, time_us, "key", 9))
    >>> [point.time_us for point in buffer.newest_first("other")]
    [9, 7, 5]
    """

    def __init__(self) -> None:
        self._points: list[Point] = []

    def __len__(self) -> int:
        return len(self._points)

    def insert(self, point: Point) -> None:
        """Add a tuple at its place in time."""
        insort(self._points, point, key=_time_us)

    def newest_first(self, key: Label) -> Iterator[Point]:  # noqa: ARG002 - a queue knows no keys
        """Yield all tuples."""
        return reversed(self._points)

    @property
    def oldest(self) -> Point | None:
        """The tuple of the least time."""
        return self._points[0] if self._points else None

    def drop_oldest(self) -> None:
        """Forget the tuple of the least time."""
        del self._points[0]


class HashBuffer(NestedLoopBuffer):
    """A hash table whose tuples, and those of each bucket, stay linked in order of time.

    The paper links them for FEW only, whose mode 1 scans by time; BEW's table drops old tuples through the same links.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buckets: dict[Label, list[Point]] = {}

    def insert(self, point: Point) -> None:
        """Add a tuple at its place in time, in its bucket too."""
        super().insert(point)
        insort(self._buckets.setdefault(point.key, []), point, key=_time_us)

    def newest_first(self, key: Label) -> Iterator[Point]:
        """Yield the tuples of the bucket."""
        return reversed(self._buckets.get(key, []))

    def drop_oldest(self) -> None:
        """Forget the tuple of the least time; it is the first of its bucket."""
        bucket = self._buckets[self._points[0].key]
        del bucket[0]
        if not bucket:
            del self._buckets[self._points[0].key]
        super().drop_oldest()
