"""Runs: the longest intervals in which nothing that matters changed, and which of them came and went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.arrow import ArrowColumns, Column
from coincide.arrays.changes import Changes
from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray
from coincide.arrays.order import stable_order_by

Label = int | str


class CoalescedRun(NamedTuple):
    """One run; the columns of `Runs` have the same names.

    Its stable id is (group, start_us): in one answer no two runs share it, and it depends on the readings alone,
    never on the order in which they arrived. Where Equal joins overlapping facts, add `value`.
    """

    group: Label
    start_us: int
    end_us: int
    value: Any
    count: int  # type: ignore[assignment]  # nobody counts equal fields of a run
    first: Label
    last: Label
    is_open: bool

    def until(self, end_us: int) -> CoalescedRun:
        """Return the run if it ends there and does not go on."""
        columns = (self.group, self.start_us, end_us, self.value, self.count, self.first, self.last, False)
        return tuple.__new__(CoalescedRun, columns)  # half the time of calling it


SHOWN_RUNS = 10  # in a notebook


@dataclass(frozen=True, repr=False)
class Runs(ArrowColumns):
    """Runs in columns, by group, then by start.

    As Arrow (`to_arrow`) they have the columns group, start, end, value, count, first, last and is_open. The end of a
    run of facts that still hold is null.

    Attributes
    ----------
    start_us, end_us : ndarray of int64, shape (n,)
        Half-open intervals [start, end) in microseconds since the epoch; an open run ends at its last reading.
    group : ndarray of int64 or str, shape (n,)
        0 where no groups were given.
    value : ndarray, shape (n,), or None
        Value of the first row of each run.
    count : ndarray of int64, shape (n,)
        How many rows each run was made of.
    first, last : ndarray of int64 or str, shape (n,)
        The rows that start first and last: positions in a batch, ids in a stream.
    is_open : ndarray of bool, shape (n,)
        Whether the run holds the newest reading of its group, and so may go on.
    """

    start_us: Int64Array
    end_us: Int64Array
    group: LabelArray
    value: npt.NDArray[Any] | None
    count: Int64Array
    first: LabelArray
    last: LabelArray
    is_open: BoolArray

    def __len__(self) -> int:
        return len(self.start_us)

    def __iter__(self) -> Iterator[CoalescedRun]:
        value = np.full(len(self), None) if self.value is None else self.value
        columns = self.group, self.start_us, self.end_us, value, self.count, self.first, self.last, self.is_open
        return map(CoalescedRun, *(column.tolist() for column in columns))

    def _columns(self) -> Mapping[str, Column]:
        holds = self.end_us == np.iinfo(np.int64).max
        end = np.ma.masked_array(self.end_us.view("datetime64[us]"), holds)
        value = {} if self.value is None else {"value": self.value}
        times = {"start": self.start_us.view("datetime64[us]"), "end": end}
        which = {"count": self.count, "first": self.first, "last": self.last, "is_open": self.is_open}
        return {"group": self.group, **times, **value, **which}

    def __repr__(self) -> str:
        return f"Runs({len(self)} runs, {len(np.unique(self.group))} groups, {int(self.is_open.sum())} open)"

    def _repr_html_(self) -> str:
        """Return the first runs as a table, which notebooks show."""
        rows = [("th", CoalescedRun._fields), *(("td", run) for run in self.take(np.s_[:SHOWN_RUNS]))]
        cells = ("".join(f"<{cell}>{escape(str(value))}</{cell}>" for value in row) for cell, row in rows)
        return f"<p>{self!r}</p><table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"

    def take(self, rows: npt.NDArray[Any] | slice) -> Runs:
        """Return some of the runs: positions, a mask, or a slice."""
        value = None if self.value is None else self.value[rows]
        times = self.start_us[rows], self.end_us[rows], self.group[rows]
        return Runs(*times, value, self.count[rows], self.first[rows], self.last[rows], self.is_open[rows])

    @classmethod
    def of(cls, runs: Sequence[CoalescedRun]) -> Runs:
        """Return the columns of single runs, in the order given."""
        group, start, end, value, count, first, last, is_open = zip(*runs, strict=True) if runs else [()] * 8
        return cls(
            np.array(start, np.int64),
            np.array(end, np.int64),
            label_column(group),
            value_column(value),
            np.array(count, np.int64),
            label_column(first),
            label_column(last),
            np.array(is_open, np.bool_),
        )


def value_column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return values as a column of int64, float64, bool or str where they are of one such kind, else of objects."""
    if set(map(type, values)) in ({int}, {float}, {int, float}, {bool}, {str}):
        column = np.array(values)
        if column.dtype.kind in "ifbU":
            return column
    column = np.empty(len(values), object)
    column[:] = values
    return column


