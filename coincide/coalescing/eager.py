"""EagerCoalescing: keeps the runs of a window extent and says with each reading which of them change."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.coalescing.arrivals import Arrivals
from coincide.coalescing.batch import EQUAL
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equivalence, checked_equivalence
from coincide.coalescing.extent import Key, WindowExtent, checked_extent
from coincide.coalescing.group_runs import GroupRuns
from coincide.coalescing.link import Link
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Label, Runs
from coincide.pairs import Changes


class EagerCoalescing:
    """Algorithm 2 of the coalescing paper and its time-based form, corrected.

    Merges and splits runs as readings arrive, in any order; a scan reads the runs. At every scan they are those of
    `LazyCoalescing` and of `coalesce` over the readings in the extent.

    Parameters
    ----------
    extent : WindowExtent, checked_extent
        Which readings count.
    equivalence : Equivalence
        Which value goes on from the one before it.
    hold_us : int, optional
        How long a reading holds at most. Left out: until the next one of its group.

    Raises
    ------
    CoalescingError
        Names the argument or column, the value and what is allowed.

    Examples
    --------
    >>> hot = EagerCoalescing(WindowExtent(size=4))
    >>> changes = hot.push([0, 60, 180], value=[81, 81, 81])
    >>> [(run.start_us, run.end_us, run.count) for run in changes.insert]
    [(0, 180, 3)]
    >>> changes = hot.push([120], value=[79])
    >>> [(run.start_us, run.end_us) for run in changes.retract]
    [(0, 180)]
    >>> [(run.start_us, run.end_us, run.is_open) for run in hot.scan()]
    [(0, 120, False), (120, 180, False), (180, 180, True)]
    """

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, hold_us: int | None = None) -> None:
        self._extent = checked_extent(extent)
        hold = None if hold_us is None else duration_of("hold_us", hold_us)
        self._link = Link(checked_equivalence(equivalence), hold)
        self._arrivals = Arrivals(equivalence)
        self._groups: dict[Label, GroupRuns] = {}
        self._sizes: dict[Label | None, int] = {}
        self._latest: dict[Label | None, int] = {}
        self._oldest_first: list[Key] = []  # the oldest of each group; entries that are no longer it are passed over

    def push(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
    ) -> Changes[Runs]:
        """Take readings in any order.

        Parameters
        ----------
        ts_us : array_like of int, shape (n,)
            Microseconds since the epoch.
        group : array_like of int or str, shape (n,), optional
            Whose readings they are. Left out: all are of one group, 0.
        value : array_like, shape (n,), optional
            Left out: all are 0.
        id : array_like of int or str, shape (n,), optional
            Of readings of a group at one instant the smallest id counts; the same id again is the same reading
            again. Left out: numbered in the order of arrival.

        Returns
        -------
        Changes of Runs
            Runs that are there now and were not before the call, and the other way round, each by group and start:
            a run that grew is retracted and inserted with the same id (group, start_us). `late` are the rows that
            came too late to count.
        """
        changes, late = RunChanges(), []
        for row, arrival in enumerate(self._arrivals.of(ts_us, group, value, id)):
            late_by = self.add(*arrival, changes)
            if late_by is not None:
                late.append((row, late_by))
        rows, late_by_us = np.array(late, np.int64).reshape(-1, 2).T
        return Changes(Runs.of(_listed(changes.inserted)), Runs.of(_listed(changes.retracted)), rows, late_by_us)

    def add(self, ts_us: int, group: Label, value: Any, ref: Label, changes: RunChanges) -> int | None:
        """Take one reading as plain values, unchecked, the fastest way; say in `changes` what it changes.

        `ref` is its id.

        Returns
        -------
        int or None
            By how many microseconds it is too late to count; None where it counts.
        """
        scope = group if self._extent.per_group else None
        late_by = self._late_by((ts_us, group, ref), scope)
        if late_by is not None:
            return late_by
        readings = self._groups.get(group)
        if readings is None:
            readings = self._groups[group] = GroupRuns(group, self._link)
        if not readings.add(ts_us, ref, value, changes):
            return None
        self._sizes[scope] = self._sizes.get(scope, 0) + 1
        self._latest[scope] = max(ts_us, self._latest.get(scope, ts_us))
        if not self._extent.per_group and readings.oldest == (ts_us, ref):
            heappush(self._oldest_first, (ts_us, group, ref))
        self._drop_expired(scope, changes)
        return None

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        return Runs.of([run for group in sorted(self._groups) for run in self._groups[group].runs()])

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
        if scope is not None:
            ts, ref = self._groups[scope].oldest
            return ts, scope, ref
        while True:
            key = self._oldest_first[0]
            readings = self._groups.get(key[1])
            if readings is not None and readings.oldest == (key[0], key[2]):
                return key
            heappop(self._oldest_first)

    def _drop_expired(self, scope: Label | None, changes: RunChanges) -> None:
        extent = self._extent
        if extent.duration_us is None:
            if self._sizes[scope] > (extent.size or 0):
                self._drop(self._oldest(scope)[1], scope, changes)
            return
        since = self._latest[scope] - extent.duration_us
        while self._oldest(scope)[0] < since:
            self._drop(self._oldest(scope)[1], scope, changes)

    def _drop(self, group: Label, scope: Label | None, changes: RunChanges) -> None:
        readings = self._groups[group]
        readings.drop_oldest(changes)
        self._sizes[scope] -= 1
        if scope is None:
            heappop(self._oldest_first)
        if readings.is_empty:
            del self._groups[group]
        elif scope is None:
            ts, ref = readings.oldest
            heappush(self._oldest_first, (ts, group, ref))


def _listed(runs: dict[Any, Any]) -> list[Any]:
    return [runs[key] for key in sorted(runs)]
