"""Rows of a Parquet file, and its timestamps as microseconds since the epoch, UTC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.faults import CommandError, Faults, ValueRefused
from coincide.command.input.file_columns import Chunk
from coincide.command.input.text_files import Advance
from coincide.joins.keys import LATEST_TIME_US

ROWS = 262_144


def parquet_chunks(path: Path, wanted: Sequence[str], advance: Advance) -> Iterator[Chunk]:
    """Yield the wanted columns of `path`; ``attributes.celsius`` is a field of a column of structures.

    Raises
    ------
    CommandError
        No Parquet file, a damaged one, a pipe, or two wanted columns of one name.
    """
    try:
        with path.open("rb") as raw:
            if not raw.seekable():
                raise CommandError(f"{path}: Parquet cannot be read from a pipe")
            with pq.ParquetFile(raw) as file:
                yield from _chunks(path, file, wanted, advance)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CommandError(f"{path}: {error}") from None


def _chunks(path: Path, file: pq.ParquetFile, wanted: Sequence[str], advance: Advance) -> Iterator[Chunk]:
    names = file.schema_arrow.names
    for name in wanted:
        if names.count(name) > 1:
            raise CommandError(f"{path}: the schema names {name!r} twice")
    schema = file.schema_arrow
    present = [name for name in wanted if name in names or _is_inside(schema, name)]
    total, first = max(file.metadata.num_rows, 1), 1
    yield _chunk(schema.empty_table(), present, first, names)
    for batch in file.iter_batches(ROWS, columns=present):
        yield _chunk(pa.Table.from_batches([batch]), present, first, names)
        first += batch.num_rows
        advance((first - 1) / total)


def _chunk(table: pa.Table, present: Sequence[str], first: int, names: Sequence[str]) -> Chunk:
    columns = {name: _column(table, name) for name in present}
    row = np.arange(first, first + table.num_rows, dtype=np.int64)
    return Chunk(columns, row, row, names)


def _column(table: pa.Table, name: str) -> pa.Array:
    if name in table.column_names:
        return table.column(name).combine_chunks()
    root, *path = name.split(".")
    return pc.struct_field(table.column(root).combine_chunks(), path)


def _is_inside(schema: pa.Schema, name: str) -> bool:
    """Whether `name` is a path such as ``attributes.celsius`` into a column of structures."""
    root, *path = name.split(".")
    if not path or root not in schema.names:
        return False
    kind = schema.field(root).type
    for step in path:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return False
        kind = kind.field(step).type
    return True


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
