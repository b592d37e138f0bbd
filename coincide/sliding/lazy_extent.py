"""LazyExtent: keeps readings, and coalesces them when it is scanned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.coalescing.batch import coalesce
from coincide.coalescing.validity import validity
from coincide.sliding.extent import Held, Scan
from coincide.sliding.readings import Readings
from coincide.sliding.run_rule import RunRule
from coincide.temporal.facts import Facts


class HeldReadings:
    """The readings of one area, for all rules; sorted when somebody looks."""

    def __init__(self) -> None:
        self._counted = Readings.of([], [], [], [])
        self._new: list[Readings] = []

    def add(self, readings: Readings) -> None:
        """Take readings in any order."""
        self._new.append(readings)

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        counted = self.counted()
        self._counted = counted.where(counted.ts_us >= us)

    def counted(self) -> Readings:
        """Return those that count at their instant, by (group, ts)."""
        if self._new:
            self._counted = Readings.joined([self._counted, *self._new]).counted()
            self._new = []
        return self._counted


@dataclass(frozen=True)
class LazyExtent:
    """Coalesces the readings under one rule; several may share them.

    Examples
    --------
    >>> from coincide.sliding.condition import Condition
    >>> from coincide.sliding.readings import Ref
    >>> hot = LazyExtent(RunRule(hold_us=60, condition=Condition(above=100)), HeldReadings())
    >>> hot.add(Readings.of([0, 50, 90], [0, 0, 0], [101.0, 103.0, 99.0], [Ref("s", "a", 0)] * 3))
    >>> hot.scan().runs.intervals.start_us.tolist(), hot.scan().runs.intervals.end_us.tolist()
    ([0], [90])
    """

    rule: RunRule
    shared: HeldReadings

    def add(self, readings: Readings) -> None:
        """Take readings in any order."""
        self.shared.add(readings)

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        self.shared.drop_before(us)

    def scan(self) -> Scan:
        """Return the runs that interest, by (group, start)."""
        readings = self.shared.counted()
        start, end = validity(readings.ts_us, readings.group, self.rule.hold_us)
        end = np.where(end == start, start + self.rule.hold_us, end)  # the newest of each group
        runs = coalesce(start, end, readings.group, readings.value, self.rule)
        facts = Facts(runs.start_us, runs.end_us, runs.group, runs.value)
        groups = int(np.count_nonzero(np.diff(readings.group))) + min(1, len(readings))
        return Scan(facts.where(self.rule.interests(facts.value)), len(readings), groups, len(runs))

    def held(self, group: int, start_us: int, end_us: int) -> Held:
        """Return what a group held over an interval inside one of its runs."""
        readings = self.shared.counted()
        first, last = np.searchsorted(readings.group, [group, group + 1]).tolist()
        ts = readings.ts_us[first:last]
        begin = first + int(np.searchsorted(ts, start_us, side="right")) - 1
        stop = first + int(np.searchsorted(ts, end_us, side="left"))
        return Held(stop - begin, float(readings.value[begin]), readings.refs[stop - 1])
