"""Where packed tables are, from the task that packs them to the one that joins them: in Spark's rows, or in files.

A table in a row crosses from Python to Spark, goes through the shuffle and crosses back, byte by byte. In a file on a
path that all workers see it is written once, and read where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import TaskContext

PACKED = pa.schema(
    {
        "bucket": pa.int32(),
        "side": pa.int32(),
        "rows": pa.int64(),
        "packed": pa.binary(),
        "file": pa.string(),
        "start": pa.int64(),
        "size": pa.int64(),
    }
)
PACKED_SQL = "bucket int, side int, rows bigint, packed binary, file string, start bigint, size bigint"


class TableAddress(NamedTuple):
    """Where a table is: its bytes themselves, or where in a file they are."""

    packed: bytes | pa.Buffer | None
    file: str | None = None
    start: int | None = None
    size: int | None = None


class PackedTable(NamedTuple):
    """A table of rows of one side that one bucket sees."""

    bucket: int
    side: int
    rows: int
    place: TableAddress


class TableAddresses:
    """Puts tables into a new file of this task in a folder, one behind the other; without a folder, into bytes."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: pa.NativeFile | None = None
        self._path = ""

    def __enter__(self) -> TableAddresses:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def put(self, table: pa.Table) -> TableAddress:
        """Write a table down."""
        if self._folder is None:
            sink = pa.BufferOutputStream()
            _write(sink, table)
            return TableAddress(sink.getvalue().to_pybytes())
        if self._file is None:
            context: Any = TaskContext.get()
            self._path = str(self._folder / f"rows-{context.taskAttemptId()}")
            self._file = pa.OSFile(self._path, "wb")
        start = self._file.tell()
        _write(self._file, table)
        return TableAddress(None, self._path, start, self._file.tell() - start)


def _write(sink: pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def batch_of(tables: Sequence[PackedTable]) -> pa.RecordBatch:
    """Return the rows that Spark moves."""
    rows = [(each.bucket, each.side, each.rows, *each.place) for each in tables]
    columns = zip(*rows, strict=True) if rows else [()] * len(PACKED)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PACKED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKED)


def tables_of(batches: Iterable[pa.RecordBatch]) -> Iterator[PackedTable]:
    """Yield the tables of these rows, unread."""
    for batch in batches:
        numbers = (batch[name].to_pylist() for name in ("bucket", "side", "rows", "file", "start", "size"))
        for bucket, side, rows, *in_file, packed in zip(*numbers, batch["packed"], strict=True):
            yield PackedTable(bucket, side, rows, TableAddress(packed.as_buffer(), *in_file))


class PlacesRead:
    """Reads tables from where they were put; no byte is copied."""

    def __init__(self) -> None:
        self._maps: dict[str, pa.MemoryMappedFile] = {}

    def read(self, place: TableAddress) -> pa.Table:
        """Return the table."""
        return pa.ipc.open_stream(self._bytes(place)).read_all()

    def _bytes(self, place: TableAddress) -> bytes | pa.Buffer | None:
        if place.file is None:
            return place.packed
        if place.file not in self._maps:
            self._maps[place.file] = pa.memory_map(place.file)
        mapped = self._maps[place.file]
        mapped.seek(place.start)
        return mapped.read_buffer(place.size)
