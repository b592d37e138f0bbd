"""Timestamp columns of Parquet files, to microseconds since the epoch, UTC."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coincide.area_keys import LATEST_TIME_US
from coincide.arrays import BoolArray, Int64Array
from coincide.command.errors import CommandError, ValueRefused
from coincide.command.faults import Faults

YEAR_1980_US = 315_532_800_000_000
EARLIEST = "1980-01-01T00:00:00Z or later"
LATEST = "before the year 2112"


def in_range(times_us: Int64Array) -> BoolArray:
    """Return which times lie from 1980 to 2111, bool (n,)."""
    return (times_us >= YEAR_1980_US) & (times_us <= LATEST_TIME_US)


def timestamps_us(array: pa.Array, column: str, *, assume_utc: bool) -> tuple[Int64Array, Faults]:
    """Return the times of a timestamp column, int64 (n,), and what is wrong with which of them.

    Raises
    ------
    CommandError
        The column says no time zone, and `assume_utc` is off.
    """
    if array.type.tz is None and not assume_utc:
        raise CommandError(f"column {column} has times without a time zone: --assume-utc takes them as UTC")
    empty = array.is_null().to_numpy(zero_copy_only=False)
    whole = array.cast(pa.timestamp("us", array.type.tz), safe=False)  # cuts off parts of a microsecond
    times: Int64Array = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    faults = Faults()
    faults.add_all(np.flatnonzero(empty), str(ValueRefused(column, None, "a time")))
    for position in np.flatnonzero(~in_range(times)).tolist():
        given = str(np.datetime64(int(times[position]), "us"))
        faults.add(position, ValueRefused(column, given, EARLIEST if times[position] < YEAR_1980_US else LATEST))
    return times, faults
