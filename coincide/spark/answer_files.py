"""Tuples of rows as Parquet files in a new folder, written without making the text of each member anew."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from coincide.arrays.kinds import FloatArray, PositionArray
from coincide.chunks.chunk_joins import Members
from coincide.errors import DetectionsError
from coincide.spark.columns import taken
from coincide.spark.join_task import PROBABILITY, JoinTask

GROUP_ROWS = 1 << 20
WIDEST = 2  # a dictionary may have so many times as many rows as there are tuples
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

    def written(self, parts: DataFrame) -> Written:
        """Let the tasks write, and sum what they say."""
        rows = parts.toArrow()["rows"].to_pylist()
        return Written(sum(rows), len(rows))


class PartFile(NamedTuple):
    """The file of one task in a folder; whatever attempt writes it, it has the same name and content."""

    folder: Path
    part: int
    attempt: int

    def write(self, task: JoinTask, sides: Sequence[pa.Table], blocks: Iterable[Members]) -> pa.RecordBatch:
        """Write tuples in row groups of about a million; return how many, in the column ``rows``."""
        unfinished = self.folder / f".part-{self.part:05}-{self.attempt}"
        written = _write(unfinished, task, task.kept(sides), blocks)
        unfinished.replace(self.folder / f"part-{self.part:05}.parquet")
        return pa.record_batch({"rows": pa.array([written], pa.int64())})


def _write(path: Path, task: JoinTask, kept: Sequence[dict[str, pa.Array]], blocks: Iterable[Members]) -> int:
    nobody = Members([np.empty(0, np.intp) for _ in task.query.roles], partial(np.empty, 0))
    kinds = [array.type for array in task.arrays(nobody, kept, taken_as_dictionary)]
    schema = pa.schema(list(zip(task.names, kinds, strict=True)))
    words = [name for name in task.names if name != PROBABILITY]
    how = {"use_dictionary": words, "store_schema": False, "dictionary_pagesize_limit": DICTIONARY_BYTES}
    written = 0
    with pq.ParquetWriter(path, schema, **how) as writer:
        for group in _grouped(blocks):
            arrays = task.arrays(group, kept, taken_as_dictionary)
            writer.write_table(pa.table(dict(zip(task.names, arrays, strict=True))), row_group_size=GROUP_ROWS * 2)
            written += len(group.rows[0])
    return written


def taken_as_dictionary(column: pa.Array, rows: PositionArray) -> pa.Array:
    """Return the values at these rows as positions in those of a stretch of rows.

    Neighbouring tuples have neighbouring rows. Parquet would write their values as positions in a dictionary, too, but
    would have to look each of them up.
    """
    present = rows[rows >= 0] if len(rows) and rows.min() < 0 else rows
    first, last = (int(present.min()), int(present.max())) if len(present) else (0, -1)
    if pa.types.is_dictionary(column.type):
        return taken(column, rows)
    if last - first >= WIDEST * len(rows):
        return taken(column, rows).dictionary_encode()
    indices = pa.array((rows - first).astype(np.int32), mask=None if present is rows else rows < 0)
    return pa.DictionaryArray.from_arrays(indices, column.slice(first, last - first + 1))


def _grouped(blocks: Iterable[Members]) -> Iterator[Members]:
    """Put blocks together until they are a row group."""
    waiting: list[Members] = []
    for block in blocks:
        waiting.append(block)
        if sum(len(each.rows[0]) for each in waiting) >= GROUP_ROWS:
            yield _together(waiting)
            waiting = []
    if waiting:
        yield _together(waiting)


def _together(blocks: Sequence[Members]) -> Members:
    rows = [np.concatenate(columns) for columns in zip(*(block.rows for block in blocks), strict=True)]
    return Members(rows, partial(_probabilities, blocks))


def _probabilities(blocks: Sequence[Members]) -> FloatArray:
    return np.concatenate([block.probability() for block in blocks])
