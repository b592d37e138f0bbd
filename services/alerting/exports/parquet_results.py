"""Results as Parquet, group of rows by group; imported when somebody first asks for it."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from services.alerting.exports.result_columns import (
    Column,
    Kind,
    Parts,
    Times,
    column_names,
    decode_json,
)

GROUP_ROWS = 20_000
GROUP_BYTES = 32 * 2**20
TIMESTAMP = pa.timestamp("us", "UTC")
TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "time": pa.int64(),
    "json": pa.string(),
    "texts": pa.list_(pa.string()),
}


class _Sink(io.RawIOBase):
    """What Parquet is written to; its bytes are taken out as they come."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._written.append(bytes(content))
        return len(self._written[-1])

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        content, self._written = b"".join(self._written), []
        return content


def groups_of_rows(parts: Parts, columns: Sequence[Column], times: Times) -> Iterator[bytes]:
    """Yield the file in pieces, one for each group of rows, then its footer."""
    schema, sink = pa.schema(_fields(columns, times)), _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), schema) as writer:
        for group in _groups(_table(part, columns, times, schema) for part in parts):
            writer.write_table(group)
            yield sink.taken()
    yield sink.taken()


def _table(part: Sequence[str], columns: Sequence[Column], times: Times, schema: pa.Schema) -> pa.Table:
    rows = [decode_json(body) for body in part]  # as columns they take a tenth of that
    return pa.Table.from_arrays([array for each in columns for array in _arrays(each, rows, times)], schema=schema)


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    group: list[pa.Table] = []
    for table in tables:
        group.append(table)
        if sum(each.num_rows for each in group) >= GROUP_ROWS or sum(each.nbytes for each in group) >= GROUP_BYTES:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def _fields(columns: Sequence[Column], times: Times) -> list[pa.Field]:
    fields = []
    for column in columns:
        name, *in_rfc_3339 = column_names(column, times)
        fields += [pa.field(name, _type(column, times)), *(pa.field(each, TIMESTAMP) for each in in_rfc_3339)]
    return fields


def _type(column: Column, times: Times) -> pa.DataType:
    return pa.list_(pa.struct(_fields(column.of_members, times))) if column.kind == "members" else TYPES[column.kind]


def _arrays(column: Column, rows: Sequence[Mapping[str, Any]], times: Times) -> list[pa.Array]:
    """Return the column, and a time once more as a timestamp where that is asked for."""
    values = [column.value(row) for row in rows]
    if column.kind == "members":
        values = [
            None if each is None else [_member(one, column.of_members, times) for one in _of(dict, each)]
            for each in values
        ]
    elif column.kind == "texts":
        values = [None if each is None else _of(str, each) for each in values]
    array = pa.array(values, _type(column, times))
    return [array, *(array.cast(TIMESTAMP) for _ in column_names(column, times)[1:])]


def _of(kind: type, values: Sequence[Any]) -> list[Any]:
    return [each for each in values if isinstance(each, kind)]


def _members(members: Sequence[Any], columns: Sequence[Column], times: Times) -> list[dict[str, Any]]:
    return [_member(each, columns, times) for each in _of(dict, members)]


def _member(member: Mapping[str, Any], columns: Sequence[Column], times: Times) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for column in columns:
        value = column.value(member)
        cells |= dict.fromkeys(column_names(column, times), value)  # a timestamp is made of microseconds
    return cells
