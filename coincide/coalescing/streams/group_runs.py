"""The readings of one group in order of time, and the runs that they make, one reading after the other."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from coincide.coalescing.links import LEFT_OUT, Link
from coincide.coalescing.runs import CoalescedRun, Label, RunChanges
from coincide.coalescing.streams.ordered_times import OrderedTimes

Reading = tuple[Label, Any]  # (id, value) of a reading at an instant
RunColumns = tuple[Any, ...]  # those of a CoalescedRun


_new = tuple.__new__  # half the time of calling CoalescedRun

_id_of = itemgetter(0)

MaybeRun = CoalescedRun | None
Around = tuple[int | None, int | None]  # the times before and after one; None where there is none


class GroupRuns:
    """The timestamp vectors of Algorithm 2, kept as one, and the runs by their starts.

    Of readings at one instant that with the smallest id counts; the others wait in `_ties` in case it is dropped.
    """

    __slots__ = ("_group", "_last_us", "_link", "_reading", "_run_of", "_starts", "_ties", "_times", "first_us")

    def __init__(self, group: Label, link: Link) -> None:
        self._group = group
        self._link = link
        self._times = OrderedTimes()
        self._reading: dict[int, Reading] = {}  # the reading that counts at an instant
        self._starts = OrderedTimes()
        self._run_of: dict[int, RunColumns] = {}  # plain tuples: the garbage collector leaves them alone
        self._ties: dict[int, list[Reading]] = {}  # those that wait at an instant, by id
        self.first_us = self._last_us = 0  # of the oldest and the newest reading, if there are any

    @property
    def oldest(self) -> tuple[int, Label]:
        """(ts, id) of the reading that goes first; there must be one."""
        return self.first_us, self._reading[self.first_us][0]

    def runs(self) -> list[CoalescedRun]:
        """Return all runs, by start."""
        return [run for run in map(self._run, self._starts) if run.value is not LEFT_OUT]

    def readings(self) -> list[tuple[int, Label, Any]]:
        """Return (ts, id, value) of all, by ts and id."""
        return self._readings_at(self._times)

    def readings_after(self, after_us: int | None, count: int) -> list[tuple[int, Label, Any]]:
        """Return `readings` of the first so many instants after one; of the first of all if none is given."""
        return self._readings_at(self._times.after(after_us, count))

    def readings_in(self, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """Return how many readings hold in an interval inside a run, the first one's value and the last one's id."""
        first = self._times.at_or_before(start_us)
        last = self._times.at_or_before(end_us - 1)
        return self._times.count(first, end_us), self._reading[first][1], self._reading[last][0]

    def _readings_at(self, times: Iterable[int]) -> list[tuple[int, Label, Any]]:
        return [(ts, *reading) for ts in times for reading in (self._reading[ts], *self._ties.get(ts, ()))]

    def add(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> bool:
        """Add a reading; return False if it was there already."""
        if ts_us in self._reading:
            return self._add_tie(ts_us, ref, value, changes)
        if not self._reading:
            self.first_us = ts_us
        elif ts_us < self._last_us:
            self.first_us = min(ts_us, self.first_us)
            around = self._times.add(ts_us)
            if not self._falls_into_a_run(ts_us, around, value, changes):
                self._set(ts_us, around, (ref, value), changes)
            self._reading[ts_us] = (ref, value)
            return True
        self._append(ts_us, ref, value, changes)
        return True

    def drop_oldest(self, changes: RunChanges) -> bool:
        """Drop the reading that `oldest` names; return whether others are left."""
        ts = self.first_us
        if ts in self._ties:
            waiting = self._ties[ts]
            self._set(ts, self._times.around(ts), waiting.pop(0), changes)
            if not waiting:
                del self._ties[ts]
            return True
        self._times.pop_first()
        del self._reading[ts]
        run = self._run(ts)
        self._retract(run, changes)
        if run.count == 1:
            self._starts.pop_first()
            self.first_us = self._times.first if self._reading else 0
            return bool(self._reading)
        self.first_us = start = self._times.first
        self._starts.replace_first(start)
        self._insert(_later_part(run, start, self._reading[start], run.count - 1), changes)
        return True

    def _append(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> None:
        if self._reading:
            newest, before = self._run_of[self._starts.last], self._last_us
            group, start_us, _, first_value, count, first, last, _ = newest
            if self._link.goes_on(before, self._reading[before][1], ts_us, value):
                self._extend(ts_us, ref, value)
                grown = group, start_us, ts_us, first_value, count + 1, first, ref, True
                self._run_of[start_us] = grown
                changes.alter(_new(CoalescedRun, newest), _new(CoalescedRun, grown))
                return
            ended = group, start_us, self._link.held_until(before, ts_us), first_value, count, first, last, False
            self._run_of[start_us] = ended
            if first_value is not LEFT_OUT:
                changes.alter(_new(CoalescedRun, newest), _new(CoalescedRun, ended))
        self._extend(ts_us, ref, value)
        self._starts.append(ts_us)
        self._insert(_new(CoalescedRun, (self._group, ts_us, ts_us, value, 1, ref, ref, True)), changes)

    def _extend(self, ts_us: int, ref: Label, value: Any) -> None:
        self._times.append(ts_us)
        self._reading[ts_us] = (ref, value)
        self._last_us = ts_us

    def _add_tie(self, ts_us: int, ref: Label, value: Any, changes: RunChanges) -> bool:
        counted, waiting = self._reading[ts_us], self._ties.get(ts_us)
        if ref == counted[0] or (waiting is not None and any(ref == other for other, _ in waiting)):
            return False
        is_first = ref < counted[0]  # type: ignore[operator]  # ids of one stream are all of one type
        insort(self._ties.setdefault(ts_us, []), counted if is_first else (ref, value), key=_id_of)
        if is_first:
            self._set(ts_us, self._times.around(ts_us), (ref, value), changes)
        return True

    def _falls_into_a_run(self, ts_us: int, around: Around, value: Any, changes: RunChanges) -> bool:
        """Let a run have one reading more if it goes on through it; else return False."""
        before, after = around
        if before is None or after is None or after in self._run_of:
            return False
        link, reading = self._link, self._reading
        if not link.goes_on(before, reading[before][1], ts_us, value):
            return False
        if not link.goes_on(ts_us, value, after, reading[after][1]):
            return False
        run = self._run_at(before)
        larger = _earlier_part(run, run.last, run.count + 1)
        self._run_of[run.start_us] = tuple(larger)
        changes.alter(run, larger)
        return True

    def _set(self, ts_us: int, around: Around, reading: Reading, changes: RunChanges) -> None:
        """Let a reading count at an instant of `_times`, where none counted before or another one."""
        before, after = around
        old, left, right = self._apart(ts_us, around)
        for run in old.values():
            self._retract(run, changes)
        self._reading[ts_us] = ref, value = reading
        new = []
        run = _new(CoalescedRun, (self._group, ts_us, ts_us, value, 1, ref, ref, True))
        if left is not None and before is not None:
            if self._link.goes_on(before, self._reading[before][1], ts_us, value):
                run = _grown(left, ts_us, ref)
            else:
                new.append(left.until(self._link.held_until(before, ts_us)))
        if right is not None and after is not None:
            if self._link.goes_on(ts_us, value, after, right.value):
                run = _joined(run, right)
            else:
                run = run.until(self._link.held_until(ts_us, after))
                new.append(right)
        for made in (*new, run):
            if old.pop(made.start_us, None) is None:
                self._starts.add(made.start_us)
            self._insert(made, changes)
        for start in old:
            self._starts.remove(start)

    def _apart(self, ts_us: int, around: Around) -> tuple[dict[int, CoalescedRun], MaybeRun, MaybeRun]:
        """Return the runs around an instant by their starts, and what of them lies before it and after it."""
        before, after = around
        left = None if before is None else self._run_at(before)
        own = self._run_at(ts_us) if ts_us in self._reading else None
        right: MaybeRun = own or left
        if after is None or after in self._run_of:
            right = None if after is None else self._run(after)
        old = {run.start_us: run for run in (left, own, right) if run is not None}
        whole_left, here = left, own is not None
        if left is not None and before is not None and left in (own, right):
            count = self._times.count(left.start_us, ts_us) if left == right else left.count - here
            left = _earlier_part(left, self._reading[before][0], count)
        if right is not None and after is not None and right in (own, whole_left):
            count = right.count - here - (left.count if left is not None and right == whole_left else 0)
            right = _later_part(right, after, self._reading[after], count)
        return old, left, right

    def _run_at(self, ts_us: int) -> CoalescedRun:
        return self._run(ts_us if ts_us in self._run_of else self._starts.at_or_before(ts_us))

    def _run(self, start_us: int) -> CoalescedRun:
        return _new(CoalescedRun, self._run_of[start_us])

    def _insert(self, run: CoalescedRun, changes: RunChanges) -> None:
        self._run_of[run.start_us] = tuple(run)
        if run.value is not LEFT_OUT:
            changes.insert(run)

    def _retract(self, run: CoalescedRun, changes: RunChanges) -> None:
        del self._run_of[run.start_us]
        if run.value is not LEFT_OUT:
            changes.retract(run)


def _grown(run: CoalescedRun, ts_us: int, ref: Label) -> CoalescedRun:
    """Return the run with one reading more at its end."""
    return _new(CoalescedRun, (run.group, run.start_us, ts_us, run.value, run.count + 1, run.first, ref, True))


def _earlier_part(run: CoalescedRun, last: Label, count: int) -> CoalescedRun:
    """Return the run with another last reading and so many in all."""
    return _new(CoalescedRun, (run.group, run.start_us, run.end_us, run.value, count, run.first, last, run.is_open))


def _later_part(run: CoalescedRun, start_us: int, first: Reading, count: int) -> CoalescedRun:
    """Return the run from another first reading on, with so many in all."""
    ref, value = first
    return _new(CoalescedRun, (run.group, start_us, run.end_us, value, count, ref, run.last, run.is_open))


def _joined(left: CoalescedRun, right: CoalescedRun) -> CoalescedRun:
    """Return one run of two neighbours."""
    columns = (left.group, left.start_us, right.end_us, left.value, left.count + right.count, left.first)
    return _new(CoalescedRun, (*columns, right.last, right.is_open))
