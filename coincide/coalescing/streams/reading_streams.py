"""EagerCoalescing and LazyCoalescing: the runs of a window extent, kept up to date or made when they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.coalescing.batch import EQUAL, coalesce, validity
from coincide.coalescing.columns import duration_of
from coincide.coalescing.equivalences import Equivalence, checked_equivalence
from coincide.coalescing.links import LEFT_OUT, Link
from coincide.coalescing.runs import UNWATCHED, Label, RunChanges, Runs, with_plain_values
from coincide.coalescing.streams.columnar import ColumnarExtent, ColumnarReadings
from coincide.coalescing.streams.extent import ReadingBatch, ReadingChecks, WindowExtent, batch_of, checked_extent
from coincide.coalescing.streams.single import SingleExtent


class _ReadingStream:
    """What both operators check: their arguments, and the readings that are pushed."""

    def __init__(self, extent: WindowExtent, equivalence: Equivalence, hold_us: int | None) -> None:
        hold = None if hold_us is None else duration_of("hold_us", hold_us)
        self._extent, self._link = checked_extent(extent), Link(checked_equivalence(equivalence), hold)
        self._checks = ReadingChecks(equivalence)


SLICE = 1024  # readings that one push moves to another form
Form = SingleExtent | ColumnarExtent


class _FormChange:
    """Moves the readings of an extent to another form, some with each push.

    Which readings an extent holds depends on those that came, never on their order. So the new form takes what is
    pushed meanwhile, too. Once it has had every reading of the old form as well, both are the same.
    """

    def __init__(self, old: Form, new: Form) -> None:
        self._slices = old.slices(SLICE)
        self.new = new

    def step(self) -> bool:
        """Move some more readings; return whether all have moved."""
        for part in self._slices:
            self.new.fill(part)
            if len(part.ts_us) >= SLICE:
                return False
        return True


class EagerCoalescing(_ReadingStream):
    """Algorithm 2 of the coalescing paper and its time-based form, corrected.

    Merges and splits runs as readings arrive, in any order; a scan reads the runs. At every scan they are those of
    `LazyCoalescing` and of `coalesce` over the readings in the extent. Readings and runs are kept in lists while they
    come one by one, in columns while they come in batches. One form gives way to the other little by little, so that
    no push touches all of them.

    A CoalescingError names the argument or column, the value and what is allowed.

    Parameters
    ----------
    extent : WindowExtent
        Which readings count.
    equivalence : Equivalence
        Which value goes on from the one before it.
    hold_us : int, optional
        How long a reading holds at most. Left out: until the next one of its group.

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

    _even_rows = 50  # a batch of so many readings costs as much in columns (0.25 ms) as one by one (5 us each)

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, hold_us: int | None = None) -> None:
        super().__init__(extent, equivalence, hold_us)
        self._form: Form = SingleExtent(self._extent, self._link)
        self._wasted = 0  # readings' worth of work that the other form would have saved
        self._change: _FormChange | None = None

    def __len__(self) -> int:
        return len(self._form)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_change": None}  # it begins anew

    def push(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
        where: npt.ArrayLike | None = None,
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
        where : array_like of bool, shape (n,), optional
            Which readings interest. One that does not still ends the one before it, as a reading of 90 degrees ends
            one above 100; it takes its place in the extent and makes no run. Left out: all do.

        Returns
        -------
        Changes of Runs
            Runs that are there now and were not before the call, and the other way round, each by group and start:
            a run that grew is retracted and inserted with the same id (group, start_us). `late` are the rows that
            came too late to count.
        """
        batch = self._checks.batch(ts_us, group, value, id, where)
        self._weigh(len(batch.ts_us))
        if self._change is not None:
            self._change.new.fill(batch)
        return self._form.push(batch)

    def add(
        self, ts_us: int, group: Label, value: Any, ref: Label, changes: RunChanges, where: bool = True
    ) -> int | None:
        """Take one reading as plain values, unchecked, the fastest way; say in `changes` what it changes.

        `ref` is its id; the other arguments are as in `push`.

        Returns
        -------
        int or None
            By how many microseconds it is too late to count; None where it counts.
        """
        reading = ts_us, group, value if where else LEFT_OUT, ref
        if not self._wasted and isinstance(self._form, SingleExtent):
            return self._form.add(*reading, changes)
        self._weigh(1)
        if self._change is not None:
            self._change.new.fill(batch_of([reading]))
        if isinstance(self._form, SingleExtent):
            return self._form.add(*reading, changes)
        made = self._form.push(batch_of([reading]))
        changes.include(made)
        return int(made.late_by_us[0]) if len(made.late) else None

    def drop_before(self, us: int, changes: RunChanges) -> None:
        """Drop the readings before an instant; say in `changes` what it changes.

        Meant for extents that drop nothing by themselves: without its latest reading a scope of time begins anew.
        """
        if self._change is not None:
            self._change.new.drop_before(us, UNWATCHED)
        self._form.drop_before(us, changes)

    def readings(self) -> ReadingBatch:
        """Return the readings of the extent as it is now, by (group, ts, id)."""
        return self._form.readings()

    def readings_in(self, group: Label, start_us: int, end_us: int) -> tuple[int, Any, Label]:
        """Return how many readings hold in an interval inside a run, the first one's value and the last one's id."""
        return self._form.readings_in(group, start_us, end_us)

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        return self._form.scan()

    def _weigh(self, rows: int) -> None:
        """Change the form little by little if the other one seems better for batches of so many rows.

        That begins once the other form would have saved as many readings as the extent holds: so many are moved.
        """
        is_single = isinstance(self._form, SingleExtent)
        saved = rows - self._even_rows if is_single else self._even_rows - rows
        self._wasted = max(0, self._wasted + saved)
        if not self._wasted:
            self._change = None
        elif self._change is None and self._wasted > len(self._form):
            other = ColumnarExtent if is_single else SingleExtent
            self._change = _FormChange(self._form, other(self._extent, self._link))
        if self._change is not None and self._change.step():
            self._form, self._change, self._wasted = self._change.new, None, 0


class LazyCoalescing(_ReadingStream):
    """Algorithm 1 of the coalescing paper and its time-based form, corrected.

    A push keeps the readings, and a scan coalesces all of them. At every scan the runs are those of `EagerCoalescing`,
    whatever the order of arrival. A push costs some 0.2 ms however few readings it brings: push them in batches. The
    arguments are those of `EagerCoalescing`.

    Examples
    --------
    >>> hot = LazyCoalescing(WindowExtent(size=4))
    >>> changes = hot.push([0, 60, 120, 180, 240], value=[81, 81, 81, 79, 79])
    >>> [(run.start_us, run.end_us, run.value, run.is_open) for run in hot.scan()]
    [(60, 180, 81, False), (180, 240, 79, True)]
    """

    def __init__(self, extent: WindowExtent, equivalence: Equivalence = EQUAL, hold_us: int | None = None) -> None:
        super().__init__(extent, equivalence, hold_us)
        self._readings = ColumnarReadings(self._extent, self._link)

    def push(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - as in Detections
        where: npt.ArrayLike | None = None,
    ) -> Changes[Runs]:
        """Take readings in any order; columns as in `EagerCoalescing.push`.

        Returns
        -------
        Changes of Runs
            `late` and `late_by_us` as in `EagerCoalescing.push`. `insert` and `retract` are empty: which runs came and
            went only a scan can say.
        """
        return self._readings.push(self._checks.batch(ts_us, group, value, id, where))

    def scan(self) -> Runs:
        """Return the runs of the extent as it is now, by group and start; first and last are ids."""
        readings = self._readings.readings()
        start, end = validity(readings.ts_us, readings.group, self._link.hold_us)
        kept = np.flatnonzero(readings.kept)
        counted = readings.take(kept)
        runs = coalesce(start[kept], end[kept], counted.group, counted.value, self._link.equivalence)
        is_open = runs.is_open
        if len(kept) < len(start):
            newest = np.append(readings.group[1:] != readings.group[:-1], True)  # readings are by group
            newest_us = start[newest][np.searchsorted(readings.group[newest], runs.group)]
            is_open = start[kept[runs.last]] == newest_us
        first, last = counted.ref[runs.first], counted.ref[runs.last]
        return replace(with_plain_values(runs), first=first, last=last, is_open=is_open)
