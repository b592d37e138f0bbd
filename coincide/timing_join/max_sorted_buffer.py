"""MaxSortedBuffer: events of one stream held in the order of their max, as the papers keep them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter

from coincide.timing_join.replay import Event

latest_us = attrgetter("latest_us")


class MaxSortedBuffer:
    """Events in ascending order of `latest_us`.

    Examples
    --------
    >>> held = MaxSortedBuffer(Event("a", row, 0, 0, 0, latest, 0) for row, latest in enumerate([30, 10, 20]))
    >>> [event.row for event in held], [event.row for event in held.between(10, 20)]
    ([1, 2, 0], [1, 2])
    >>> held.drop_before(20)
    1
    >>> held.first_from(30)
    1
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = sorted(events, key=latest_us)
        self._latest_us = [event.latest_us for event in self._events]

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __getitem__(self, index: int) -> Event:
        return self._events[index]

    def insert(self, event: Event) -> None:
        """Put an event in its place, behind those of the same max."""
        at = bisect_right(self._latest_us, event.latest_us)
        self._events.insert(at, event)
        self._latest_us.insert(at, event.latest_us)

    def first_from(self, time_us: int) -> int:
        """Index of the first event whose max is at least `time_us`; the number of events if there is none."""
        return bisect_left(self._latest_us, time_us)

    def between(self, first_us: int, last_us: int) -> list[Event]:
        """Events whose max lies in [first, last]."""
        return self._events[self.first_from(first_us) : bisect_right(self._latest_us, last_us)]

    def drop_before(self, time_us: int) -> int:
        """Drop the events whose max is below `time_us`; return how many they were."""
        count = self.first_from(time_us)
        del self._events[:count], self._latest_us[:count]
        return count
