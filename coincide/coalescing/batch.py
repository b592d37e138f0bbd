"""Coalescing of all rows at once, in columns: from readings to their intervals, and from intervals to runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray
from coincide.arrays.numbers import whole_numbers
from coincide.arrays.order import stable_order, stable_order_by
from coincide.coalescing.blocks import RowBlocks
from coincide.coalescing.columns import (
    BEYOND_US,
    class_codes,
    duration_of,
    group_codes,
    labels_of,
    time_order,
    times_of,
    values_of,
)
from coincide.coalescing.equivalences import Equal, Equivalence, checked_equivalence
from coincide.coalescing.links import LinkRule
from coincide.coalescing.runs import Runs
from coincide.coalescing.spans import Spans
from coincide.errors import CoalescingError

EQUAL = Equal()
NEVER_US = -(1 << 63)
"""The end of a reading that holds at no time: another of its group at the same instant counts."""


def validity(
    ts_us: npt.ArrayLike, group: npt.ArrayLike | None = None, hold_us: int | None = None
) -> tuple[Int64Array, Int64Array]:
    """Give each reading the interval [start, end) in which its value holds (Section 2.3 of the coalescing paper).

    A reading holds until the next one of its group, at most `hold_us`. The newest of each group has no next one: it
    ends where it starts, and `coalesce` calls its run open. Of readings of one group at one instant the first row
    counts; the others end at `NEVER_US`, and `coalesce` passes over them.

    Filter rows after this, never before: a reading that does not interest still ends the one before it.

    A CoalescingError names the column, the value and what is allowed.

    Parameters
    ----------
    ts_us : array_like of int, shape (n,)
        Times of the readings, microseconds since the epoch, in any order.
    group : array_like of int or str, shape (n,), optional
        Whose reading it is. Left out: all are of one group.
    hold_us : int, optional
        How long a reading holds at most, 0 or more. Left out: without end, as in the paper.

    Returns
    -------
    start_us, end_us : ndarray of int64, shape (n,)
        In the order of the rows.

    Examples
    --------
    >>> start_us, end_us = validity([0, 10, 25], hold_us=12)
    >>> start_us.tolist(), end_us.tolist()
    ([0, 10, 25], [10, 22, 25])
    """
    start_us = times_of("ts_us", ts_us)
    codes = group_codes(labels_of("group", group, len(start_us)))
    order = time_order(codes, start_us)
    code, start = codes[order], start_us[order]
    end = np.empty_like(start_us)
    end[order] = _ends_of_readings(code, start, hold_us)
    return start_us, end


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

    A CoalescingError names the column, the value and what is allowed.

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
    end = _ends_of(end_us, start)
    labels = labels_of("group", group, len(start))
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

    The runs are by group, then by start. Readings in order of time are faster.

    Examples
    --------
    >>> runs = coalesce_readings([0, 60, 120, 180], value=[81, 81, 79, 79])
    >>> runs.start_us.tolist(), runs.end_us.tolist(), runs.value.tolist(), runs.is_open.tolist()
    ([0, 120], [120, 180], [81, 79], [False, True])
    """
    checked_equivalence(equivalence)
    ts = times_of("ts_us", ts_us)
    labels = labels_of("group", group, len(ts))
    values = None if value is None else values_of(value, len(ts), equivalence)
    hold = BEYOND_US if hold_us is None else duration_of("hold_us", hold_us)
    spans = RowBlocks.of(group_codes(labels), ts, hold_us=hold).united(LinkRule.of(values, equivalence))
    newest, end = np.ones(len(spans), np.bool_), spans.end_us
    if len(spans):
        newest[:-1] = ~spans.same_code
        end[:-1] = np.where(newest[:-1], end[:-1], np.minimum(end[:-1], spans.start_us[1:]))
        end[newest] = ts[spans.last[newest]]
    return _as_runs(spans, labels, values, newest)


def _facts(
    start: Int64Array,
    end: Int64Array,
    labels: LabelArray,
    values: npt.NDArray[Any] | None,
    equivalence: Equivalence,
    gap: int,
) -> Runs:
    codes = group_codes(labels)
    spans = _united(codes, start, end, values, equivalence, gap)
    latest = np.full(int(codes.max(initial=-1)) + 1, NEVER_US)
    group, newest = codes.take(spans.first), start.take(spans.last)
    np.maximum.at(latest, group, newest)
    is_open = (end.take(spans.last) == newest) & (newest == latest.take(group))
    return _as_runs(spans, labels, values, is_open)


def _united(
    codes: Int64Array,
    start: Int64Array,
    end: Int64Array,
    values: npt.NDArray[Any] | None,
    equivalence: Equivalence,
    gap: int,
) -> Spans:
    """Values that must be equal are of one class whatever lies between them, unless only neighbours can meet."""
    rows = RowBlocks.of(codes, start, end)
    if values is None or not isinstance(equivalence, Equal):
        return rows.united(LinkRule(values, equivalence, gap))
    apart = None if gap else rows.united_apart(LinkRule.of(values, equivalence))
    if apart is not None:
        return apart
    spans = rows.divided(class_codes(codes, values)).united(LinkRule(gap_us=gap))
    order = stable_order(spans.first)  # by (group, start, first row)
    return spans.take(order.take(stable_order_by(codes.take(spans.first.take(order)), spans.start_us.take(order))))


def _as_runs(spans: Spans, labels: LabelArray, values: npt.NDArray[Any] | None, is_open: BoolArray) -> Runs:
    first, value = spans.first, None if values is None else values.take(spans.first)
    return Runs(spans.start_us, spans.end_us, labels.take(first), value, spans.rows_of_each, first, spans.last, is_open)


def _ends_of(end_us: npt.ArrayLike, start_us: Int64Array) -> Int64Array:
    """Return ends as int64 (n,), none before its start but for `NEVER_US`."""
    end = whole_numbers("end_us", end_us, start_us.shape, CoalescingError)
    early = end < start_us
    if early.any() and np.any(early := early & (end != NEVER_US)):
        row = int(np.flatnonzero(early)[0])
        raise CoalescingError(f"end_us[{row}]", int(end[row]), f"its start, {start_us[row]}, or later")
    return end


def _ends_of_readings(code: Int64Array, start_us: Int64Array, hold_us: int | None) -> Int64Array:
    counts = np.ones(len(code), np.bool_)
    counts[1:] = (code[1:] != code[:-1]) | (start_us[1:] != start_us[:-1])
    (kept,) = np.nonzero(counts)
    start, newest = start_us[kept], np.ones(len(kept), np.bool_)
    newest[:-1] = code[kept[1:]] != code[kept[:-1]]
    until = np.append(start[1:], start[-1:])
    if hold_us is not None:
        until = np.minimum(until, start + duration_of("hold_us", hold_us))
    ends = np.full(len(start_us), NEVER_US)
    ends[kept] = np.where(newest, start, until)
    return ends
