"""An extent in plain lists, updated by one reading after the other."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace
from typing import Any

from coincide.arrays.changes import Changes
from coincide.coalescing.links import Link
from coincide.coalescing.runs import UNWATCHED, Label, RunChanges, Runs
from coincide.coalescing.streams.extent import Key, ReadingBatch, ReadingRow, WindowExtent, batch_of
from coincide.coalescing.streams.group_runs import GroupRuns


class SingleExtent:
    """Readings and runs of each group, and a heap of the oldest reading of each."""

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        self._per_group = extent.per_group
        self._size, self._duration_us = extent.size or 0, extent.duration_us or 0
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

    def fill(self, batch: ReadingBatch) -> None:
        """Take readings; nobody asks what they change."""
        for row in batch.rows():
            self.add(*row, UNWATCHED)

    def add(self, ts_us: int, group: Label, value: Any, ref: Label, changes: RunChanges) -> int | None:
        """Take one reading; see `EagerCoalescing.add`."""
        scope = group if self._per_group else None
        latest_us = None
        if self._size:
            if (late_by := self._late_by_size((ts_us, group, ref), scope)) is not None:
                return late_by
        elif (latest_us := self._latest.get(scope)) is not None and ts_us < latest_us - self._duration_us:
            return latest_us - self._duration_us - ts_us
        readings = self._groups.get(group)
        if readings is None:
            readings = self._groups[group] = GroupRuns(group, self._link)
        if not readings.add(ts_us, ref, value, changes):
            return None
        if scope is None and readings.first_us == ts_us and readings.oldest[1] == ref:
            heappush(self._oldest_first, (ts_us, group, ref))
        self._sizes[scope] = size = self._sizes.get(scope, 0) + 1
        if self._size:
            if size > self._size:
                self._drop(self._oldest(scope)[1], scope, changes)
        elif latest_us is None or ts_us > latest_us:
            self._latest[scope] = ts_us
            self._drop_since(ts_us - self._duration_us, scope, changes)
        return None

    def drop_before(self, us: int, changes: RunChanges) -> None:
        """Drop the readings before an instant."""
        if self._per_group:
            for group, readings in list(self._groups.items()):
                self._sizes[group] -= self._drop_from(group, readings, us, changes)
            return
        while self._sizes.get(None) and self._oldest(None)[0] < us:
            self._drop(self._oldest(None)[1], None, changes)

    def _drop_from(self, group: Label, readings: GroupRuns, us: int, changes: RunChanges) -> int:
        """Drop the readings of a group before an instant; return how many they were."""
        dropped = 0
        while readings.first_us < us:
            dropped += 1
            if not readings.drop_oldest(changes):
                del self._groups[group]
                break
        return dropped

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

    def slices(self, rows: int) -> Iterator[ReadingBatch]:
        """Yield all readings, about so many at once; in between, readings may come and leave."""
        part: list[ReadingRow] = []
        for group in list(self._groups):
            after_us = None
            while (runs := self._groups.get(group)) and (more := runs.readings_after(after_us, rows - len(part))):
                part += [(ts, group, value, ref) for ts, ref, value in more]
                after_us = more[-1][0]
                if len(part) >= rows:
                    yield batch_of(part)
                    part = []
        yield batch_of(part)

    def readings_in(self, group: Label, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """See `EagerCoalescing.readings_in`."""
        return self._groups[group].readings_in(start_us, end_us)

    def _late_by_size(self, key: Key, scope: Label | None) -> int | None:
        if self._sizes.get(scope, 0) < self._size:
            return None
        oldest = self._oldest(scope)
        return oldest[0] - key[0] if key < oldest else None

    def _oldest(self, scope: Label | None) -> Key:
        """Return the key of the reading of an extent that goes first; there must be one."""
        if scope is None:
            return self._oldest_first[0]
        ts, ref = self._groups[scope].oldest
        return ts, scope, ref

    def _drop_since(self, since_us: int, scope: Label | None, changes: RunChanges) -> None:
        """Drop what lies before a time scope; there must be some that does not."""
        if scope is None:
            while self._oldest_first[0][0] < since_us:
                self._drop(self._oldest_first[0][1], scope, changes)
        else:
            while self._groups[scope].first_us < since_us:
                self._drop(scope, scope, changes)

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
