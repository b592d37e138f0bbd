"""The records of a partition in a Parquet file, in the order of their offsets."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from services.common.log.records import Record

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))),
    ]
)
ROWS_AT_ONCE, BYTES_AT_ONCE = 5_000, 8 * 2**20


class SavedRecord(NamedTuple):
    """A record; its fields are the columns of the file."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]

    @classmethod
    def of(cls, record: Record) -> "SavedRecord":
        """Return a record as it is saved."""
        return cls(record.offset, record.timestamp_ms, record.key, record.value, list(record.headers))

    @property
    def size(self) -> int:
        """Its bytes, nearly."""
        return 64 + len(self.key or b"") + len(self.value or b"")


def file_of(folder: Path, topic: str, partition: int) -> Path:
    """Return the file of a partition."""
    return folder / topic / f"{partition}.parquet"


class RecordFile:
    """Collects records into row groups, so that memory is bounded."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._rows: list[SavedRecord] = []
        self._bytes = 0
        self.first: int | None = None
        self.records = 0

    def add(self, record: SavedRecord) -> None:
        """Take the next record."""
        self.first = record.offset if self.first is None else self.first
        self._rows.append(record)
        self._bytes += record.size
        self.records += 1
        if len(self._rows) >= ROWS_AT_ONCE or self._bytes >= BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        if self._rows:
            columns = dict(zip(SavedRecord._fields, map(list, zip(*self._rows, strict=True)), strict=True))
            columns["headers"] = [[{"key": k, "value": v} for k, v in each] for each in columns["headers"]]
            self._writer.write_table(pa.table(columns, schema=SCHEMA))
        self._rows, self._bytes = [], 0


def records_in(path: Path) -> Iterator[SavedRecord]:
    """Yield the records of a file, in their order."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                headers = [(each["key"], each["value"]) for each in row.pop("headers") or ()]
                yield SavedRecord(**row, headers=headers)
