"""The runs that are in one answer and not in the other, in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray
from coincide.coalescing.runs import Runs
from coincide.stable_order import stable_order_by


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
