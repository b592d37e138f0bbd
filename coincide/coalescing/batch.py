"""coalesce: all rows at once, in columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray
from coincide.arrays.numbers import whole_numbers
from coincide.arrays.order import stable_order, stable_order_by
from coincide.coalescing.blocks import FOREVER_US, RowBlocks
from coincide.coalescing.columns import class_codes, duration_of, group_codes, labels_of, times_of, values_of
from coincide.coalescing.equivalences import Equal, Equivalence, checked_equivalence
from coincide.coalescing.holding import NEVER_US
from coincide.coalescing.links import LinkRule
from coincide.coalescing.runs import Runs
from coincide.coalescing.spans import Spans
from coincide.errors import CoalescingError

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
    if len(end) and end.min() == NEVER_US:
        (kept,) = np.nonzero(end != NEVER_US)
        values = None if values is None else values[kept]
        runs = _facts(start[kept], end[kept], labels[kept], values, equivalence, gap)
        return replace(runs, first=kept[runs.first], last=kept[runs.last])
    return _facts(start, end, labels, values, equivalence, gap)


def coalesce_readings(
    ts_us: npt.ArrayLike,
    group: npt.ArrayLike | None = None,
    value: npt.ArrayLike | None = None,
    equivalence: Equivalence = EQUAL,
    hold_us: int | None = None,
) -> Runs:
    """Return ``coalesce(*validity(ts_us, group, hold_us), group, value, equivalence)``, in one go and much faster.

    Filters belong between the two: where rows are to be left out, call them one by one.

    Parameters
    ----------
    ts_us : array_like of int, shape (n,)
        Times of the readings, microseconds since the epoch, in any order; time-ordered is faster.
    group, value, equivalence
        As `coalesce` has them.
    hold_us : int, optional
        As `validity` has it.

    Returns
    -------
    Runs
        By group, then by start.

    Raises
    ------
    CoalescingError
        Names the column, the value and what is allowed.

    Examples
    --------
    >>> runs = coalesce_readings([0, 60, 120, 180], value=[81, 81, 79, 79])
    >>> runs.start_us.tolist(), runs.end_us.tolist(), runs.value.tolist(), runs.is_open.tolist()
    ([0, 120], [120, 180], [81, 79], [False, True])
    """
    checked_equivalence(equivalence)
    ts = times_of("ts_us", ts_us)
    labels = labels_of("group", np.zeros(len(ts), np.int64) if group is None else group, len(ts))
    values = None if value is None else values_of(value, len(ts), equivalence)
    hold = FOREVER_US if hold_us is None else duration_of("hold_us", hold_us)
    found = RowBlocks.of(group_codes(labels), ts, hold_us=hold).united(LinkRule.of(values, equivalence))
    newest, end = np.ones(len(found), np.bool_), found.end_us
    if len(found):
        newest[:-1] = ~found.same_code
        end[:-1] = np.where(newest[:-1], end[:-1], np.minimum(end[:-1], found.start_us[1:]))
        end[newest] = ts[found.last[newest]]
    return _as_runs(found, labels, values, newest)


def _facts(
    start: Int64Array, end: Int64Array, labels: LabelArray,
    values: npt.NDArray[Any] | None, equivalence: Equivalence, gap: int,
) -> Runs:  # fmt: skip
    codes = group_codes(labels)
    found = _united(codes, start, end, values, equivalence, gap)
    latest = np.full(int(codes.max(initial=-1)) + 1, NEVER_US)
    group, newest = codes.take(found.first), start.take(found.last)
    np.maximum.at(latest, group, newest)
    is_open = (end.take(found.last) == newest) & (newest == latest.take(group))
    return _as_runs(found, labels, values, is_open)


def _united(
    codes: Int64Array, start: Int64Array, end: Int64Array,
    values: npt.NDArray[Any] | None, equivalence: Equivalence, gap: int,
) -> Spans:  # fmt: skip
    """Values that must be equal are of one class whatever lies between them, unless only neighbours can meet."""
    rows = RowBlocks.of(codes, start, end)
    if values is None or not isinstance(equivalence, Equal):
        return rows.united(LinkRule(values, equivalence, gap))
    apart = None if gap else rows.united_apart(LinkRule.of(values, equivalence))
    if apart is not None:
        return apart
    classes = rows.divided(class_codes(codes, values))
    return _by_group(classes.united(LinkRule(gap_us=gap)), codes)


def _by_group(found: Spans, codes: Int64Array) -> Spans:
    """Put what was found for classes into the order by (group, start, first row)."""
    order = stable_order(found.first)
    order = order.take(stable_order_by(codes.take(found.first.take(order)), found.start_us.take(order)))
    return found.take(order)


def _as_runs(found: Spans, labels: LabelArray, values: npt.NDArray[Any] | None, is_open: BoolArray) -> Runs:
    value = None if values is None else values.take(found.first)
    first, last = found.first, found.last
    return Runs(found.start_us, found.end_us, labels.take(first), value, found.rows_of_each, first, last, is_open)


def ends_of(end_us: npt.ArrayLike, start_us: Int64Array) -> Int64Array:
    """Return ends as int64 (n,), none before its start but for `NEVER_US`."""
    end = whole_numbers("end_us", end_us, start_us.shape, CoalescingError)
    early = end < start_us
    if early.any() and np.any(early := early & (end != NEVER_US)):
        row = int(np.flatnonzero(early)[0])
        raise CoalescingError(f"end_us[{row}]", int(end[row]), f"its start, {start_us[row]}, or later")
    return end
