"""The answer of ``coincide coalesce``: what it shows of each run."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from coincide.arrays import Int64Array
from coincide.coalescing import Runs
from coincide.command.rows import Rows
from coincide.temporal.intervals import NOW_US

TIME = pa.timestamp("us", "UTC")


def run_schema(by: Sequence[str], rows: Rows) -> pa.Schema:
    """Return the names and types of the columns."""
    groups = [(name, column.type) for name, column in zip(by, rows.by, strict=True)]
    value = [] if rows.value is None else [("value", rows.value.type)]
    times = [("start", TIME), ("end", TIME), ("duration_s", pa.float64())]
    return pa.schema([*groups, *value, *times, ("count", pa.int64()), ("open", pa.bool_())])


def run_columns(by: Sequence[str], rows: Rows, runs: Runs, part: slice) -> pa.Table:
    """Return some of the runs; what still holds has neither an end nor a duration."""
    first = pa.array(runs.first[part])
    start_us, end_us = runs.start_us[part], runs.end_us[part]
    holds = end_us == NOW_US
    is_open = runs.is_open[part] if rows.end_us is None else holds
    groups = [column.take(first) for column in rows.by]
    value = [] if rows.value is None else [rows.value.take(first)]
    times = [_times(start_us), pa.array(end_us, mask=holds).cast(TIME)]
    lasting = pa.array((end_us - start_us) / 1e6, mask=holds)
    columns = [*groups, *value, *times, lasting, pa.array(runs.count[part]), pa.array(is_open)]
    return pa.Table.from_arrays(columns, schema=run_schema(by, rows))


def _times(times_us: Int64Array) -> pa.Array:
    return pa.array(times_us).cast(TIME)
