"""Instants: microseconds since 1970 (UTC), read from datetime64, and from numbers and texts that others write."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.errors import DetectionsError

#: Times that a log or a gateway reports lie from here on. So a smaller number is one of another unit.
YEAR_1980_US = 315_532_800_000_000
FROM_1980_ON = f"at least {YEAR_1980_US} (1980); this looks like seconds or milliseconds"
LOOKS_LIKE_SECONDS = f"microseconds since 1970, {FROM_1980_ON}"

EARLIEST_TIME_US = -(2**51)  # the year 1898
LATEST_TIME_US = 2**52  # the year 2112
ALLOWED = "microseconds since the epoch, from 1898 to 2112"

TimeUnit = Literal["s", "ms", "us", "ns"]
IN_WORDS: dict[TimeUnit, str] = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)
_COARSE = "YMWDhms"  # and ms: units in which a time that fits may be none in microseconds
_US_OF: dict[TimeUnit, int] = {"s": 1_000_000, "ms": 1000, "us": 1}
FRACTIONAL: tuple[TimeUnit, ...] = ("s", "ms")  # units of which logs write fractions


def is_datetime(values: npt.NDArray[Any]) -> bool:
    """Whether the array is of datetime64, or of dates and times as Python has them."""
    return values.dtype.kind == "M" or (values.dtype.kind == "O" and len(values) > 0 and hasattr(values[0], "tzinfo"))


def datetimes_us(field: str, values: npt.NDArray[Any]) -> Int64Array:
    """Return datetime64 of any unit in microseconds since 1970, int64 (n,); parts of a microsecond are cut off.

    Raises `DetectionsError` where there is no time (NaT), or none from 1898 to 2112.
    """
    times = values if values.dtype.kind == "M" else _from_objects(field, values)
    missing = np.flatnonzero(np.isnat(times))
    if len(missing):
        raise DetectionsError(field, f"no time (NaT) in row {missing[0]}", "a time in every row")
    unit = np.datetime_data(times.dtype)[0]
    if unit in _COARSE or unit == "ms":
        least, most = (np.datetime64(each, "us").astype(times.dtype) for each in (EARLIEST_TIME_US, LATEST_TIME_US))
        beyond = times[(times < least) | (times > most)]
        if len(beyond):
            raise DetectionsError(field, str(beyond[0]), "a time from 1898 to 2112")
    microseconds: Int64Array = times.astype("datetime64[us]").astype(np.int64)
    return microseconds


def _from_objects(field: str, values: npt.NDArray[Any]) -> npt.NDArray[np.datetime64]:
    """Return datetimes of Python, or of pandas where they have a zone, as datetime64 in UTC."""
    times = np.empty(len(values), "datetime64[us]")
    for row, value in enumerate(values.tolist()):
        try:
            offset = value.utcoffset()  # None where it has no zone, and is in UTC
            times[row] = np.datetime64(value.replace(tzinfo=None) - offset if offset else value.replace(tzinfo=None))
        except (AttributeError, TypeError, ValueError):
            raise DetectionsError(field, value, f"a date and a time (row {row})") from None
    return times


def numbers_us(field: str, values: npt.NDArray[Any], unit: TimeUnit = "us") -> Int64Array:
    """Return numbers of a unit since 1970 in microseconds, int64 (n,), from 1980 on, as gateways and logs write them.

    Raises `DetectionsError`, which says so, where a number looks like one of another unit.
    """
    if unit not in TIME_UNITS:
        raise DetectionsError("unit", unit, f"one of {', '.join(TIME_UNITS)}")
    is_fraction = values.dtype.kind == "f"
    if not (values.dtype.kind in "iu" or (is_fraction and unit in FRACTIONAL)):
        hint = "; numbers with a fraction that count seconds need the unit s" if is_fraction else ""
        raise DetectionsError(field, f"an array of {values.dtype}", f"whole {IN_WORDS[unit]} or datetime64{hint}")
    times = counted_us(values, unit)
    for wrong, allowed in ((times < YEAR_1980_US, too_early(unit)), (times > LATEST_TIME_US, too_late(unit))):
        if wrong.any():
            raise DetectionsError(field, values[wrong][0].item(), allowed)
    return times


def counted_us(values: npt.NDArray[Any], unit: TimeUnit) -> Int64Array:
    """Return numbers of a unit in microseconds, int64 (n,); those beyond all times are some time beyond them.

    Whole nanoseconds are cut off, fractions of seconds and milliseconds are rounded to the microsecond.
    """
    times: Int64Array
    if unit == "us" and values.dtype.kind == "i":
        times = values.astype(np.int64, copy=False)
    elif unit == "ns":
        times = np.minimum(values, np.iinfo(np.int64).max).astype(np.int64) // 1000
    else:
        factor = _US_OF[unit]
        near = np.clip(values, 0, (LATEST_TIME_US + 1) // factor + 1)  # what is beyond would overflow
        whole = np.floor(near).astype(np.int64)
        times = whole * factor + np.rint((near - whole) * factor).astype(np.int64)
    return times


def too_early(unit: TimeUnit) -> str:
    """Return what is allowed, for a number of the unit that lies before 1980."""
    if unit == "us":
        return LOOKS_LIKE_SECONDS
    return f"{IN_WORDS[unit]} since 1970, from 1980 on; this looks like a coarser unit"


def too_late(unit: TimeUnit) -> str:
    """Return what is allowed, for a number of the unit that lies after 2112."""
    return f"{IN_WORDS[unit]} since 1970, before the year 2112; this looks like a finer unit"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEAP_SECOND = "second 60 is a leap second, which no computer's clock counts: write 59, or the second that follows"
_DAY, _CLOCK = r"(\d{4}-\d\d-\d\d)", r"[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)"
# datetime.fromisoformat also takes week dates and commas, which nobody means
_with_offset = re.compile(rf"{_DAY}{_CLOCK} ?([Zz]|UTC|[+-]\d\d(?::?\d\d)?)", re.ASCII).fullmatch
_without_offset = re.compile(rf"{_DAY}(?:{_CLOCK})?", re.ASCII).fullmatch


def written_us(text: str) -> int | None:
    """Return a time with its offset in microseconds since 1970, cut off; None where the text has another form.

    The form is that of RFC 3339. A space may stand for the T and before the offset, and an offset may be ``+02``,
    ``+0200`` or ``UTC``, as databases write it. Raises `ValueError`, which says so, for a month 13 or a leap second.

    Examples
    --------
    >>> written_us("1987-02-23T07:35:35Z"), written_us("1987-02-23 08:35:35.5+01"), written_us("1987-02-23")
    (541064135000000, 541064135500000, None)
    """
    found = _with_offset(text)
    if found is None:
        return None
    day, clock, offset = found.groups()
    if clock[6:8] == "60":
        raise ValueError(LEAP_SECOND)
    since = datetime.fromisoformat(f"{day}T{clock}{'Z' if offset in ('z', 'UTC') else offset}") - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def in_utc(text: str) -> str | None:
    """Return a date, or a date and a time without an offset, as the time in UTC; None where it is neither.

    Examples
    --------
    >>> in_utc("1987-02-23"), in_utc("1987-02-23 07:35:35"), in_utc("1987-02-23T07:35:35Z")
    ('1987-02-23T00:00:00Z', '1987-02-23T07:35:35Z', None)
    """
    found = _without_offset(text)
    return None if found is None else f"{found[1]}T{found[2] or '00:00:00'}Z"
