"""An extent in plain lists, updated by one reading after the other."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from typing import Any, Generic, Protocol, TypeVar

from coincide.arrays.changes import Changes
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Label, RunChanges, Runs
from coincide.coalescing.streams.extent import Frame, Key, WindowExtent, frame_of
from coincide.coalescing.streams.group_runs import GroupRuns


class HeldReadings:
    """The readings in one extent, in a heap: to add one costs a logarithm of how many are held.

    Examples
    --------
    >>> held = HeldReadings(WindowExtent(size=2))
    >>> [held.add((ts, "bay", ts), 81) for ts in (30, 10, 20, 5)], sorted(held.value_of)
    ([None, None, None, 15], [(20, 'bay', 20), (30, 'bay', 30)])
    """

    def __init__(self, extent: WindowExtent) -> None:
        self.value_of: dict[Key, Any] = {}
        self.dropped: list[Key] = []  # by the last call of `add`
        self._extent = extent
        self._oldest_first: list[Key] = []
        self._latest: int | None = None

    def add(self, key: Key, value: Any) -> int | None:
        """Add a reading; return by how many microseconds it is too late, None where it counts.

        The same key again is the same reading again: the first counts.
        """
        self.dropped = []
        if key in self.value_of:
            return None
        late_by = self._late_by(key)
        if late_by is not None:
            return late_by
        self.value_of[key] = value
        heappush(self._oldest_first, key)
        self._latest = key[0] if self._latest is None else max(self._latest, key[0])
        self._drop_expired(self._latest)
        return None

    def _late_by(self, key: Key) -> int | None:
        if self._latest is None:
            return None
        if self._extent.duration_us is not None:
            late_by = self._latest - self._extent.duration_us - key[0]
            return late_by if late_by > 0 else None
        full = len(self._oldest_first) == self._extent.size
        return self._oldest_first[0][0] - key[0] if full and key < self._oldest_first[0] else None

    def _drop_expired(self, latest: int) -> None:
        extent, oldest_first = self._extent, self._oldest_first
        if extent.duration_us is None:
            if len(oldest_first) > (extent.size or 0):
                self._drop_oldest()
            return
        while oldest_first[0][0] < latest - extent.duration_us:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = heappop(self._oldest_first)
        del self.value_of[oldest]
        self.dropped.append(oldest)


class SingleReadings:
    """The extents of a stream: one, or one for each group."""

    def __init__(self, extent: WindowExtent) -> None:
        self._extent = extent
        self._scopes: dict[Label | None, HeldReadings] = {}

    def __len__(self) -> int:
        return sum(len(scope.value_of) for scope in self._scopes.values())

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; say which are late."""
        late = []
        for row, (ts, group, value, ref) in enumerate(frame.arrivals()):
            late_by = self._scope(group).add((ts, group, ref), value)
            if late_by is not None:
                late.append((row, late_by))
        return RunChanges().changes(late)

    def readings(self) -> Frame:
        """Return the readings, by (group, ts, id)."""
        value_of: dict[Key, Any] = {}
        for scope in self._scopes.values():
            value_of |= scope.value_of
        rows = sorted(value_of, key=lambda key: (key[1], key[0], key[2]))
        return frame_of([(ts, group, value_of[ts, group, ref], ref) for ts, group, ref in rows])

    def _scope(self, group: Label) -> HeldReadings:
        name = group if self._extent.per_group else None
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = HeldReadings(self._extent)
        return scope


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

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        changes, late = RunChanges(), []
        for row, arrival in enumerate(frame.arrivals()):
            late_by = self.add(*arrival, changes)
            if late_by is not None:
                late.append((row, late_by))
        return changes.changes(late)

    def add(self, ts_us: int, group: Label, value: Any, ref: Label, changes: RunChanges) -> int | None:
        """Take one reading as plain values, unchecked, the fastest way; say in `changes` what it changes.

        `ref` is its id.

        Returns
        -------
        int or None
            By how many microseconds it is too late to count; None where it counts.
        """
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

    def readings(self) -> Frame:
        """Return the readings, by (group, ts, id)."""
        return frame_of([
            (ts, group, value, ref)
            for group in sorted(self._groups)
            for ts, ref, value in self._groups[group].readings()
        ])  # fmt: skip

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


SINGLE_US, COLUMNAR_US, FRAME_US = 5.0, 0.2, 250.0  # a reading by itself, one in a frame, and a frame: roughly


class Held(Protocol):
    """The readings of an extent."""

    def __len__(self) -> int: ...
    def push(self, frame: Frame) -> Changes[Runs]: ...  # noqa: D102
    def readings(self) -> Frame: ...  # noqa: D102


Single = TypeVar("Single", bound=Held)
Columnar = TypeVar("Columnar", bound=Held)


class TwoWays(Generic[Single, Columnar]):
    """Goes over to the other way once that would have saved more than it costs to go over.

    So whatever comes costs at most about twice what the better way would have cost all along.
    """

    def __init__(self, single: Callable[[], Single], columnar: Callable[[], Columnar]) -> None:
        self._columnar = columnar
        self._single = single
        self._is_columnar = False
        self._lost_us = 0.0  # what the other way would have saved
        self.held: Single | Columnar = single()

    def suited_for_one(self) -> Single | Columnar:
        """Return ``suited(1)``, faster."""
        return self.suited(1) if self._is_columnar or self._lost_us else self.held

    def suited(self, rows: int) -> Single | Columnar:
        """Return the readings, kept in the way that seems best for frames of so many rows."""
        saved_us = FRAME_US + (COLUMNAR_US - SINGLE_US) * rows
        self._lost_us = max(0.0, self._lost_us + (saved_us if self._is_columnar else -saved_us))
        if self._lost_us > SINGLE_US * len(self.held):
            other = self._single() if self._is_columnar else self._columnar()
            other.push(self.held.readings())
            self.held, self._is_columnar, self._lost_us = other, not self._is_columnar, 0.0
        return self.held
