"""Run and Runs: maximal intervals in which nothing that matters changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, Int64Array, LabelArray

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
