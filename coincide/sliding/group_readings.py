"""GroupReadings: the runs of one group, and what it held over a part of one of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from coincide.coalescing.group_runs import GroupRuns
from coincide.coalescing.runs import Label


class GroupReadings(GroupRuns):
    """The runs of a group, whose readings can be asked for.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> from coincide.coalescing.link import Link
    >>> from coincide.coalescing.run_changes import RunChanges
    >>> readings = GroupReadings("bay", Link(Equal()))
    >>> [readings.add(ts, f"r{ts}", 81, RunChanges()) for ts in (0, 10, 20)]
    [True, True, True]
    >>> readings.held(5, 20), len(readings)
    ((2, 81, 'r10'), 3)
    """

    __slots__ = ()

    def __len__(self) -> int:
        return len(self._times) - self.head

    def counted(self) -> tuple[list[int], list[Any], list[Label]]:
        """Return times, values and ids of the readings that count at their instant, in order of time."""
        return self._times[self.head :], self._values[self.head :], self._ids[self.head :]

    def held(self, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """Return how many readings hold in an interval inside a run, the first one's value and the last one's id."""
        first = bisect_right(self._times, start_us, self.head) - 1
        stop = bisect_left(self._times, end_us, self.head)
        return stop - first, self._values[first], self._ids[stop - 1]
