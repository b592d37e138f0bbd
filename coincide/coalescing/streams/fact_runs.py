"""Facts that may be united with each other, in order of start, and their runs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.runs import Run, RunChanges
from coincide.coalescing.streams.extent import Key

Fact = tuple[int, Any]  # (end_us, value)


class FactLane:
    """All facts of a group, or with `Equal` those of one value: neighbours in a lane link if the equivalence holds.

    A fact that is later than the others costs the same however many there are; to add another one or to remove one
    costs what the runs beside it are long.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> lane, changes = FactLane(Equal(), gap_us=5), RunChanges()
    >>> for start, end in ((0, 10), (14, 20), (40, 50)):
    ...     lane.add((start, "bay", start), (end, 81), changes)
    >>> [(run.start_us, run.end_us, run.count) for run in lane.runs]
    [(0, 20, 2), (40, 50, 1)]
    >>> lane.remove((0, "bay", 0), changes)
    >>> [(run.start_us, run.end_us) for run in lane.runs]
    [(14, 20), (40, 50)]
    """

    __slots__ = ("_begins", "_equivalence", "_facts", "_gap_us", "_keys", "runs")

    def __init__(self, equivalence: Equivalence, gap_us: int) -> None:
        self._equivalence = equivalence
        self._gap_us = gap_us
        self._keys: list[Key] = []
        self._facts: list[Fact] = []
        self._begins: list[Key] = []  # the first fact of each run
        self.runs: list[Run] = []

    def add(self, key: Key, fact: Fact, changes: RunChanges) -> None:
        """Add a fact that is not there."""
        place = bisect_left(self._keys, key)
        self._keys.insert(place, key)
        self._facts.insert(place, fact)
        if place + 1 < len(self._keys) or place == 0:
            self._reunite(place, changes)
            return
        newest = self.runs[-1]
        grown = self._grown(newest, place)
        if grown is None:
            self._begins.append(key)
            self.runs.append(self._alone(place))
        else:
            changes.retract(newest)
            self.runs[-1] = grown
        changes.insert(self.runs[-1])

    def remove(self, key: Key, changes: RunChanges) -> None:
        """Remove a fact that is there."""
        place = bisect_left(self._keys, key)
        del self._keys[place], self._facts[place]
        self._reunite(place, changes)

    def _reunite(self, place: int, changes: RunChanges) -> None:
        """Unite anew the run before a place and those after it, up to one that begins where it did."""
        since = max(0, bisect_right(self._begins, self._keys[place - 1]) - 1) if place else 0
        begin = bisect_left(self._keys, self._begins[since]) if place else 0
        begins: list[Key] = []
        runs: list[Run] = []
        until = since
        for number in range(begin, len(self._keys)):
            grown = self._grown(runs[-1], number) if runs else None
            if grown is not None:
                runs[-1] = grown
                continue
            key = self._keys[number]
            until = bisect_left(self._begins, key, until)
            if number > place and until < len(self._begins) and self._begins[until] == key:
                break
            begins.append(key)
            runs.append(self._alone(number))
        else:
            until = len(self._begins)
        for run in self.runs[since:until]:
            changes.retract(run)
        for run in runs:
            changes.insert(run)
        self._begins[since:until], self.runs[since:until] = begins, runs

    def _grown(self, run: Run, number: int) -> Run | None:
        """Return the run with the next fact in it; None if that one begins another."""
        start, _, ref = self._keys[number]
        end, value = self._facts[number]
        if start - self._gap_us > run.end_us or not self._equivalence.holds(self._facts[number - 1][1], value):
            return None
        return run._replace(end_us=max(run.end_us, end), count=run[4] + 1, last=ref)

    def _alone(self, number: int) -> Run:
        start, group, ref = self._keys[number]
        end, value = self._facts[number]
        return Run(group, start, end, value, 1, ref, ref, False)
