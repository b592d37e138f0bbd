"""Run and Runs: maximal intervals in which nothing that matters changed; which of them came and went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray
from coincide.arrays.order import stable_order_by

Label = int | str


class Run(NamedTuple):
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

    def until(self, end_us: int) -> Run:
        """Return the run if it ends there and does not go on."""
        return tuple.__new__(Run, (*self[:2], end_us, *self[3:7], False))


@dataclass(frozen=True)
class Runs:
    """Runs in columns, by group, then by start.

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

    def __iter__(self) -> Iterator[Run]:
        value = [None] * len(self) if self.value is None else self.value.tolist()
        columns = (self.count, self.first, self.last, self.is_open)
        times = (self.group.tolist(), self.start_us.tolist(), self.end_us.tolist())
        return map(Run, *times, value, *(column.tolist() for column in columns))

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Runs:
        """Return the columns of single runs, in the order given.

        Examples
        --------
        >>> Runs.of([Run("bay", 0, 20, 81, 3, "r1", "r3", False)]).end_us.tolist()
        [20]
        """
        group, start, end, value, count, first, last, is_open = zip(*runs, strict=True) if runs else [()] * 8
        return cls(
            np.array(start, np.int64), np.array(end, np.int64), label_column(group), value_column(value),
            np.array(count, np.int64), label_column(first), label_column(last), np.array(is_open, np.bool_),
        )  # fmt: skip


def value_column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return values as a column of int64, float64, bool or str where they are of one such kind, else of objects.

    Examples
    --------
    >>> value_column([1, 2.5]).tolist(), value_column([(1, 2), None]).shape
    ([1.0, 2.5], (2,))
    """
    if set(map(type, values)) in ({int}, {float}, {int, float}, {bool}, {str}):
        column = np.array(values)
        if column.dtype.kind in "ifbU":
            return column
    column = np.empty(len(values), object)
    column[:] = values
    return column


def label_column(labels: Sequence[Label]) -> LabelArray:
    """Return groups or ids as a column of int64 or str."""
    return np.array(labels) if labels else np.empty(0, np.int64)


RunKey = tuple[Label, int, Label]  # (group, start_us, first): the stable id of a run; for readings group and start do


class RunChanges:
    """Inserts and retracts by run id; a run that went and came back the same is no change.

    Examples
    --------
    >>> run = Run("bay", 0, 20, 81, 3, 1, 3, True)
    >>> changes = RunChanges()
    >>> changes.retract(run)
    >>> changes.insert(run._replace(end_us=30))
    >>> changes.retract(run._replace(end_us=30))
    >>> changes.insert(run)
    >>> changes.inserted, changes.retracted
    ({}, {})
    """

    __slots__ = ("inserted", "retracted")

    def __init__(self) -> None:
        self.inserted: dict[RunKey, Run] = {}
        self.retracted: dict[RunKey, Run] = {}

    def alter(self, run: Run, to: Run) -> None:
        """Say that a run is another way now; its id stays."""
        key = run[0], run[1], run[5]
        if key not in self.inserted:
            self.retracted[key] = run
        elif self.retracted.get(key) == to:
            del self.inserted[key], self.retracted[key]
            return
        self.inserted[key] = to

    def insert(self, run: Run) -> None:
        """Say that a run is there now."""
        key = run[0], run[1], run[5]
        if self.retracted.get(key) == run:
            del self.retracted[key]
        else:
            self.inserted[key] = run

    def retract(self, run: Run) -> None:
        """Say that a run is no longer there."""
        key = run[0], run[1], run[5]
        if self.inserted.pop(key, None) is None:
            self.retracted[key] = run

    def changes(self, late: Sequence[tuple[int, int]]) -> Changes[Runs]:
        """Return them in columns, by group and start, with (row, by how much) of those that came too late."""
        rows, late_by_us = np.array(late, np.int64).reshape(-1, 2).T
        inserted, retracted = ([runs[key] for key in sorted(runs)] for runs in (self.inserted, self.retracted))
        return Changes(Runs.of(inserted), Runs.of(retracted), rows, late_by_us)


def difference(before: Runs, after: Runs) -> tuple[Runs, Runs]:
    """Return the runs inserted and those retracted; groups are codes, and each side's runs differ in (group, start).

    Examples
    --------
    >>> from coincide.coalescing.runs import Run
    >>> stays, goes = Run(0, 0, 20, 81, 3, 1, 3, False), Run(0, 20, 30, 79, 2, 4, 5, True)
    >>> inserted, retracted = difference(Runs.of([stays, goes]), Runs.of([stays, goes._replace(end_us=40)]))
    >>> inserted.end_us.tolist(), retracted.end_us.tolist()
    ([40], [30])
    """
    group = np.concatenate([before.group, after.group])
    start = np.concatenate([before.start_us, after.start_us])
    order = stable_order_by(group, start)
    one, other = order[:-1], order[1:]
    stays = (group[one] == group[other]) & (start[one] == start[other])
    one, other = one[stays], other[stays] - len(before)
    alike = (before.end_us[one] == after.end_us[other]) & (before.count[one] == after.count[other])
    alike &= before.is_open[one] == after.is_open[other]
    alike &= (before.first[one] == after.first[other]) & (before.last[one] == after.last[other])
    return rows_of(after, _others(len(after), other[alike])), rows_of(before, _others(len(before), one[alike]))


def rows_of(runs: Runs, rows: npt.NDArray[Any]) -> Runs:
    """Return some of the runs: positions, or a mask."""
    return Runs(
        runs.start_us[rows], runs.end_us[rows], runs.group[rows], None if runs.value is None else runs.value[rows],
        runs.count[rows], runs.first[rows], runs.last[rows], runs.is_open[rows],
    )  # fmt: skip


def _others(count: int, rows: npt.NDArray[Any]) -> BoolArray:
    others = np.ones(count, np.bool_)
    others[rows] = False
    return others
