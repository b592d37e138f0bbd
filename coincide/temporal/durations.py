"""Durations: how long intervals last, and TSQL2's CAST of them to whole units."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.arrays.numbers import is_whole, whole_numbers
from coincide.errors import IntervalError
from coincide.temporal.intervals import NOW_US, Intervals

# units that always last as long as each other: a month or a year does not
UNITS_US = MappingProxyType(
    {
        "microsecond": 1,
        "millisecond": 1000,
        "second": 1_000_000,
        "minute": 60_000_000,
        "hour": 3_600_000_000,
        "day": 86_400_000_000,
    }
)


def duration_us(intervals: Intervals, now_us: int | None = None) -> Int64Array:
    """Return how long each interval lasts.

    The result is in microseconds, int64 (n,); `now_us` says when now is and is needed if an end is open. An
    IntervalError says that an end is open without a now, or that what is open begins at now or later.

    Examples
    --------
    >>> from coincide.temporal import NOW_US
    >>> duration_us(Intervals([0, 2], [5, NOW_US]), now_us=9).tolist()
    [5, 7]
    """
    if now_us is None and intervals.is_open.any():
        raise IntervalError("now_us", None, "the time at which open intervals are measured")
    bound = intervals if now_us is None else intervals.at(now_us)
    lasting: Int64Array = bound.end_us - bound.start_us
    return lasting


def cast_duration(durations_us: npt.ArrayLike, unit: str) -> Int64Array:
    """Return durations in whole units, as ``CAST(... AS INTERVAL MINUTE)``: what is left over is cut off.

    An IntervalError says that the unit is none of these, or that a duration is no whole number, or below 0.

    Parameters
    ----------
    durations_us : array_like of int, shape (n,)
        Microseconds, at least 0.
    unit : {"microsecond", "millisecond", "second", "minute", "hour", "day"}

    Examples
    --------
    >>> cast_duration([239_999_999, 240_000_000], "minute").tolist()
    [3, 4]
    """
    if unit not in UNITS_US:
        raise IntervalError("unit", unit, f"one of {', '.join(UNITS_US)}")
    durations = whole_numbers("durations_us", durations_us, None, IntervalError)
    if durations.size and durations.min() < 0:
        raise IntervalError("durations_us", int(durations.min()), "at least 0")
    return np.floor_divide(durations, UNITS_US[unit])


def lasting_until(start_us: Int64Array, lasting_us: int) -> Int64Array:
    """Return when what starts then has lasted so long; NOW_US at most, so that what still holds has lasted."""
    until: Int64Array = np.minimum(start_us, NOW_US - lasting_us) + lasting_us
    return until


def checked_duration(field: str, lasting_us: int) -> int:
    """Return `lasting_us` if it is a whole number of microseconds, at least 1, else raise IntervalError."""
    if not is_whole(lasting_us) or not 1 <= lasting_us <= NOW_US:
        raise IntervalError(field, lasting_us, "a whole number of microseconds, from 1 to 2**63 - 1")
    return int(lasting_us)