def with_plain_values(runs: Runs) -> Runs:
    """Return the same runs, whose values are no objects if they are all of one plain kind."""
    if runs.value is None or runs.value.dtype.kind != "O":
        return runs
    return replace(runs, value=value_column(runs.value.tolist()))


def label_column(labels: Sequence[Any]) -> LabelArray:
    """Return groups or ids as a column of int64 or str; of objects where the ids are tuples."""
    if labels and isinstance(labels[0], tuple):
        return np.fromiter(labels, object, len(labels))
    return np.array(labels) if labels else np.empty(0, np.int64)


RunKey = tuple[Label, int, Label]  # (group, start_us, first): the stable id of a run; for readings group and start do


class RunChanges:
    """Inserts and retracts by run id; a run that went and came back the same is no change.

    Examples
    --------
    >>> run, changes = CoalescedRun("bay", 0, 20, 81, 3, 1, 3, True), RunChanges()
    >>> changes.retract(run)
    >>> changes.insert(run)
    >>> changes.inserted, changes.retracted
    ({}, {})
    """

    __slots__ = ("inserted", "retracted")

    def __init__(self) -> None:
        self.inserted: dict[RunKey, CoalescedRun] = {}
        self.retracted: dict[RunKey, CoalescedRun] = {}

    def alter(self, run: CoalescedRun, to: CoalescedRun) -> None:
        """Say that a run is another way now; its id stays."""
        key = run.group, run.start_us, run.first
        if key not in self.inserted:
            self.retracted[key] = run
        elif self.retracted.get(key) == to:
            del self.inserted[key], self.retracted[key]
            return
        self.inserted[key] = to

    def insert(self, run: CoalescedRun) -> None:
        """Say that a run is there now."""
        key = run.group, run.start_us, run.first
        if self.retracted.get(key) == run:
            del self.retracted[key]
        else:
            self.inserted[key] = run

    def retract(self, run: CoalescedRun) -> None:
        """Say that a run is no longer there."""
        key = run.group, run.start_us, run.first
        if self.inserted.pop(key, None) is None:
            self.retracted[key] = run

    def include(self, later: Changes[Runs]) -> None:
        """Add what changed after that, in columns."""
        for run in later.retract:
            self.retract(run)
        for run in later.insert:
            self.insert(run)

    def changes(self, late: Sequence[tuple[int, int]]) -> Changes[Runs]:
        """Return them in columns, by group and start, with (row, by how much) of those that came too late."""
        rows, late_by_us = np.array(late, np.int64).reshape(-1, 2).T
        inserted, retracted = ([runs[key] for key in sorted(runs)] for runs in (self.inserted, self.retracted))
        return Changes(Runs.of(inserted), Runs.of(retracted), rows, late_by_us)


class _Unwatched(RunChanges):
    """Changes that nobody asks for."""

    def alter(self, run: CoalescedRun, to: CoalescedRun) -> None: ...
    def insert(self, run: CoalescedRun) -> None: ...
    def retract(self, run: CoalescedRun) -> None: ...


UNWATCHED = _Unwatched()


def difference(before: Runs, after: Runs) -> tuple[Runs, Runs]:
    """Return the runs inserted and those retracted; groups are codes, and each side's runs differ in (group, start)."""
    group = np.concatenate([before.group, after.group])
    start = np.concatenate([before.start_us, after.start_us])
    order = stable_order_by(group, start)
    one, other = order[:-1], order[1:]
    stays = (group[one] == group[other]) & (start[one] == start[other])
    one, other = one[stays], other[stays] - len(before)
    alike = (before.end_us[one] == after.end_us[other]) & (before.count[one] == after.count[other])
    alike &= before.is_open[one] == after.is_open[other]
    alike &= (before.first[one] == after.first[other]) & (before.last[one] == after.last[other])
    return after.take(_others(len(after), other[alike])), before.take(_others(len(before), one[alike]))


def _others(count: int, rows: npt.NDArray[Any]) -> BoolArray:
    others = np.ones(count, np.bool_)
    others[rows] = False
    return others
