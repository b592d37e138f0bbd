"""Facts: what held of which group from when to when, in columns; the runs of a window extent among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import LabelArray, read_only
from coincide.arrays.numbers import whole_numbers
from coincide.coalescing.runs import Runs
from coincide.errors import IntervalError
from coincide.temporal.intervals import Intervals


class Facts:
    """Coalesced facts in columns; row i is one value of one group over one interval.

    Temporal queries are right on coalesced facts only: a fact in two pieces is two shorter ones.

    An IntervalError says that an interval is not proper, or that a column has another length or type.

    Parameters
    ----------
    start_us, end_us : array_like of int, shape (n,)
        Intervals [start, end) in microseconds, proper ones; an end of `NOW_US` is open.
    group : array_like of int or str, shape (n,), optional
        Left out: everything is one group.
    value : array_like of int, float or str, shape (n,), optional
        Left out: all have the same.

    Attributes
    ----------
    intervals : Intervals of length n
    group, value : ndarray, shape (n,), read-only

    Examples
    --------
    >>> facts = Facts([0, 10], [10, 30], group=["north", "north"], value=[81.0, 79.0])
    >>> len(facts.where(facts.value > 80))
    1
    """

    def __init__(
        self,
        start_us: npt.ArrayLike,
        end_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
    ) -> None:
        self.intervals = Intervals(start_us, end_us)
        self.group = _column("group", group, len(self.intervals), "iuU")
        self.value = _column("value", value, len(self.intervals), "iufU")

    @staticmethod
    def of(runs: Runs) -> Facts:
        """Return the runs as facts, but for those of no length: the newest of a window extent is [t, t)."""
        rows = runs.start_us < runs.end_us
        value = None if runs.value is None else runs.value[rows]
        return Facts(runs.start_us[rows], runs.end_us[rows], runs.group[rows], value)

    def __len__(self) -> int:
        return len(self.intervals)

    def where(self, rows: npt.NDArray[Any]) -> Facts:
        """Return the facts of the given rows (positions or a mask), in that order."""
        return Facts(self.intervals.start_us[rows], self.intervals.end_us[rows], self.group[rows], self.value[rows])

    def __repr__(self) -> str:
        return f"Facts({len(self)} rows, {len(np.unique(self.group))} groups)"


def _column(field: str, values: npt.ArrayLike | None, rows: int, kinds: str) -> LabelArray:
    column = np.zeros(rows, np.int64) if values is None else np.asarray(values)
    if column.size == 0:
        column = column.astype(np.int64)
    if column.shape != (rows,) or column.dtype.kind not in kinds:
        what = f"an array of {column.dtype} with shape {column.shape}"
        numbers = "numbers" if "f" in kinds else "integers"
        raise IntervalError(field, what, f"{numbers} or texts, shape ({rows},) as start_us has")
    if column.dtype.kind in "iu":
        return read_only(whole_numbers(field, column, None, IntervalError))
    return read_only(column.astype(np.float64) if column.dtype.kind == "f" else column)
