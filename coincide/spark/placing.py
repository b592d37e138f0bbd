"""Placing: count the rows of a DataFrame, cut them into chunks, and bring the rows of a chunk to one task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it
from pyspark.sql.types import LongType, TimestampNTZType, TimestampType

from coincide.arrays.instants import LATEST_TIME_US, LOOKS_LIKE_SECONDS, YEAR_1980_US, too_late
from coincide.arrays.kinds import Int64Array
from coincide.chunks.cutting import CELL_BITS, AreaCounts, CellCounts, Chunks, cut
from coincide.errors import DetectionsError
from coincide.spark.arrow_columns import numbers

MOST_CHUNK_ROWS = 1_000_000  # some 100 MB in a task, with what the kernel makes of them
FEWEST_CHUNK_ROWS = 50_000
TASKS_A_CORE = 2

TIME, AREA, KEY, CHUNK, TASK = "_time_us", "_area", "_key", "_chunk", "_task"


def placed(
    frame: DataFrame, time: str, area: str | None, kept: Sequence[str], chunk_rows: int | None
) -> DataFrame | None:
    """Bring the rows of each chunk to one partition, with the columns `CHUNK`, `TIME` and those kept; None: no rows.

    The frame is read twice, and a third time if there are large areas: to count them, and to bring them.
    """
    frame = frame.withColumns({TIME: time_us(frame, time), AREA: F.lit(0) if area is None else F.col(area)})
    counted = _count_areas(frame, time, area)
    areas = counted.column(AREA)
    counts = AreaCounts(*(numbers(counted.column(name), np.int64) for name in ("rows", "first_us", "last_us")))
    if len(areas) == 0:
        return None

    def count_cells(codes: Int64Array, level: Int64Array) -> CellCounts:
        large = _cells_of(frame, areas.take(pa.array(codes)), codes, counts.first_us[codes], level)
        cells = _keyed(frame.select(AREA, TIME), large).groupBy(KEY).agg(F.count("*").alias("rows")).toArrow()
        key = numbers(cells.column(KEY), np.int64)
        return CellCounts(key >> CELL_BITS, key & ((1 << CELL_BITS) - 1), numbers(cells.column("rows"), np.int64))

    chunks = cut(counts, count_cells, chunk_rows or _chunk_rows(frame, int(counts.rows.sum())))
    cells = _cells_of(frame, areas, np.arange(len(areas)), chunks.cells.first_us, chunks.cells.level)
    rows = _keyed(frame, cells).join(F.broadcast(_chunk_of_key(frame, chunks)), KEY)
    return rows.select(CHUNK, TASK, TIME, *kept).repartitionById(chunks.tasks, TASK).drop(TASK)


def time_us(frame: DataFrame, name: str, *, may_be_open: bool = False) -> Column:
    """Return a column of times in microseconds since the epoch; DetectionsError if it is of another type.

    A task refuses a number that looks like one of another unit. An end that `may_be_open` has no latest time.
    """
    kind = frame.schema[name].dataType
    if isinstance(kind, TimestampType):
        return F.unix_micros(name)
    if isinstance(kind, TimestampNTZType) or not isinstance(kind, LongType):
        raise DetectionsError(name, kind.simpleString(), "a bigint of microseconds since the epoch, or a timestamp")
    time = F.col(name)
    checked = F.when(time < YEAR_1980_US, _refused(name, LOOKS_LIKE_SECONDS))
    if not may_be_open:
        checked = checked.when(time > LATEST_TIME_US, _refused(name, too_late("us")))
    return checked.otherwise(time)


def _refused(name: str, allowed: str) -> Column:
    """Return a column that raises in the words of a `DetectionsError`."""
    return F.raise_error(F.concat(F.lit(f"{name} is "), F.col(name).cast("string"), F.lit(f": {allowed}")))


def refuse_lack(frame: DataFrame, names: Sequence[str]) -> None:
    """Raise DetectionsError for the first of these columns that the frame lacks."""
    for name in names:
        if name not in frame.columns:
            raise DetectionsError("columns", name, f"a column of the DataFrame, which has {frame.columns}")


def _count_areas(frame: DataFrame, time: str, area: str | None) -> pa.Table:
    counts = frame.groupBy(AREA).agg(
        F.count("*").alias("rows"),
        F.min(TIME).alias("first_us"),
        F.max(TIME).alias("last_us"),
        (F.count("*") - F.count(TIME)).alias("without"),
    )
    counted = counts.toArrow()
    if counted.column(AREA).null_count:
        raise DetectionsError(str(area), None, "a value in every row")
    if numbers(counted.column("without"), np.int64).any():
        raise DetectionsError(time, None, "a value in every row")
    return counted


def _chunk_rows(frame: DataFrame, rows: int) -> int:
    """Return the size at which there are some tasks for each core, within bounds."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    return int(np.clip(rows // (TASKS_A_CORE * cores) + 1, FEWEST_CHUNK_ROWS, MOST_CHUNK_ROWS))


def _cells_of(
    frame: DataFrame, areas: pa.ChunkedArray, codes: Int64Array, first_us: Int64Array, level: Int64Array
) -> DataFrame:
    table = pa.table({AREA: areas, "_code": codes, "_first_us": first_us, "_level": level.astype(np.int32)})
    return F.broadcast(frame.sparkSession.createDataFrame(table))


def _keyed(frame: DataFrame, cells: DataFrame) -> DataFrame:
    """Give each row the key of its cell; rows of other areas go."""
    cell = F.expr(f"shiftright({TIME} - _first_us, _level)")
    key = F.shiftleft("_code", CELL_BITS) + cell
    return frame.join(cells, AREA).withColumn(KEY, key).drop("_code", "_first_us", "_level")


def _chunk_of_key(frame: DataFrame, chunks: Chunks) -> DataFrame:
    key, task = (chunks.area << CELL_BITS) + chunks.cell, chunks.task[chunks.chunk]
    table = pa.table({KEY: key, CHUNK: chunks.chunk.astype(np.int32), TASK: task.astype(np.int32)})
    return frame.sparkSession.createDataFrame(table)
