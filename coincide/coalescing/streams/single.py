"""An extent in plain lists, updated by one reading after the other."""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace
from typing import Any

from coincide.arrays.changes import Changes
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Label, RunChanges, Runs
from coincide.coalescing.streams.extent import Key, ReadingBatch, WindowExtent, batch_of
from coincide.coalescing.streams.group_runs import GroupRuns


class SingleExtent:
    """Readings and runs of each group, and a heap of the oldest reading of each."""

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        self._extent = extent
        self._link = link
        self._groups: dict[Label, GroupRuns] = {}
        self._sizes: dict[Label | None, int] = {}
        self._latest: dict[Label | None, int] = {}
        self._oldest_first: list[Key] = []  # the oldest of each group; those first are; later ones may be passed over

    def __len__(self) -> int:
        return sum(self._sizes.values())

    def push(self, batch: ReadingBatch) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        changes, late = RunChanges(), []
        for number, row in enumerate(batch.rows()):
            late_by = self.add(*row, changes)
            if late_by is not None:
                late.append((number, late_by))
        return changes.changes(late)

    def add(self, ts_us: int, group: Label, value: Any, ref: Label, changes: RunChanges) -> int | None:
        """Take one reading; see `EagerCoalescing.add`."""
        scope = group if self._extent.per_group else None
        key = (ts_us, group, ref)
        if (late_by := self._late_by(key, scope)) is not None:
            return late_by
        readings = self._groups.get(group)
        if readings is None:
            readings = self._groups[group] = GroupRuns(group, self._link)
        if not readings.add(ts_us, ref, value, changes):
            return None
        if scope is None and readings.first_us == ts_us and readings.oldest[1] == ref:
            heappush(self._oldest_first, key)
        self._sizes[scope] = size = self._sizes.get(scope, 0) + 1
        if self._extent.size is None:
            self._drop_before(ts_us, scope, changes)
        elif size > self._extent.size:
            self._drop(self._oldest(scope)[1], scope, changes)
        return None

    def scan(self) -> Runs:
        """Return all runs, by group and start."""
        return Runs.of([run for group in sorted(self._groups) for run in self._groups[group].runs()])

    def readings(self) -> ReadingBatch:
        """Return the readings, by (group, ts, id)."""
        return batch_of(
            [
                (ts, group, value, ref)
                for group in sorted(self._groups)
                for ts, ref, value in self._groups[group].readings()
            ]
        )

    def _late_by(self, key: Key, scope: Label | None) -> int | None:
        if self._extent.duration_us is not None:
            late_by = self._latest.get(scope, key[0]) - self._extent.duration_us - key[0]
            return late_by if late_by > 0 else None
        if self._sizes.get(scope, 0) < (self._extent.size or 0):
            return None
        oldest = self._oldest(scope)
        return oldest[0] - key[0] if key < oldest else None

    def _oldest(self, scope: Label | None) -> Key:
        """Return the key of the reading of an extent that goes first; there must be one."""
        if scope is None:
            return self._oldest_first[0]
        ts, ref = self._groups[scope].oldest
        return ts, scope, ref

    def _drop_before(self, ts_us: int, scope: Label | None, changes: RunChanges) -> None:
        """Drop what a new reading puts out of the time scope."""
        latest = self._latest[scope] = max(ts_us, self._latest.get(scope, ts_us))
        since = latest - (self._extent.duration_us or 0)
        while (oldest := self._oldest(scope))[0] < since:
            self._drop(oldest[1], scope, changes)

    def _drop(self, group: Label, scope: Label | None, changes: RunChanges) -> None:
        readings = self._groups[group]
        if not readings.drop_oldest(changes):
            del self._groups[group]
        self._sizes[scope] -= 1
        if scope is None:
            self._pass_over()

    def _pass_over(self) -> None:
        """Let the oldest of all be first again, after the one that was has gone."""
        oldest_first = self._oldest_first
        gone = oldest_first[0]
        readings = self._groups.get(gone[1])
        if readings is None:
            heappop(oldest_first)
        else:
            ts, ref = readings.oldest
            heapreplace(oldest_first, (ts, gone[1], ref))
        while len(oldest_first) > len(self._groups) and not self._is_oldest(oldest_first[0]):
            heappop(oldest_first)

    def _is_oldest(self, key: Key) -> bool:
        readings = self._groups.get(key[1])
        return readings is not None and readings.first_us == key[0] and readings.oldest[1] == key[2]
