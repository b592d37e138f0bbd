"""coalesce: all rows at once, in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array, LabelArray, PositionArray
from coincide.coalescing.columns import duration_of, group_codes, labels_of, times_of, values_of
from coincide.coalescing.equivalences import Equal, Equivalence, checked_equivalence
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.ordered_rows import OrderedRows
from coincide.coalescing.runs import Runs
from coincide.coalescing.validity import NEVER_US
from coincide.whole_numbers import whole_numbers

EQUAL = Equal()


def coalesce(
    start_us: npt.ArrayLike,
    end_us: npt.ArrayLike,
    group: npt.ArrayLike | None = None,
    value: npt.ArrayLike | None = None,
    equivalence: Equivalence = EQUAL,
    gap_us: int = 0,
) -> Runs:
    """Merge the intervals of each group that belong together and touch, overlap or lie at most `gap_us` apart.

    With `Equal`, intervals of one group and one value belong together, whatever lies between them. With another
    equivalence the rows of a group are taken by (start, row), and neighbours belong together where the later one's
    value goes on from the earlier one's. Intervals that belong together are united: a run ends where the next interval
    starts more than `gap_us` after all that came before it in the run have ended.

    Parameters
    ----------
    start_us, end_us : array_like of int, shape (n,)
        Half-open intervals [start, end), microseconds since the epoch, in any order; time-ordered is faster. An end
        may equal its start. Rows that end at `NEVER_US` (see `validity`) are passed over.
    group : array_like of int or str, shape (n,), optional
        Only intervals of one group are merged. Left out: all are of one group.
    value : array_like, shape (n,), optional
        Left out: all intervals of a group belong together.
    equivalence : Equivalence
        Equal, Bounded, Increasing, Decreasing, Quantised or Predicate.
    gap_us : int
        Longest gap that is closed, 0 or more.

    Returns
    -------
    Runs
        By group, start and first row. A run is open if its last row is empty, [t, t), and no row of its group
        starts later, as `validity` gives the newest reading.

    Raises
    ------
    CoalescingError
        Names the column, the value and what is allowed.

    Examples
    --------
    >>> runs = coalesce(*validity([0, 60, 120, 180]), value=[81, 81, 79, 79])
    >>> runs.start_us.tolist(), runs.end_us.tolist(), runs.value.tolist(), runs.is_open.tolist()
    ([0, 120], [120, 180], [81, 79], [False, True])
    >>> [(run.start_us, run.end_us) for run in coalesce([0, 14, 40], [10, 20, 50], gap_us=5)]
    [(0, 20), (40, 50)]
    """
    checked_equivalence(equivalence)
    start = times_of("start_us", start_us)
    end = ends_of(end_us, start)
    labels = labels_of("group", np.zeros(len(start), np.int64) if group is None else group, len(start))
    values = None if value is None else values_of(value, len(start), equivalence)
    gap = duration_of("gap_us", gap_us)
    kept = np.flatnonzero(end != NEVER_US) if np.any(end == NEVER_US) else None
    if kept is not None:
        start, end, labels = start[kept], end[kept], labels[kept]
        values = None if values is None else values[kept]
    return _runs(start, end, labels, values, equivalence, gap, kept)


def _runs(
    start: Int64Array, end: Int64Array, labels: LabelArray, values: npt.NDArray[Any] | None,
    equivalence: Equivalence, gap: int, rows: PositionArray | None,
) -> Runs:  # fmt: skip
    codes = group_codes(labels)
    ordered = OrderedRows.of(codes, start, end)
    belongs = ordered.same_group
    if values is not None and isinstance(equivalence, Equal) and (gap or ordered.overlap):
        latest = ordered.latest_start()
        ordered = OrderedRows.of(_classes(codes, values), start, end)
        belongs = ordered.same_group
    else:
        latest = ordered.latest_start()
        if values is not None:
            sorted_values = values[ordered.order]
            belongs = belongs & equivalence.link(sorted_values[:-1], sorted_values[1:])
    firsts, lasts, ends = ordered.united(belongs, gap)
    first, last = ordered.rows_at(firsts), ordered.rows_at(lasts)
    is_open = (end[last] == start[last]) & (start[last] == latest[codes[last]])
    runs = Runs(
        start[first], ends, labels[first], None if values is None else values[first], lasts - firsts + 1,
        first if rows is None else rows[first], last if rows is None else rows[last], is_open,
    )  # fmt: skip
    return _by_group(runs, codes[first])


def _classes(codes: Int64Array, values: npt.NDArray[Any]) -> Int64Array:
    """Return a code for each (group, value), int64 (n,)."""
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        value_codes = np.array([seen.setdefault(value, len(seen)) for value in values.tolist()], np.int64)
    else:
        value_codes = np.unique(values, return_inverse=True, equal_nan=False)[1].astype(np.int64, copy=False)
    return group_codes(codes * (int(value_codes.max(initial=0)) + 1) + value_codes)


def _by_group(runs: Runs, codes: Int64Array) -> Runs:
    order = np.lexsort((runs.first, runs.start_us, codes))
    if np.array_equal(order, np.arange(len(order))):
        return runs
    value = None if runs.value is None else runs.value[order]
    return Runs(
        runs.start_us[order], runs.end_us[order], runs.group[order], value,
        runs.count[order], runs.first[order], runs.last[order], runs.is_open[order],
    )  # fmt: skip


def ends_of(end_us: npt.ArrayLike, start_us: Int64Array) -> Int64Array:
    """Return ends as int64 (n,), none before its start but for `NEVER_US`."""
    end = whole_numbers("end_us", end_us, start_us.shape, CoalescingError)
    early = (end < start_us) & (end != NEVER_US)
    if np.any(early):
        row = int(np.flatnonzero(early)[0])
        raise CoalescingError(f"end_us[{row}]", int(end[row]), f"its start, {start_us[row]}, or later")
    return end
