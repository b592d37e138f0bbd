"""timing_join and window_join of Spark DataFrames: the library's answer, whatever the partitioning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it
from pyspark.sql.types import DoubleType, IntegralType, StringType, StructField, StructType

from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleQuery
from coincide.chunks.time_cells import TimeCells
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.spark.arrow_batches import batches_by_rows
from coincide.spark.arrow_columns import Columns, TemplateLabels, Templates
from coincide.spark.join_task import PROBABILITY, JoinTask
from coincide.spark.packed_tables import PACKED_SQL
from coincide.spark.packing import TEMPLATE, TIME, Packer, Unpacker
from coincide.spark.part_files import NewFolder, PartFile, Written
from coincide.spark.placing import refuse_lack, time_us

ARCHIVE = Columns()
CHUNK_ROWS = 1_000_000
TASKS_A_CORE = 4
FEWEST_BUCKETS = 256  # so that a task joins some of its rows at a time


def timing_join(  # noqa: PLR0913 - the question, the columns, and how it is divided
    a: DataFrame,
    b: DataFrame | None,
    window: Window,
    threshold: float,
    templates: Templates,
    *,
    sensors: SensorRule = "different",
    columns: Columns = ARCHIVE,
    chunk_rows: int = CHUNK_ROWS,
    tasks: int | None = None,
) -> Joined:
    """Find the pairs that `coincide.timing_join` finds in the rows of two DataFrames.

    Nothing runs before the answer is used; then each DataFrame is read once. Rows are cut into chunks of one area and
    a stretch of time, which hashes spread: one area with most of the rows is the work of all executors.

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
    chunk_rows : int
        How many rows a task joins at a time. Where a stretch of time of 32 reaches has more, it is joined in slices of
        so many rows, each with what lies within the query's reach on both sides. No slice is shorter than the reach.
    tasks : int, optional
        Among how many tasks the rows are divided; four for each core by default. A task holds, at some 300 bytes a row,
        what it joins at a time; and the packed rows of one bucket, of which there are 256 or more, at some 30 bytes.

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
    return _joined(query, frames, templates, columns, chunk_rows, tasks)


def window_join(  # noqa: PLR0913 - the question, the columns, and how it is divided
    frames: Mapping[str, DataFrame],
    graph: ConstraintGraph,
    templates: Templates,
    *,
    key: str | None = None,
    threshold: float | None = None,
    sensors: SensorRule = "different",
    at_least: int | AtLeast | None = None,
    columns: Columns = ARCHIVE,
    chunk_rows: int = CHUNK_ROWS,
    tasks: int | None = None,
) -> Joined:
    """Find the tuples that `coincide.window_join` finds in the rows of some DataFrames.

    Parameters are those of `timing_join` and `coincide.window_join`. `frames` has one for each role of the graph; one
    DataFrame in two roles is a self-join. `key` is a column of all of them: only rows with equal values meet.

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
    return _joined(query, list(distinct.values()), templates, columns, chunk_rows, tasks, key)


def _joined(
    query: ChunkedQuery,
    frames: Sequence[DataFrame],
    templates: Templates,
    columns: Columns,
    chunk_rows: int,
    tasks: int | None,
    key: str | None = None,
) -> Joined:
    labels = TemplateLabels.of(templates, columns.template)
    columns = replace(columns, template=labels.column)
    cells = TimeCells.of(query.reach_us([labels.histograms] * len(frames)))
    names = JoinTask(query, labels, columns, key).read
    for frame in frames:
        refuse_lack(frame, [columns.detected_at_us, *names])
    times = [time_us(frame, columns.detected_at_us) for frame in frames]
    if all(_is_checked_by_spark(frame, labels) for frame in frames):
        times = [_of_the_template(labels, time) for time in times]
        names = [name for name in names if name != labels.column or name in columns.kept]
        labels = TemplateLabels((), labels.histograms)
    tasks = tasks or TASKS_A_CORE * frames[0].sparkSession.sparkContext.defaultParallelism
    buckets = tasks * -(-FEWEST_BUCKETS // tasks)
    sights = [query.sight(side) for side in range(len(frames))]
    packers = [
        Packer(side, sight, cells, buckets, columns.area, labels, columns.kept, time=columns.detected_at_us)
        for side, sight in enumerate(sights)
    ]
    rows = [frame.select(time.alias(TIME), *names) for frame, time in zip(frames, times, strict=True)]
    task = JoinTask(query, labels.packed(TEMPLATE), replace(columns, detected_at_us=TIME, template=labels.column))
    return Joined(
        rows,
        packers,
        tasks,
        Buckets(task, Unpacker(cells, sights, columns.area, key, chunk_rows)),
        _schema(task, frames),
    )


def _is_checked_by_spark(frame: DataFrame, labels: TemplateLabels) -> bool:
    """Whether there is one template, whose label is of its column's type: no row has to bring it to a task then."""
    if labels.column is None or len(labels.labels) != 1:
        return False
    kind = frame.schema[labels.column].dataType
    return isinstance(kind, StringType) if isinstance(labels.labels[0], str) else isinstance(kind, IntegralType)


