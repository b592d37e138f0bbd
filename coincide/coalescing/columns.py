"""Columns as coalescing takes them: times, groups and values, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array, LabelArray, PositionArray
from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.errors import CoalescingError
from coincide.stable_order import stable_order, stable_order_by
from coincide.whole_numbers import whole_numbers

FARTHEST_US = 1 << 61  # starts and tolerances: so far that their sums fit int64
SMALL_RANGE = 1 << 20  # integer groups in so small a range are their own codes
ROWS_A_GROUP = 1024  # with more rows in a group than this, groups are sorted one by one


def times_of(field: str, times_us: npt.ArrayLike, rows: int | None = None) -> Int64Array:
    """Return times as int64 (n,), from -2**61 to 2**61 microseconds."""
    times = whole_numbers(field, times_us, None if rows is None else (rows,), CoalescingError)
    if times.ndim != 1:
        raise CoalescingError(field, f"an array of {times.ndim} dimensions", "one dimension")
    if len(times) and not (times.min() >= -FARTHEST_US and times.max() <= FARTHEST_US):
        beyond = times[(times < -FARTHEST_US) | (times > FARTHEST_US)][0]
        raise CoalescingError(field, int(beyond), "microseconds from -2**61 to 2**61")
    return times


def duration_of(field: str, duration_us: object) -> int:
    """Return a duration in whole microseconds, from 0 to 2**61."""
    if isinstance(duration_us, bool) or not isinstance(duration_us, int | np.integer):
        raise CoalescingError(field, duration_us, "a whole number of microseconds")
    if not 0 <= duration_us <= FARTHEST_US:
        raise CoalescingError(field, duration_us, "0 to 2**61 microseconds")
    return int(duration_us)


def labels_of(field: str, labels: npt.ArrayLike, rows: int) -> LabelArray:
    """Return labels as int64 or str (n,)."""
    column = np.asarray(labels)
    if column.shape != (rows,):
        raise CoalescingError(field, f"an array with shape {column.shape}", f"one for each of the {rows} rows")
    if rows == 0 or column.dtype.kind in "iu":
        return column.astype(np.int64, copy=False) if column.dtype.kind in "iuf" else column
    if column.dtype.kind != "U":
        raise CoalescingError(field, f"an array of {column.dtype}", "whole numbers or strings")
    return column


def group_codes(labels: LabelArray) -> Int64Array:
    """Return codes in label order, int64 (n,), 0 or more."""
    if len(labels) and labels.dtype.kind == "i":
        least = int(labels.min())
        if int(labels.max()) - least < SMALL_RANGE:
            return labels - least
    codes: Int64Array = np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)
    return codes


def values_of(values: npt.ArrayLike, rows: int, equivalence: Equivalence) -> npt.NDArray[Any]:
    """Return values (n,); numbers as int64 or float64, so that differences of small types do not wrap."""
    column = np.asarray(values)
    if column.ndim == 0 or len(column) != rows or column.ndim > 1:
        raise CoalescingError("value", f"an array with shape {column.shape}", f"one for each of the {rows} rows")
    if column.dtype.kind in "iu" and column.dtype != np.uint64:
        return column.astype(np.int64, copy=False)
    if column.dtype.kind == "f":
        return column.astype(np.float64, copy=False)
    if equivalence.needs_numbers and rows:
        raise CoalescingError("value", f"an array of {column.dtype}", f"numbers for {type(equivalence).__name__}")
    return column


def time_order(codes: Int64Array, start_us: Int64Array) -> PositionArray | slice:
    """Return the order by (code, start, row); ``slice(None)`` where the rows have it already."""
    same = codes[1:] == codes[:-1]
    if np.all((codes[1:] > codes[:-1]) | (same & (start_us[1:] >= start_us[:-1]))):
        return slice(None)
    if not np.any(codes):
        return stable_order(start_us)
    if np.all(start_us[1:] >= start_us[:-1]):
        return stable_order(codes)
    if int(codes.max()) * ROWS_A_GROUP > len(codes):
        return stable_order_by(codes, start_us)
    return _group_by_group(codes, start_us)


def _group_by_group(codes: Int64Array, start_us: Int64Array) -> PositionArray:
    order = stable_order(codes)
    ends = np.cumsum(np.bincount(codes))
    for begin, end in zip(ends - np.bincount(codes), ends, strict=True):
        part = order[begin:end]
        order[begin:end] = part[stable_order(start_us[part])]
    return order
