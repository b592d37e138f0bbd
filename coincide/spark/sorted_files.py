"""SortedFiles: joins of sorted Parquet files by tasks that read their own range and write their own answers.

No row goes through Spark: it places tasks, and runs them again where one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession

from coincide.arrays.instants import LATEST_TIME_US, LOOKS_LIKE_SECONDS, YEAR_1980_US, too_late
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleQuery
from coincide.chunks.key_ranges import Key, KeyRange, RowGroup, key_ranges
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.spark.arrow_columns import Columns, TemplateLabels, Templates, comparable_codes, divided_by_key, numbers
from coincide.spark.join_task import JoinTask, SideRows
from coincide.spark.part_files import NewFolder, PartFile, Written

TASK_ROWS = 1_000_000


@dataclass(frozen=True)
class SortedFiles:
    """Parquet files of detections, each sorted by area, then by time.

    Files are on a path that all workers see. Those in folders of one ``area_hash=...`` may share areas; without such
    folders all may. Write them with row groups of at most about a million rows: tasks are cut by row group.

    Parameters
    ----------
    files : iterable of path
    columns : Columns
        What the columns are called; times have to be 64-bit integers, and there has to be an area.
    stream : str
        The column that says of which stream a detection is.
    """

    files: tuple[str, ...]
    columns: Columns = field(default_factory=Columns)
    stream: str = "stream"

    def __init__(self, files: Iterable[str | Path], columns: Columns | None = None, stream: str = "stream") -> None:
        object.__setattr__(self, "files", tuple(sorted(str(file) for file in files)))
        object.__setattr__(self, "columns", columns or Columns())
        object.__setattr__(self, "stream", stream)
        if self.columns.area is None:
            raise DetectionsError("columns.area", None, "the column by which the files are sorted")

    def timing_join(
        self,
        spark: SparkSession,
        streams: tuple[str, str | None],
        window: Window,
        threshold: float,
        templates: Templates,
        out: str | Path,
        *,
        sensors: SensorRule = "different",
        task_rows: int = TASK_ROWS,
    ) -> Written:
        """Write the pairs of two streams, or of one with itself (None), to Parquet files in the new folder `out`.

        The folder appears when all of it is written.
        """
        query = PairQuery(window, threshold, sensors, is_self_join=streams[1] is None)
        return self._write(spark, query, [each for each in streams if each is not None], templates, out, task_rows)

    def window_join(  # noqa: PLR0913 - the question, the files it is asked of, and where the answer goes
        self,
        spark: SparkSession,
        streams: Mapping[str, str],
        graph: ConstraintGraph,
        templates: Templates,
        out: str | Path,
        *,
        key: str | None = None,
        threshold: float | None = None,
        sensors: SensorRule = "different",
        at_least: int | AtLeast | None = None,
    ) -> Written:
        """Write the tuples of a graph, whose roles have these streams, to Parquet files in the new folder `out`.

        `key` is a column: only detections with equal values meet.
        """
        if set(streams) != set(checked_graph(graph).roles):
            raise DetectionsError("streams", sorted(streams), f"a stream for each role: {list(graph.roles)}")
        distinct = list(dict.fromkeys(streams.values()))
        sides = {role: distinct.index(stream) for role, stream in streams.items()}
        query = TupleQuery(graph, sides, threshold, sensors, at_least)
        return self._write(spark, query, distinct, templates, out, TASK_ROWS, key)

    def _write(
        self,
        spark: SparkSession,
        query: ChunkedQuery,
        streams: Sequence[str],
        templates: Templates,
        out: str | Path,
        task_rows: int,
        key: str | None = None,
    ) -> Written:
        join = self.join(query, streams, templates, task_rows, key)
        with NewFolder(out) as folder:
            wanted = spark.range(0, len(join.ranges), 1, max(1, len(join.ranges)))
            return folder.written(wanted.mapInArrow(_task(join, folder.unfinished), "rows bigint"))

    def join(
        self,
        query: ChunkedQuery,
        streams: Sequence[str],
        templates: Templates,
        task_rows: int = TASK_ROWS,
        key: str | None = None,
    ) -> FilesJoin:
        """Return the parts of a join; they may be written in any order, by anybody."""
        labels = TemplateLabels.of(templates, self.columns.template)
        task = JoinTask(query, labels, replace(self.columns, template=labels.column), key)
        reach_us = query.reach_us([labels.histograms] * len(streams))
        ranges = tuple(self.ranges(reach_us, task_rows, looks_back=query.looks_back))
        return FilesJoin(RangeReader(task.columns, tuple(task.read), self.stream, tuple(streams), key), task, ranges)

    def ranges(self, reach_us: int, task_rows: int, *, looks_back: bool) -> Iterator[KeyRange]:
        """Yield the ranges of keys, one a task, by what the files say of themselves."""
        shelves: dict[str, list[RowGroup]] = {}
        for file in self.files:
            shelf = next((part for part in Path(file).parts if part.startswith("area_hash=")), "")
            shelves.setdefault(shelf, []).extend(_row_groups(file, str(self.columns.area), self.columns.detected_at_us))
        for groups in shelves.values():
            if groups:
                yield from key_ranges(groups, reach_us, task_rows, reach_us if looks_back else 0)


def _row_groups(file: str, area: str, time: str) -> Iterator[RowGroup]:
    metadata = pq.read_metadata(file)
    names = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
    for name in (area, time):
        if name not in names:
            raise DetectionsError("columns", name, f"a column of {file}, which has {names}")
    at_area, at_time = names.index(area), names.index(time)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        areas, times = group.column(at_area).statistics, group.column(at_time).statistics
        if group.num_rows == 0:
            continue
        if not (areas and areas.has_min_max and times and times.has_min_max):
            raise DetectionsError("files", file, f"Parquet with statistics of {area} and {time}")
        if not isinstance(areas.min, str):
            raise DetectionsError(area, areas.physical_type, f"text in {file}")
        if areas.null_count or times.null_count:
            raise DetectionsError(area if areas.null_count else time, None, f"a value in every row of {file}")
        _refuse_other_units(file, time, times)
        yield RowGroup(file, number, group.num_rows, areas.min, areas.max, times.min, times.max)


def _refuse_other_units(file: str, time: str, statistics: Any) -> None:
    if not isinstance(statistics.min, int):
        raise DetectionsError(time, statistics.physical_type, f"64-bit integers in {file}")
    if statistics.min < YEAR_1980_US:
        raise DetectionsError(time, statistics.min, LOOKS_LIKE_SECONDS)
    if statistics.max > LATEST_TIME_US:
        raise DetectionsError(time, statistics.max, too_late("us"))


@dataclass(frozen=True)
class RangeReader:
    """Reads the rows of a range, stream by stream."""

    columns: Columns
    labels: tuple[str, ...]
    stream: str
    streams: tuple[str, ...]
    key: str | None = None

    def rows(self, keys: KeyRange) -> SideRows:
        """Read what a task sees; rows stay in the order of their files."""
        own, beside = self._read(keys, keys.own), self._read(keys, keys.beside)
        table = pa.concat_tables([own, beside], promote_options="default") if len(beside) else own
        owned = self._are_owned(table, keys)
        owned[len(own) :] = False
        [area] = divided_by_key(comparable_codes([table[str(self.columns.area)]]), [table], self.key)
        stream = table[self.stream]
        rows = [np.flatnonzero(_equal(stream, name)) for name in self.streams]
        tables = [table if len(at) == len(table) else table.take(pa.array(at)) for at in rows]
        return SideRows(tables, [area[at] for at in rows], [owned[at] for at in rows])

    def _read(self, keys: KeyRange, groups: Sequence[RowGroup]) -> pa.Table:
        area = str(self.columns.area)
        names = list(dict.fromkeys([area, self.stream, self.columns.detected_at_us, *self.labels]))
        repeated = [name for name in (area, self.stream, self.columns.sensor, self.columns.template) if name]
        by_file: dict[str, list[int]] = {}
        for group in groups:
            by_file.setdefault(group.file, []).append(group.number)
        tables = []
        for file, wanted in by_file.items():
            read = pq.ParquetFile(file, read_dictionary=repeated)
            tables.append(self._seen(read.read_row_groups(wanted, names, use_threads=False), keys))
        return pa.concat_tables(tables) if tables else pa.table({})

    def _seen(self, table: pa.Table, keys: KeyRange) -> pa.Table:
        first, end = keys.seen
        at_us = numbers(table[self.columns.detected_at_us], np.int64)
        seen = self._between(table, first, end)
        seen &= (at_us >= keys.first_us - keys.back_us) & (at_us <= keys.last_us + keys.reach_us)
        return table if seen.all() else table.filter(pa.array(seen))

    def _are_owned(self, table: pa.Table, keys: KeyRange) -> BoolArray:
        return self._between(table, keys.first, keys.end)

    def _between(self, table: pa.Table, first: Key, end: Key | None) -> BoolArray:
        """Whether first <= key < end, row by row."""
        at_us = numbers(table[self.columns.detected_at_us], np.int64)
        side = self._compared(table, first.area)
        inside = (side > 0) | ((side == 0) & (at_us >= first.time_us))
        if end is not None:
            side = self._compared(table, end.area)
            inside &= (side < 0) | ((side == 0) & (at_us < end.time_us))
        return np.asarray(inside)

    def _compared(self, table: pa.Table, area: str) -> Int64Array:
        """Return -1, 0 or 1 for rows whose area goes before, is, or goes after this one."""
        column = table[str(self.columns.area)]
        chunks = [_compared(chunk, area) for chunk in column.chunks]
        return np.concatenate(chunks) if chunks else np.empty(0, np.int64)


def _equal(column: pa.ChunkedArray, word: str) -> BoolArray:
    """Whether each value of a dictionary's column is this one."""
    chunks = [_compared(chunk, word) == 0 for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.empty(0, np.bool_)


def _compared(column: pa.Array, area: str) -> Int64Array:
    if pa.types.is_dictionary(column.type):
        return _compared(column.dictionary, area).take(numbers(column.indices, np.int64))
    wanted = pa.scalar(area, column.type)
    after, before = (numbers(compare(column, wanted), np.int64) for compare in (pc.greater, pc.less))
    return np.asarray(after - before)


@dataclass(frozen=True)
class FilesJoin:
    """A join of files in parts, one for each range of keys."""

    reader: RangeReader
    task: JoinTask
    ranges: tuple[KeyRange, ...]

    def write(self, part: int, folder: Path, attempt: int = 0) -> pa.RecordBatch:
        """Write one part into a folder; return how many tuples it has, in the column ``rows``.

        The file appears when all of it is written. A part that is written again is the same file.
        """
        rows = self.reader.rows(self.ranges[part])
        return PartFile(folder, part, attempt).write(self.task, [rows])


def _task(join: FilesJoin, folder: Path) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what the task does whose part is in its only row."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context: Any = TaskContext.get()
        for part in (each for batch in batches for each in batch.column(0).to_pylist()):
            yield join.write(part, folder, context.taskAttemptId())

    return run
