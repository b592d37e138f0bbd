"""Times as files hold them, to microseconds since the epoch, UTC.

The rules are those of ingest, which the library may not import; a test compares the two. A time is RFC 3339 with its
offset, or a number since 1970, from 1980 on: whole microseconds, or what --time-unit says. Parts of a microsecond are
cut off. A column whose values all follow the common form is read at once, any other value by value.
"""

from __future__ import annotations

import re
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.instants import (
    FRACTIONAL,
    IN_WORDS,
    LATEST_TIME_US,
    YEAR_1980_US,
    TimeUnit,
    counted_us,
    in_utc,
    too_early,
    too_late,
    written_us,
)
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.faults import CommandError, RowFaults, ValueRefused
from coincide.command.input.chunks import Column, is_text, listed, typed

EARLIEST = "1980-01-01T00:00:00Z or later"
LATEST = "before the year 2112"
FORMS = "RFC 3339 or epoch microseconds"
OFFSET_MISSING = f"{FORMS}; it has no offset such as Z or +01:00 (--assume-utc takes it as UTC)"


class TimeForm(TypedDict):
    """What is not said by a time itself: that one without an offset is in UTC, and what its number counts."""

    assume_utc: bool
    unit: TimeUnit


_whole_number = re.compile(r"-?\d{1,40}", re.ASCII).fullmatch
_fraction = re.compile(r"-?\d{1,40}\.\d{1,40}", re.ASCII).fullmatch

_COMMON_FORM = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d(?::?\d\d)?)$"
_NUMBER = r"^[0-9]{9,18}$"
_FRACTION = r"^[0-9]{9,15}(?:\.[0-9]{1,9})?$"


def instant_us(value: object, column: str, *, assume_utc: bool = False, unit: TimeUnit = "us") -> int:
    """Return one time in microseconds since the epoch; a number counts in `unit`."""
    number = _number(value, unit)
    if number is not None:
        near = min(max(number, -1), 2**63 - 1)
        return _in_time(int(counted_us(np.array([near]), unit)[0]), value, column, too_early(unit), too_late(unit))
    if isinstance(value, str):
        return _text_us(value, column, assume_utc)
    raise ValueRefused(column, value, _forms(unit))


def _number(value: object, unit: TimeUnit) -> float | None:
    """Return the number that a value is or writes; None if it is none, or has a fraction that the unit may not have."""
    if isinstance(value, str):
        if _whole_number(value):
            return int(value)
        return float(value) if unit in FRACTIONAL and _fraction(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, float) and unit in FRACTIONAL and np.isfinite(value) else None


def _forms(unit: TimeUnit) -> str:
    return f"RFC 3339 or epoch {IN_WORDS[unit]}"


def read_instants_us(
    values: Column, column: str, faults: RowFaults, *, assume_utc: bool = False, unit: TimeUnit = "us"
) -> Int64Array:
    """Return the times of a column, int64 (n,); those of rows with a fault mean nothing; numbers count in `unit`."""
    array = typed(values)
    if array is not None and (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)):
        return _timestamps_us(array, column, faults, assume_utc)
    common = None if array is None or array.null_count else _common_us(array, unit)
    if common is not None and _in_range(common).all():
        return common
    times = np.zeros(len(values), np.int64)
    for position, value in enumerate(listed(values)):
        try:
            times[position] = instant_us(value, column, assume_utc=assume_utc, unit=unit)
        except ValueRefused as refused:
            faults.add(position, refused)
    return times


def read_optional_instants_us(
    values: Column | None,
    column: str,
    rows: int,
    faults: RowFaults,
    *,
    assume_utc: bool = False,
    unit: TimeUnit = "us",
) -> tuple[Int64Array, BoolArray]:
    """Return the times of a column that need not be filled, or be there, and which rows have one."""
    if values is None:
        return np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    own = RowFaults()
    times = read_instants_us(values, column, own, assume_utc=assume_utc, unit=unit)
    given = np.ones(rows, np.bool_)
    for position, why in own.items():
        if why.startswith(f"{column}: empty"):
            given[position] = False
        else:
            faults.add(position, why)
    return times, given


