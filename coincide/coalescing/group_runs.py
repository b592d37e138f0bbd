"""GroupRuns: the readings of one group in order of time, and where runs begin among them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from coincide.coalescing.link import Link
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Label, Run
from coincide.coalescing.tied_readings import TiedReadings

_new = tuple.__new__  # half the time of calling Run
ROOM = 64  # places of dropped readings that are always tolerated at the front


class GroupRuns:
    """The timestamp vectors of Algorithm 2, kept as one: sorted times, and the sorted times at which runs start.

    A run is a slice between two starts, so merging and splitting move no readings: one start goes or comes. Of
    readings at one instant that with the smallest id counts; the others wait in `_ties` in case it is dropped.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> runs, changes = GroupRuns("bay", Link(Equal())), RunChanges()
    >>> [runs.add(ts, ts, value, changes) for ts, value in ((0, 81), (20, 81), (10, 79))]
    [True, True, True]
    >>> [(run.start_us, run.end_us) for run in runs.runs()]
    [(0, 10), (10, 20), (20, 20)]
    """

    __slots__ = (
        "_first_run", "_group", "_ids", "_link", "_newest_run", "_oldest_run", "_starts", "_ties", "_times", "_values",
        "head",
    )  # fmt: skip

    def __init__(self, group: Label, link: Link) -> None:
        self._group = group
        self._link = link
        self._times: list[int] = []
        self._ids: list[Label] = []
        self._values: list[Any] = []
        self._starts: list[int] = []
        self._ties = TiedReadings()
        self._oldest_run: Run | None = None  # remembered while it is not the newest, too, and nothing came between
        self._newest_run: Run | None = None
        self._first_run = 0
        self.head = 0

    @property
    def is_empty(self) -> bool:
        """Whether no reading is left."""
        return self.head == len(self._times)

    @property
    def oldest(self) -> tuple[int, Label]:
        """(ts, id) of the reading that goes first; there must be one."""
        return self._times[self.head], self._ids[self.head]

    def runs(self) -> list[Run]:
        """Return all runs, by start."""
        return [self._run(place) for place in range(self._first_run, len(self._starts))]

    def add(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> bool:
        """Add a reading; return False if it was there already."""
        times = self._times
        if self.head == len(times) or ts_us > times[-1]:
            self._append(ts_us, ref, value, changes)
            return True
        place = bisect_left(times, ts_us, self.head)
        if times[place] == ts_us:
            return self._add_tie(place, ref, value, changes)
        before = self._around(max(place - 1, self.head), place)
        times.insert(place, ts_us)
        self._ids.insert(place, ref)
        self._values.insert(place, value)
        self._relink(place, before, changes)
        return True

    def drop_oldest(self, changes: RunChanges) -> None:
        """Drop the reading that `oldest` names."""
        if self._times[self.head] in self._ties:
            self._replace(self.head, self._ties.pop(self._times[self.head]), changes)
            return
        run = self._oldest_run or self._run(self._first_run)
        changes.retract(run)
        self._oldest_run = None
        self.head += 1
        if run.count == 1:
            self._first_run += 1
        else:
            shorter = self._without_first(run)
            changes.insert(shorter)
            if run.is_open:
                self._newest_run = shorter
            else:
                self._oldest_run = shorter
        if self.head > ROOM and 2 * self.head > len(self._times):
            self._compact()

    def _without_first(self, run: Run) -> Run:
        """Let the oldest run start at its second reading, now at `head`; return it."""
        head, (group, _, end, _, count, _, last, is_open) = self.head, run
        self._starts[self._first_run] = start = self._times[head]
        return _new(Run, (group, start, end, self._values[head], count - 1, self._ids[head], last, is_open))

    def _append(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> None:
        times = self._times
        if self.head == len(times):
            self._begin_run(ts_us, ref, value, changes)
            return
        newest = self._newest_run or self._run(len(self._starts) - 1)
        changes.retract(newest)
        if self._link.goes_on(times[-1], self._values[-1], ts_us, value):
            group, start, _, first_value, count, first, _, _ = newest
            self._extend(ts_us, ref, value)
            self._newest_run = longer = _new(Run, (group, start, ts_us, first_value, count + 1, first, ref, True))
            changes.insert(longer)
            return
        changes.insert(newest._replace(end_us=self._link.held_until(times[-1], ts_us), is_open=False))
        self._begin_run(ts_us, ref, value, changes)

    def _begin_run(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> None:
        self._extend(ts_us, ref, value)
        self._starts.append(ts_us)
        self._newest_run = run = _new(Run, (self._group, ts_us, ts_us, value, 1, ref, ref, True))
        changes.insert(run)

    def _extend(self, ts_us: int, ref: Label, value: Any) -> None:
        self._times.append(ts_us)
        self._ids.append(ref)
        self._values.append(value)

    def _add_tie(self, place: int, ref: Label, value: Any, changes: RunChanges) -> bool:
        ts, counted = self._times[place], self._ids[place]
        if ref == counted or self._ties.holds(ts, ref):
            return False
        if ref > counted:  # type: ignore[operator]  # ids of one stream are all of one type
            self._ties.add(ts, ref, value)
        else:
            self._ties.add(ts, counted, self._values[place])
            self._replace(place, (ref, value), changes)
        return True

    def _replace(self, place: int, reading: tuple[Label, Any], changes: RunChanges) -> None:
        before = self._around(max(place - 1, self.head), min(place + 1, len(self._times) - 1))
        self._ids[place], self._values[place] = reading
        self._relink(place, before, changes)

    def _relink(self, place: int, before: list[Run], changes: RunChanges) -> None:
        """Decide anew where runs start at `place` and after it; say what became of the runs before."""
        self._oldest_run = self._newest_run = None
        self._set_start(place)
        after = min(place + 1, len(self._times) - 1)
        if after > place:
            self._set_start(after)
        for run in before:
            changes.retract(run)
        for run in self._around(max(place - 1, self.head), after):
            changes.insert(run)

    def _set_start(self, place: int) -> None:
        """Let a run start at `place` if, and only if, the reading there does not go on from the one before."""
        starts, ts = self._starts, self._times[place]
        at = bisect_left(starts, ts, self._first_run)
        is_start = at < len(starts) and starts[at] == ts
        starts_here = place == self.head or not self._link.goes_on(
            self._times[place - 1], self._values[place - 1], ts, self._values[place]
        )
        if starts_here and not is_start:
            starts.insert(at, ts)
        elif is_start and not starts_here:
            del starts[at]

    def _around(self, first: int, last: int) -> list[Run]:
        """Return the runs that hold the readings from one place to another."""
        begin = bisect_right(self._starts, self._times[first], self._first_run) - 1
        end = bisect_right(self._starts, self._times[last], begin) - 1
        return [self._run(place) for place in range(begin, end + 1)]

    def _run(self, run: int) -> Run:
        times, starts = self._times, self._starts
        start = starts[run]
        first = self.head if run == self._first_run else bisect_left(times, start, self.head)
        if run + 1 == len(starts):
            ts, count = times[-1], len(times) - first
            return Run(self._group, start, ts, self._values[first], count, self._ids[first], self._ids[-1], True)
        following = bisect_left(times, starts[run + 1], first)
        end = self._link.held_until(times[following - 1], starts[run + 1])
        last = self._ids[following - 1]
        return Run(self._group, start, end, self._values[first], following - first, self._ids[first], last, False)

    def _compact(self) -> None:
        del self._times[: self.head], self._ids[: self.head], self._values[: self.head]
        del self._starts[: self._first_run]
        self.head = self._first_run = 0
