"""EagerFactCoalescing and LazyFactCoalescing: rows that bring their own interval, in streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.coalescing.batch import EQUAL, coalesce, ends_of
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equal, Equivalence, checked_equivalence
from coincide.coalescing.holding import NEVER_US
from coincide.coalescing.runs import Label, Run, RunChanges, Runs, label_column, value_column
from coincide.coalescing.streams.extent import Arrivals, Key, WindowExtent, checked_extent
from coincide.coalescing.streams.fact_runs import Fact, FactLane
from coincide.coalescing.streams.single import HeldReadings
from coincide.errors import CoalescingError


class FactArrivals:
    """Checks frames of one stream of facts; rows without an id are numbered in the order in which they arrive.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> list(FactArrivals(Equal()).of([10], [20], ["bay"], [81], None))
    [((10, 'bay', 0), (20, 81))]
    """

    def __init__(self, equivalence: Equivalence) -> None:
        self._starts = Arrivals(equivalence)

    def of(
        self,
        start_us: npt.ArrayLike,
        end_us: npt.ArrayLike,
        group: npt.ArrayLike | None,
        value: npt.ArrayLike | None,
        ids: npt.ArrayLike | None,
    ) -> Iterator[tuple[Key, Fact]]:
        """Return the rows of a frame as (key, fact); without values all are 0."""
        frame = self._starts.of(start_us, group, value, ids)
        ends = ends_of(end_us, frame.ts_us)
        if (ends == NEVER_US).any():
            raise CoalescingError("end_us", NEVER_US, "the start of the fact, or later")
        return (
            ((start, group_of_row, ref), (end, value_of_row))
            for (start, group_of_row, value_of_row, ref), end in zip(frame.arrivals(), ends.tolist(), strict=True)
        )


class _FactCoalescing(ABC):
    """What both schemes share: extents, and which facts come too late for them."""

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, gap_us: int = 0) -> None:
        self._extent = checked_extent(extent)
        self._equivalence = checked_equivalence(equivalence)
        self._gap_us = duration_of("gap_us", gap_us)
        self._arrivals = FactArrivals(equivalence)
        self._scopes: dict[Label | None, HeldReadings] = {}

    def push(
        self,
        start_us: npt.ArrayLike,
        end_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
    ) -> Changes[Runs]:
        """Take facts in any order.

        Parameters
        ----------
        start_us, end_us : array_like of int, shape (n,)
            Half-open intervals [start, end), microseconds since the epoch; an end may equal its start.
        group : array_like of int or str, shape (n,), optional
            Only facts of one group are united. Left out: all are of one group, 0.
        value : array_like, shape (n,), optional
            Left out: all are 0.
        id : array_like of int or str, shape (n,), optional
            The same (start, group, id) again is the same fact again: the first counts. Left out: numbered in the
            order of arrival.

        Returns
        -------
        Changes of Runs
            Of an eager extent the runs that are there now and were not before the call, and the other way round; a
            lazy one has none to tell of. `late` are the rows that came too late to count.
        """
        changes, late = RunChanges(), []
        for row, (key, fact) in enumerate(self._arrivals.of(start_us, end_us, group, value, id)):
            late_by = self._add(key, fact, changes)
            if late_by is not None:
                late.append((row, late_by))
        return changes.changes(late)

    @abstractmethod
    def _add(self, key: Key, fact: Fact, changes: RunChanges) -> int | None:
        """Take one fact; return by how much it is too late, or None."""

    def _scope(self, group: Label) -> HeldReadings:
        name = group if self._extent.per_group else None
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = HeldReadings(self._extent)
        return scope


class LazyFactCoalescing(_FactCoalescing):
    """Keeps the facts of an extent and unites them when it is scanned.

    Parameters
    ----------
    extent : WindowExtent
        Which facts count, as for readings, the start being their ts: a fact that began before [latest - T, latest] does
        not, even if it reaches into it.
    equivalence : Equivalence
        With `Equal` facts of one group and one value belong together, whatever lies between them; with another, those
        of a group are cut between neighbours by start where it does not hold.
    gap_us : int
        Longest gap that is closed, 0 or more.

    Raises
    ------
    CoalescingError
        Names the argument or column, the value and what is allowed.

    Examples
    --------
    >>> calm = LazyFactCoalescing(WindowExtent(size=9), gap_us=5)
    >>> changes = calm.push([0, 40, 14], [10, 50, 20])
    >>> [(run.start_us, run.end_us) for run in calm.scan()]
    [(0, 20), (40, 50)]
    """

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group, start and first; first and last are ids."""
        fact_of: dict[Key, Fact] = {}
        for scope in self._scopes.values():
            fact_of |= scope.value_of
        keys = sorted(fact_of)
        start, group, ref = zip(*keys, strict=True) if keys else [()] * 3
        end = [fact_of[key][0] for key in keys]
        values = value_column([fact_of[key][1] for key in keys])
        runs = coalesce(start, end, label_column(group), values, self._equivalence, self._gap_us)
        named = label_column(ref)
        never = np.zeros(len(runs), np.bool_)
        return replace(runs, first=named[runs.first], last=named[runs.last], is_open=never)

    def _add(self, key: Key, fact: Fact, changes: RunChanges) -> int | None:  # noqa: ARG002 - it has none
        return self._scope(key[1]).add(key, fact)


class EagerFactCoalescing(_FactCoalescing):
    """Unites facts as they arrive, in any order, and says which runs that changes.

    Arguments are those of `LazyFactCoalescing`, and so are the runs at every scan. A run is known by (group, start_us,
    first); it is never open, since the end of a fact is known.

    Examples
    --------
    >>> calm = EagerFactCoalescing(WindowExtent(size=9), gap_us=5)
    >>> changes = calm.push([0, 20], [10, 30])
    >>> changes = calm.push([9], [18])
    >>> [(run.start_us, run.end_us) for run in changes.retract], [(run.start_us, run.end_us) for run in changes.insert]
    ([(0, 10), (20, 30)], [(0, 30)])
    """

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, gap_us: int = 0) -> None:
        super().__init__(extent, equivalence, gap_us)
        self._lanes: dict[Any, FactLane] = {}
        self._lane_of: dict[Key, Any] = {}

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group, start and first; first and last are ids."""
        return Runs.of(sorted((run for lane in self._lanes.values() for run in lane.runs), key=_order))

    def _add(self, key: Key, fact: Fact, changes: RunChanges) -> int | None:
        scope = self._scope(key[1])
        known = key in scope.value_of
        late_by = scope.add(key, fact)
        if late_by is not None or known:
            return late_by
        name = self._lane_of[key] = self._lane_name(key, fact[1])
        if name not in self._lanes:
            self._lanes[name] = FactLane(self._equivalence, self._gap_us)
        self._lanes[name].add(key, fact, changes)
        for dropped in scope.dropped:
            name = self._lane_of.pop(dropped)
            self._lanes[name].remove(dropped, changes)
            if not self._lanes[name].runs:
                del self._lanes[name]
        return None

    def _lane_name(self, key: Key, value: Any) -> Any:
        if not isinstance(self._equivalence, Equal):
            return key[1]
        return (key[1], value) if value == value else key  # noqa: PLR0124 - NaN equals nothing


def _order(run: Run) -> Any:
    return run.group, run.start_us, run.first