LAST_YEAR = 9999
_never = re.compile(rf"{LAST_YEAR}-.*|\+?infinity", re.ASCII | re.IGNORECASE).fullmatch


def without_last_year(values: Column) -> Column:
    """Return ends, none where they are infinite or of the year 9999: databases say so that a fact still holds."""
    if isinstance(values, list):
        return [None if isinstance(value, str) and _never(value) else value for value in values]
    if is_text(values.type):
        never = pc.match_substring_regex(values, rf"(?i)^(?:{LAST_YEAR}-.*|\+?infinity)$")
    elif pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        never = pc.greater_equal(pc.year(values), LAST_YEAR)
    else:
        return values
    return pc.if_else(never.fill_null(False), pa.scalar(None, values.type), values)


def _timestamps_us(array: pa.Array, column: str, faults: RowFaults, assume_utc: bool) -> Int64Array:
    """Return the times of a timestamp column of any unit and zone, or of a column of dates, which begin at midnight."""
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s" if pa.types.is_date32(array.type) else "ms"))
    if array.type.tz is None and not assume_utc:
        raise CommandError(f"column {column} has times without a time zone: --assume-utc takes them as UTC")
    empty = array.is_null().to_numpy(zero_copy_only=False)
    whole = array.cast(pa.timestamp("us", array.type.tz), safe=False)  # cuts off parts of a microsecond
    times: Int64Array = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    faults.add_all(np.flatnonzero(empty), str(ValueRefused(column, None, "a time")))
    for position in np.flatnonzero(~_in_range(times)).tolist():
        given = str(np.datetime64(int(times[position]), "us"))
        faults.add(position, ValueRefused(column, given, EARLIEST if times[position] < YEAR_1980_US else LATEST))
    return times


def _in_range(times_us: Int64Array) -> BoolArray:
    """Return which times lie from 1980 to 2111, bool (n,)."""
    return (times_us >= YEAR_1980_US) & (times_us <= LATEST_TIME_US)


def _text_us(text: str, column: str, assume_utc: bool) -> int:
    without_offset = in_utc(text)
    if without_offset and not assume_utc:
        raise ValueRefused(column, text, OFFSET_MISSING)
    try:
        time_us = written_us(without_offset or text)
    except ValueError as error:
        raise ValueRefused(column, text, f"{FORMS} ({error})") from None
    if time_us is None:
        raise ValueRefused(column, text, FORMS)
    return _in_time(time_us, text, column, EARLIEST, LATEST)


def _in_time(time_us: int, given: object, column: str, if_too_early: str, if_too_late: str) -> int:
    if time_us < YEAR_1980_US:
        raise ValueRefused(column, given, if_too_early)
    if time_us > LATEST_TIME_US:
        raise ValueRefused(column, given, if_too_late)
    return time_us


def _common_us(array: pa.Array, unit: TimeUnit) -> Int64Array | None:
    """Return the times of a column that is all of one common form, range unchecked; None where it is not."""
    try:
        if pa.types.is_integer(array.type):
            return counted_us(_int64(array), unit)
        if pa.types.is_floating(array.type) and unit in FRACTIONAL:
            return _finite_us(array, unit)
        return _texts_us(array, unit) if is_text(array.type) else None
    except pa.ArrowInvalid:  # a number beyond int64, a 30th of February: let each value say what is wrong with it
        return None


def _finite_us(array: pa.Array, unit: TimeUnit) -> Int64Array | None:
    numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return counted_us(numbers, unit) if np.isfinite(numbers).all() else None


def _texts_us(array: pa.Array, unit: TimeUnit) -> Int64Array | None:
    if pc.all(pc.match_substring_regex(array, _NUMBER)).as_py():
        return counted_us(_int64(array), unit)
    if unit in FRACTIONAL and pc.all(pc.match_substring_regex(array, _FRACTION)).as_py():
        return _finite_us(array, unit)
    if not pc.all(pc.match_substring_regex(array, _COMMON_FORM)).as_py():
        return None
    to_microseconds = pc.replace_substring_regex(array, r"(\.\d{6})\d+", r"\1")
    return _int64(to_microseconds.cast(pa.timestamp("us", "UTC")))


def _int64(array: pa.Array) -> Int64Array:
    numbers: Int64Array = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers
