"""EagerExtent: coalesces readings as they come, so that a scan finds the runs ready."""

from __future__ import annotations

from typing import cast

import numpy as np

from coincide.coalescing.link import Link
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Run
from coincide.sliding.extent import Held, Scan
from coincide.sliding.group_readings import GroupReadings
from coincide.sliding.readings import Readings, Ref
from coincide.sliding.run_rule import RunRule
from coincide.temporal.facts import Facts


class EagerExtent:
    """The runs of one area under one rule, merged and split as readings come and go.

    Examples
    --------
    >>> from coincide.sliding.condition import Condition
    >>> from coincide.sliding.readings import Ref
    >>> hot = EagerExtent(RunRule(hold_us=60, condition=Condition(above=100)))
    >>> hot.add(Readings.of([0, 50, 90], [0, 0, 0], [101.0, 103.0, 99.0], [Ref("s", "a", 0)] * 3))
    >>> hot.scan().runs.intervals.start_us.tolist(), hot.scan().runs.intervals.end_us.tolist()
    ([0], [90])
    """

    def __init__(self, rule: RunRule) -> None:
        self._rule = rule
        self._link = Link(rule, rule.hold_us)
        self._groups: dict[int, GroupReadings] = {}

    def add(self, readings: Readings) -> None:
        """Take readings in any order."""
        columns = (readings.group, readings.ts_us, readings.value, readings.refs)
        for group, ts, value, ref in zip(*(column.tolist() for column in columns), strict=True):
            runs = self._groups.get(group)
            if runs is None:
                runs = self._groups[group] = GroupReadings(group, self._link)
            runs.add(ts, ref, value, UNWATCHED)

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        for group, runs in list(self._groups.items()):
            while runs.first_us < us:
                if not runs.drop_oldest(UNWATCHED):
                    del self._groups[group]
                    break

    def scan(self) -> Scan:
        """Return the runs that interest, by (group, start)."""
        found = [run for group in sorted(self._groups) for run in self._groups[group].runs()]
        open_end = np.array([run.is_open for run in found], np.bool_) * self._rule.hold_us
        column = {name: [getattr(run, name) for run in found] for name in ("start_us", "end_us", "group", "value")}
        facts = Facts(
            np.array(column["start_us"], np.int64),
            np.array(column["end_us"], np.int64) + open_end,
            np.array(column["group"], np.int64),
            np.array(column["value"], np.float64),
        )
        readings = sum(len(runs) for runs in self._groups.values())
        return Scan(facts.where(self._rule.interests(facts.value)), readings, len(self._groups), len(found))

    def counted(self) -> Readings:
        """Return the readings that count at their instant, by (group, ts)."""
        parts = []
        for group in sorted(self._groups):
            ts, value, refs = self._groups[group].counted()
            parts.append(Readings.of(ts, [group] * len(ts), value, cast("list[Ref]", refs)))
        return Readings.joined(parts)

    def held(self, group: int, start_us: int, end_us: int) -> Held:
        """Return what a group held over an interval inside one of its runs."""
        readings, value, newest = self._groups[group].held(start_us, end_us)
        return Held(readings, value, cast("Ref", newest))


class _Unwatched(RunChanges):
    """Changes that nobody asks for."""

    def alter(self, run: Run, to: Run) -> None:
        """Pass over it."""

    def insert(self, run: Run) -> None:
        """Pass over it."""

    def retract(self, run: Run) -> None:
        """Pass over it."""


UNWATCHED = _Unwatched()
