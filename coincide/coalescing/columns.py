"""Columns as coalescing takes them: times, groups and values, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array, LabelArray, PositionArray
from coincide.arrays.numbers import whole_numbers
from coincide.arrays.order import stable_order, stable_order_by
from coincide.coalescing.equivalences import Equivalence
from coincide.errors import CoalescingError

FARTHEST_US = 1 << 61  # starts and tolerances: so far that their sums fit int64
BEYOND_US = 1 << 62  # after any time, and longer than any two times lie apart
PACKED_BITS = 62
SMALL_RANGE = 1 << 20  # integer groups in so small a range are their own codes


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


def labels_of(field: str, labels: npt.ArrayLike | None, rows: int) -> LabelArray:
    """Return labels as int64 or str (n,); all are 0 where none are given."""
    if labels is None:
        return np.zeros(rows, np.int64)
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
            return labels - least if least else labels
        return _ranks(labels)
    if len(labels) and labels.dtype.kind == "U":
        return _text_ranks(labels)
    codes: Int64Array = np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)
    return codes


def class_codes(codes: Int64Array, values: npt.NDArray[Any]) -> Int64Array:
    """Return a code for each (group, value), int64 (n,), 0 or more, in no order; NaN equals nothing."""
    of_value = _value_codes(values)
    return group_codes(codes * (int(of_value.max(initial=0)) + 1) + of_value)


def _value_codes(values: npt.NDArray[Any]) -> Int64Array:
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        return np.array([seen.setdefault(value, len(seen)) for value in values.tolist()], np.int64)
    if values.dtype.kind != "f":
        return group_codes(values)
    codes = _ranks((values + 0.0).view(np.int64))  # -0.0 is 0.0
    (nan,) = np.nonzero(np.isnan(values))
    codes[nan] = len(values) + np.arange(len(nan))
    return codes


def _text_ranks(labels: LabelArray) -> Int64Array:
    """Text is in the order of its code points: as many of them as fit are packed into one number, and ranked."""
    characters = np.ascontiguousarray(labels, labels.dtype.newbyteorder("=")).view(np.uint32).reshape(len(labels), -1)
    bits, free = max(int(characters.max(initial=0)).bit_length(), 1), PACKED_BITS
    packed = np.zeros(len(labels), np.int64)
    for column in characters.T:
        if free < bits:
            packed = _ranks(packed)
            free = PACKED_BITS - len(labels).bit_length()
        packed <<= bits
        packed |= column
        free -= bits
    return _ranks(packed)


def _ranks(labels: Int64Array) -> Int64Array:
    """Return which of the different labels each is, in their order, int64 (n,)."""
    order = stable_order(labels)
    in_order = labels.take(order)
    ranks = np.empty_like(order)
    ranks[order] = np.append(0, np.cumsum(in_order[1:] != in_order[:-1]))[: len(order)]
    return ranks


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


def in_time_order(codes: npt.NDArray[np.integer[Any]], start_us: Int64Array) -> bool:
    """Whether the rows stand by start, or by (code, start)."""
    goes_on = start_us[1:] >= start_us[:-1]
    if goes_on.all():
        return True
    goes_on |= codes[1:] > codes[:-1]
    return bool(goes_on.all()) and not np.any(codes[1:] < codes[:-1])


def time_order(codes: Int64Array, start_us: Int64Array) -> PositionArray | slice:
    """Return the order by (code, start, row); ``slice(None)`` where the rows have it already."""
    in_order = in_time_order(codes, start_us)
    if in_order and not np.any(codes[1:] < codes[:-1]):
        return slice(None)
    return stable_order(codes) if in_order else stable_order_by(codes, start_us)
