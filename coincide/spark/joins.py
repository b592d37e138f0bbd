"""timing_join and window_join of Spark DataFrames: the library's answer, whatever the partitioning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, StructField, StructType

from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleQuery
from coincide.chunks.cutting import Chunks
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.spark.answer_files import NewFolder, PartFile, Written
from coincide.spark.columns import Columns, TemplateLabels, Templates, numbers
from coincide.spark.join_task import PROBABILITY, JoinTask, SideRows
from coincide.spark.placing import CHUNK, SIDE, TIME, Placed, placed, refuse_lack

ARCHIVE = Columns()


def timing_join(
    a: DataFrame,
    b: DataFrame | None,
    window: Window,
    threshold: float,
    templates: Templates,
    *,
    sensors: SensorRule = "different",
    columns: Columns = ARCHIVE,
    chunk_rows: int | None = None,
) -> Joined:
    """Find the pairs that `coincide.timing_join` finds in the rows of two DataFrames.

    Counting begins at once; the pairs are computed when the answer is used. Rows are cut into chunks of one area and
    a stretch of time, so one area with most of the rows is the work of all executors.

    Parameters
    ----------
    a, b : DataFrame
        Detections, in any order and partitioning. `b` None joins `a` with itself: rows that were reported at the same
        time are then in the order of sensor and id.
    window, threshold, sensors
        As in `coincide.timing_join`.
    templates : Histogram or mapping of str or int to Histogram
        One for all rows, or those that the template column names.
    columns : Columns
        What the columns are called, of both, and which of them an answer has.
    chunk_rows : int, optional
        How many rows a task takes, about; by default so many that each core has some tasks, at most 1 million. A task
        holds the rows of one chunk and those in reach of it.

    Returns
    -------
    Joined
        Its columns are the area, ``a_id`` and ``b_id`` and so on for each kept column, and ``probability``.

    Raises
    ------
    CoincideError
        A window, threshold or rule that does not exist, or columns that cannot be used. What is wrong with a row is
        found by a task: Spark's error then ends with this one's text.
    """
    query = PairQuery(window, threshold, sensors, is_self_join=b is None)
    frames = [a] if b is None else [a, b]
    return _joined(query, frames, templates, columns, chunk_rows)


def window_join(
    frames: Mapping[str, DataFrame],
    graph: ConstraintGraph,
    templates: Templates,
    *,
    threshold: float | None = None,
    sensors: SensorRule = "different",
    at_least: int | AtLeast | None = None,
    columns: Columns = ARCHIVE,
    chunk_rows: int | None = None,
) -> Joined:
    """Find the tuples that `coincide.window_join` finds in the rows of some DataFrames.

    Parameters are those of `timing_join` and `coincide.window_join`. `frames` has one for each role of the graph; one
    DataFrame in two roles is a self-join.

    Returns
    -------
    Joined
        Its columns are the area, the kept columns of each role under ``ROLE_COLUMN``, null where a role is absent, and
        the joint ``probability``.
    """
    roles = checked_graph(graph).roles
    if set(frames) != set(roles):
        raise DetectionsError("frames", sorted(frames), f"one DataFrame for each role of the graph: {list(roles)}")
    distinct = {id(frames[role]): frames[role] for role in roles}
    sides = {role: list(distinct).index(id(frames[role])) for role in roles}
    query = TupleQuery(graph, sides, threshold, sensors, at_least)
    return _joined(query, list(distinct.values()), templates, columns, chunk_rows)


def _joined(
    query: ChunkedQuery,
    frames: Sequence[DataFrame],
    templates: Templates,
    columns: Columns,
    chunk_rows: int | None,
) -> Joined:
    labels = TemplateLabels.of(templates, columns.template)
    columns = replace(columns, template=labels.column)
    area = [] if columns.area is None else [columns.area]
    kept = list(dict.fromkeys([*area, *columns.labels, *columns.kept]))
    for frame in frames:
        refuse_lack(frame, [columns.detected_at_us, *kept])
    task = JoinTask(query, labels, replace(columns, detected_at_us=TIME))
    reach_us = query.reach_us([labels.histograms] * len(frames))
    rows = placed(frames, columns, kept, reach_us, chunk_rows, looks_back=query.looks_back)
    return Joined(frames[0].sparkSession, task, rows, _schema(task, frames))


@dataclass(frozen=True, eq=False)
class Joined:
    """What a join of DataFrames answers: as a DataFrame, or written by the tasks that find it."""

    _spark: SparkSession
    _task: JoinTask
    _rows: Placed | None
    _schema: StructType

    @property
    def frame(self) -> DataFrame:
        """The answer as a DataFrame."""
        if self._rows is None:
            return self._spark.createDataFrame([], self._schema)
        return self._rows.rows.mapInArrow(_answering(self._task, self._rows.chunks), self._schema)

    def write(self, out: str | Path) -> Written:
        """Write the answer to Parquet files in the new folder `out`, on a path that all workers see.

        Tasks write their own files, so that no answer goes through Spark. The folder appears when all of it is written.
        """
        with NewFolder(out) as folder:
            if self._rows is None:
                return Written(0, 0)
            write = _writing(self._task, self._rows.chunks, folder.unfinished)
            return folder.written(self._rows.rows.mapInArrow(write, "rows bigint"))


def _schema(task: JoinTask, frames: Sequence[DataFrame]) -> StructType:
    area = task.columns.area
    fields = [] if area is None else [StructField(area, frames[0].schema[area].dataType)]
    for role, side in zip(task.query.roles, task.query.side_of_role, strict=True):
        fields += [StructField(f"{role}_{name}", frames[side].schema[name].dataType) for name in task.columns.kept]
    return StructType([*fields, *([StructField(PROBABILITY, DoubleType())] if task.columns.probability else [])])


Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _answering(task: JoinTask, chunks: Chunks) -> Task:
    """Return what a task does with the rows of its partition to answer with batches of tuples."""
    sides_of = _sides_of(task, chunks)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in sides_of(batches):
            kept = task.kept(rows.tables)
            for members in task.members(*rows):
                yield pa.RecordBatch.from_arrays(task.arrays(members, kept), names=task.names)

    return run


def _writing(task: JoinTask, chunks: Chunks, folder: Path) -> Task:
    """Return what a task does with the rows of its partition to write a file of tuples."""
    sides_of = _sides_of(task, chunks)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context: Any = TaskContext.get()
        for rows in sides_of(batches):
            path = PartFile(folder, context.partitionId(), context.taskAttemptId())
            yield path.write(task, rows.tables, task.members(*rows))

    return run


def _sides_of(task: JoinTask, chunks: Chunks) -> Callable[[Iterable[pa.RecordBatch]], Iterator[SideRows]]:
    """Return what puts the rows of a partition together, if it has any; workers need no more of the chunks."""
    sides, first_us, end_us = max(task.query.side_of_role) + 1, chunks.first_us, chunks.end_us

    def sides_of(batches: Iterable[pa.RecordBatch]) -> Iterator[SideRows]:
        taken = [batch for batch in batches if batch.num_rows]
        if not taken:
            return
        together = pa.Table.from_batches(taken)
        tables = [together.filter(pc.equal(together[SIDE], side)) for side in range(sides)]
        chunk = [numbers(table[CHUNK], np.int64) for table in tables]
        times = [numbers(table[TIME], np.int64) for table in tables]
        owned = [(at >= first_us[by]) & (at < end_us[by]) for at, by in zip(times, chunk, strict=True)]
        yield SideRows(tables, chunk, owned)

    return sides_of