def _of_the_template(labels: TemplateLabels, time: Column) -> Column:
    """Return the time of a row that has the only template; any other label is refused with the words of a task."""
    [label], template = labels.labels, F.col(str(labels.column))
    quote = "'" if isinstance(label, str) else ""
    given = F.coalesce(F.concat(F.lit(quote), template.cast("string"), F.lit(quote)), F.lit("None"))
    message = F.concat(F.lit(f"{labels.column} is "), given, F.lit(f": {labels.allowed}"))
    return F.when(template == F.lit(label), time).otherwise(F.raise_error(message))


@dataclass(frozen=True)
class Buckets:
    """What a task makes of the packed rows of its partition."""

    task: JoinTask
    unpack: Unpacker

    def answer(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield tuples."""
        for rows in self.unpack(batches):
            kept = self.task.kept(rows.tables)
            for block in self.task.members(*rows):
                arrays = [_plain(array) for array in self.task.arrays(block, kept)]
                yield pa.RecordBatch.from_arrays(arrays, names=self.task.names)

    def write(self, folder: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a file of tuples; yield how many there are."""
        context: Any = TaskContext.get()
        some = (batch for batch in batches if batch.num_rows)
        if first := next(some, None):
            path = PartFile(folder, context.partitionId(), context.taskAttemptId())
            yield path.write(self.task, self.unpack(chain([first], some)))


@dataclass(frozen=True, eq=False)
class Joined:
    """What a join of DataFrames answers: as a DataFrame, or written by the tasks that find it."""

    _rows: Sequence[DataFrame]
    _packers: Sequence[Packer]
    _tasks: int
    _buckets: Buckets
    _schema: StructType

    @property
    def frame(self) -> DataFrame:
        """The answer as a DataFrame."""
        return self._packed(None).mapInArrow(self._buckets.answer, self._schema)

    def write(self, out: str | Path) -> Written:
        """Write the answer to Parquet files in the new folder `out`, on a path that all workers see.

        Tasks write their own files, so that no answer goes through Spark. The folder appears when all of it is written.
        Until then the packed rows are in a folder beside it. This is faster than to write `frame`.
        """
        with NewFolder(out) as folder, batches_by_rows(self._rows[0].sparkSession):
            write = partial(self._buckets.write, folder.unfinished)
            return folder.written(self._packed(folder.packed()).mapInArrow(write, "rows bigint"))

    def _packed(self, folder: Path | None) -> DataFrame:
        """Bring the rows of each bucket to one task, in the order of buckets."""
        packed = [
            rows.mapInArrow(replace(pack, folder=folder), PACKED_SQL)
            for rows, pack in zip(self._rows, self._packers, strict=True)
        ]
        together = reduce(DataFrame.unionAll, packed).repartitionById(self._tasks, F.expr(f"bucket % {self._tasks}"))
        return together.sortWithinPartitions("bucket")


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _schema(task: JoinTask, frames: Sequence[DataFrame]) -> StructType:
    area = task.columns.area
    fields = [] if area is None else [StructField(area, frames[0].schema[area].dataType)]
    for role, side in zip(task.query.roles, task.query.side_of_role, strict=True):
        fields += [StructField(f"{role}_{name}", frames[side].schema[name].dataType) for name in task.columns.kept]
    return StructType([*fields, *([StructField(PROBABILITY, DoubleType())] if task.columns.probability else [])])
