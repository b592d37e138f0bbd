"""GroupReadings: the runs of one group, and what it held over a part of one of them."""

from __future__ import annotations

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
        return len(self._reading)

    def counted(self) -> tuple[list[int], list[Any], list[Label]]:
        """Return times, values and ids of the readings that count at their instant, in order of time."""
        times = list(self._times)
        readings = [self._reading[ts] for ts in times]
        return times, [value for _, value in readings], [ref for ref, _ in readings]

    def held(self, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """Return how many readings hold in an interval inside a run, the first one's value and the last one's id."""
        first = self._times.at_or_before(start_us)
        last = self._times.at_or_before(end_us - 1)
        return self._times.count(first, end_us), self._reading[first][1], self._reading[last][0]
