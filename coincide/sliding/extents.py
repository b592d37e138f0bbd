"""What a scheme keeps of the readings of one area: eagerly, lazily, and shared by several rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from coincide.arrays.order import group_starts
from coincide.coalescing.batch import coalesce, validity
from coincide.coalescing.columns import FARTHEST_US
from coincide.coalescing.runs import UNWATCHED
from coincide.coalescing.streams.extent import WindowExtent
from coincide.coalescing.streams.reading_streams import EagerCoalescing
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.sliding.counts import RunReadings, Scan, SlidingExtent
from coincide.sliding.readings import Readings, Ref
from coincide.sliding.rules import RunRule
from coincide.temporal.facts import Facts

UNBOUNDED = WindowExtent(duration_us=FARTHEST_US, per_group=True)


class EagerExtent:
    """The runs of one area under one rule, merged and split as readings come and go."""

    def __init__(self, rule: RunRule) -> None:
        self._rule = rule
        self._coalescing = EagerCoalescing(UNBOUNDED, rule, rule.hold_us)

    def add(self, readings: Readings) -> None:
        """Take readings in any order."""
        columns, add = (readings.ts_us, readings.group, readings.value, readings.refs), self._coalescing.add
        for ts, group, value, ref in zip(*(column.tolist() for column in columns), strict=True):
            add(ts, group, value, ref, UNWATCHED)

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        self._coalescing.drop_before(us, UNWATCHED)

    def scan(self) -> Scan:
        """Return the runs that interest, by (group, start)."""
        runs = self._coalescing.scan()
        value = np.array(runs.value, np.float64)
        facts = Facts(runs.start_us, runs.end_us + runs.is_open * self._rule.hold_us, runs.group, value)
        groups = len(group_starts(runs.group))
        return Scan(facts.where(self._rule.interests(value)), int(runs.count.sum()), groups, len(runs))

    def counted(self) -> Readings:
        """Return the readings that count at their instant, by (group, ts)."""
        ts, group, value, ref, _ = self._coalescing.readings()
        return Readings(ts, group, value.astype(np.float64), ref).counted()

    def readings_in(self, group: int, start_us: int, end_us: int) -> RunReadings:
        """Return the readings of a group that hold in an interval inside one of its runs."""
        readings, value, newest = self._coalescing.readings_in(group, start_us, end_us)
        return RunReadings(readings, value, cast("Ref", newest))


class SharedReadings:
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
    """Coalesces the readings under one rule; several may share them."""

    rule: RunRule
    shared: SharedReadings

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
        groups = len(group_starts(readings.group))
        return Scan(facts.where(self.rule.interests(facts.value)), len(readings), groups, len(runs))

    def readings_in(self, group: int, start_us: int, end_us: int) -> RunReadings:
        """Return the readings of a group that hold in an interval inside one of its runs."""
        readings = self.shared.counted()
        first, last = np.searchsorted(readings.group, [group, group + 1]).tolist()
        ts = readings.ts_us[first:last]
        begin = first + int(np.searchsorted(ts, start_us, side="right")) - 1
        stop = first + int(np.searchsorted(ts, end_us, side="left"))
        return RunReadings(stop - begin, float(readings.value[begin]), readings.refs[stop - 1])


class SharedExtents:
    """An eager extent for each rule that is eager, and one lazy extent for all the others, if there are any.

    `latest_us` is the time of the latest reading that ever came; `BEFORE_ALL_US` if none did.
    """

    def __init__(self, eager: Mapping[RunRule, bool]) -> None:
        self._held = SharedReadings()
        self._eager = {rule: EagerExtent(rule) for rule, is_eager in eager.items() if is_eager}
        self._is_shared = not all(eager.values())
        self._latest_us: dict[int, int] = {}  # of each group
        self.latest_us = BEFORE_ALL_US

    def add(self, readings: Readings) -> int:
        """Take readings in the order in which they came; return how many came after a later one of their group."""
        if self._is_shared:
            self._held.add(readings)
        for extent in self._eager.values():
            extent.add(readings)
        self.latest_us = max(self.latest_us, int(readings.ts_us.max(initial=BEFORE_ALL_US)))
        late, latest = 0, self._latest_us
        for group, ts in zip(readings.group.tolist(), readings.ts_us.tolist(), strict=True):
            known = latest.get(group)
            if known is None or ts >= known:
                latest[group] = ts
            else:
                late += 1
        return late

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        self._held.drop_before(us)
        for extent in self._eager.values():
            extent.drop_before(us)

    def switched(self, eager: Mapping[RunRule, bool]) -> SharedExtents:
        """Return the same readings coalesced another way."""
        other = SharedExtents(eager)
        other.add(self._held.counted() if self._is_shared else next(iter(self._eager.values())).counted())
        other._latest_us, other.latest_us = self._latest_us, self.latest_us
        return other

    def of(self, rule: RunRule) -> SlidingExtent:
        """Return the extent of a rule."""
        return self._eager.get(rule) or LazyExtent(rule, self._held)
