"""Buffers: the events of one stream that may still match, in order of time; as a list, or as a hash table of keys."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from operator import attrgetter

from coincide.papers.recording import Event, Label

latest_us = attrgetter("latest_us")
FAR_US = 2**62  # further than any time


class SortedBuffer:
    """Events in ascending order of `latest_us`, the timing papers' max; the nested loop's queue of the window joins."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = sorted(events, key=latest_us)
        self._latest_us = [event.latest_us for event in self._events]

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __getitem__(self, index: int) -> Event:
        return self._events[index]

    @property
    def oldest(self) -> Event | None:
        """The event of the least time."""
        return self._events[0] if self._events else None

    def insert(self, event: Event) -> None:
        """Put an event in its place, behind those of the same time."""
        at = bisect_right(self._latest_us, event.latest_us)
        self._events.insert(at, event)
        self._latest_us.insert(at, event.latest_us)

    def first_from(self, time_us: int) -> int:
        """Index of the first event at or after `time_us`; the number of events if there is none."""
        return bisect_left(self._latest_us, time_us)

    def between(self, first_us: int, last_us: int) -> list[Event]:
        """Events whose time lies in [first, last]."""
        return self._events[self.first_from(first_us) : bisect_right(self._latest_us, last_us)]

    def newest_first(self, key: Label) -> Iterator[Event]:  # noqa: ARG002 - a list knows no keys
        """Yield the events among which are all partners of an event with this key: here, all of them."""
        return reversed(self._events)

    def drop_before(self, time_us: int) -> int:
        """Drop the events before `time_us`; return how many they were."""
        return self._drop(self.first_from(time_us))

    def drop_oldest(self) -> None:
        """Drop the event of the least time."""
        self._drop(1)

    def _drop(self, count: int) -> int:
        del self._events[:count], self._latest_us[:count]
        return count


class HashBuffer(SortedBuffer):
    """A hash table whose events, and those of each bucket, stay in order of time.

    The paper links them for FEW only, whose mode 1 scans by time. BEW's table drops old events through the same links.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buckets: dict[Label, list[Event]] = {}

    def insert(self, event: Event) -> None:
        """Put an event in its place, in its bucket too."""
        super().insert(event)
        insort(self._buckets.setdefault(event.key, []), event, key=latest_us)

    def newest_first(self, key: Label) -> Iterator[Event]:
        """Yield the events of the bucket."""
        return reversed(self._buckets.get(key, []))

    def _drop(self, count: int) -> int:
        for event in self._events[:count]:
            bucket = self._buckets[event.key]
            del bucket[0]
            if not bucket:
                del self._buckets[event.key]
        return super()._drop(count)
