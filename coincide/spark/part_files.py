"""Tuples of rows as Parquet files in a new folder, written without making the text of each member anew."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.chunks.chunk_joins import TupleRows
from coincide.errors import DetectionsError
from coincide.spark.arrow_columns import taken
from coincide.spark.join_task import JoinTask, SideRows

GROUP_ROWS = 1 << 20
BATCH_ROWS = 1 << 16
WIDEST = 2  # a dictionary may have so many times as many rows as there are tuples
PACKED = "_packed"
DICTIONARY_BYTES = 64 << 20  # of one column in a row group; beyond it Parquet writes each value


class Written(NamedTuple):
    """What was written: tuples, and files."""

    rows: int
    files: int


class NewFolder:
    """A folder that appears when everything in it is written; until then it has another name beside it."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        if self._path.exists():
            raise DetectionsError("out", str(self._path), "a folder that does not exist yet")
        self.unfinished = self._path.with_name(f"{self._path.name}.unfinished-{secrets.token_hex(4)}")

    def __enter__(self) -> NewFolder:
        self.unfinished.mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self.unfinished.rename(self._path)
        else:
            shutil.rmtree(self.unfinished, ignore_errors=True)

    def packed(self) -> Path:
        """Return a folder for what only tasks read; it is gone when all is written."""
        path = self.unfinished / PACKED
        path.mkdir()
        return path

    def written(self, parts: DataFrame) -> Written:
        """Let the tasks write, sum what they say, and remove what nobody else is to see."""
        rows = parts.toArrow()["rows"].to_pylist()
        shutil.rmtree(self.unfinished / PACKED, ignore_errors=True)
        for of_ended_attempt in self.unfinished.glob(".part-*"):
            of_ended_attempt.unlink()
        return Written(sum(rows), len(rows))


class PartFile(NamedTuple):
    """The file of one task in a folder; whatever attempt writes it, it has the same name and content."""

    folder: Path
    part: int
    attempt: int

    def write(self, task: JoinTask, rows: Iterable[SideRows]) -> pa.RecordBatch:
        """Write the tuples of some rows, and of some more, in row groups of about a million; return how many."""
        unfinished = self.folder / f".part-{self.part:05}-{self.attempt}"
        try:
            written = _write(unfinished, task, rows)
            unfinished.replace(self.folder / f"part-{self.part:05}.parquet")
        finally:
            unfinished.unlink(missing_ok=True)
        return pa.record_batch({"rows": pa.array([written], pa.int64())})


def _write(path: Path, task: JoinTask, rows: Iterable[SideRows]) -> int:
    written, writer = 0, None
    try:
        for table in _tables(task, rows):
            writer = writer or pq.ParquetWriter(path, table.schema, **_how(table.schema))
            if len(table):
                writer.write_table(table, row_group_size=GROUP_ROWS * 2)
            written += len(table)
    finally:
        if writer is not None:
            writer.close()
    return written


def _how(schema: pa.Schema) -> dict[str, Any]:
    return {
        "use_dictionary": [field.name for field in schema if pa.types.is_dictionary(field.type)],
        "write_statistics": False,  # of each page too; they cost a quarter of the writing
        "write_batch_size": BATCH_ROWS,
        "store_schema": False,
        "dictionary_pagesize_limit": DICTIONARY_BYTES,
        "compression": "zstd",
        "compression_level": 1,
    }


def _tables(task: JoinTask, rows: Iterable[SideRows]) -> Iterator[pa.Table]:
    """Yield row groups; the first one has no rows, so that an answer without any has its columns, too."""
    nobody = TupleRows([np.empty(0, np.intp) for _ in task.query.roles], partial(np.empty, 0))
    for nth, sides in enumerate(rows):
        kept = task.kept(sides.tables)
        blocks = chain([nobody] if nth == 0 else [], _grouped(task.members(*sides)))
        for group in blocks:
            yield pa.table(dict(zip(task.names, task.arrays(group, kept, taken_as_dictionary), strict=True)))


def taken_as_dictionary(column: pa.Array, rows: PositionArray) -> pa.Array:
    """Return the values at these rows; texts as positions in those of a stretch of rows.

    Neighbouring tuples have neighbouring rows. Parquet would write their texts as positions in a dictionary, too, but
    would have to look each of them up. Numbers are written as they are: what neighbours repeat is compressed, which
    takes half the time of a dictionary.
    """
    if pa.types.is_primitive(column.type):
        return taken(column, rows)
    present = rows[rows >= 0] if len(rows) and rows.min() < 0 else rows
    first, last = (int(present.min()), int(present.max())) if len(present) else (0, -1)
    if pa.types.is_dictionary(column.type):
        return taken(column, rows)
    if last - first >= WIDEST * len(rows):
        return taken(column, rows).dictionary_encode()
    indices = pa.array((rows - first).astype(np.int32), mask=None if present is rows else rows < 0)
    return pa.DictionaryArray.from_arrays(indices, column.slice(first, last - first + 1))


def _grouped(blocks: Iterable[TupleRows]) -> Iterator[TupleRows]:
    """Put blocks together until they are a row group."""
    waiting: list[TupleRows] = []
    for block in blocks:
        waiting.append(block)
        if sum(len(each.rows[0]) for each in waiting) >= GROUP_ROWS:
            yield _together(waiting)
            waiting = []
    if waiting:
        yield _together(waiting)


def _together(blocks: Sequence[TupleRows]) -> TupleRows:
    rows = [np.concatenate(columns) for columns in zip(*(block.rows for block in blocks), strict=True)]
    return TupleRows(rows, partial(_probabilities, blocks))


def _probabilities(blocks: Sequence[TupleRows]) -> FloatArray:
    return np.concatenate([block.probability() for block in blocks])
