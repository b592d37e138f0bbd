"""Placing: count the rows of DataFrames, cut them into chunks, and bring the rows of a chunk to one task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it
from pyspark.sql.types import LongType, TimestampNTZType, TimestampType

from coincide.arrays.kinds import Int64Array
from coincide.chunks.cutting import CELL_BITS, AreaCounts, CellCounts, Chunks, cut
from coincide.errors import DetectionsError
from coincide.spark.columns import Columns, numbers

MOST_CHUNK_ROWS = 1_000_000  # some 100 MB in a task, with the rows beyond the chunk and what the kernel makes of them
FEWEST_CHUNK_ROWS = 50_000
TASKS_A_CORE = 2

TIME, AREA, KEY, CHUNK, TASK, SIDE = "_time_us", "_area", "_key", "_chunk", "_task", "_side"


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows of all sides, each in the partition of its task, with the columns `SIDE`, `CHUNK`, `TIME` and their own."""

    rows: DataFrame
    chunks: Chunks


def placed(
    frames: Sequence[DataFrame],
    columns: Columns,
    kept: Sequence[str],
    reach_us: int,
    chunk_rows: int | None,
    *,
    looks_back: bool,
) -> Placed | None:
    """Bring the rows of each chunk together; None if there are no rows.

    The frames are read twice, and a third time if there are large areas: to count them, and to bring them.
    """
    times = [_with_times(frame, columns) for frame in frames]
    counted = _count_areas([frame.select(AREA, TIME) for frame in times], columns)
    areas = counted.column(AREA)
    counts = AreaCounts(*(numbers(counted.column(name), np.int64) for name in ("rows", "first_us", "last_us")))
    if len(areas) == 0:
        return None
    rows = chunk_rows or _chunk_rows(frames[0], int(counts.rows.sum()))

    def count_cells(codes: Int64Array, level: Int64Array) -> CellCounts:
        large = _cells_of(frames[0], areas.take(pa.array(codes)), codes, counts.first_us[codes], level)
        cells = _counted_keys([_keyed(frame.select(AREA, TIME), large) for frame in times])
        key = numbers(cells.column(KEY), np.int64)
        return CellCounts(key >> CELL_BITS, key & ((1 << CELL_BITS) - 1), numbers(cells.column("rows"), np.int64))

    chunks = cut(counts, count_cells, reach_us, rows, looks_back=looks_back)
    codes = np.arange(len(areas))
    cells = _cells_of(frames[0], areas, codes, chunks.cells.first_us, chunks.cells.level)
    seen = F.broadcast(_seen(frames[0], chunks))
    sides = [
        _keyed(frame, cells).join(seen, KEY).select(F.lit(side).alias(SIDE), CHUNK, TASK, TIME, *kept)
        for side, frame in enumerate(times)
    ]
    together = reduce(DataFrame.unionAll, sides)
    return Placed(together.repartitionById(chunks.tasks, TASK).drop(TASK), chunks)


def _with_times(frame: DataFrame, columns: Columns) -> DataFrame:
    area = F.lit(0) if columns.area is None else F.col(columns.area)
    return frame.withColumns({TIME: time_us(frame, columns.detected_at_us), AREA: area})


def time_us(frame: DataFrame, name: str) -> Column:
    """Return a column of times in microseconds since the epoch; DetectionsError if it is of another type."""
    kind = frame.schema[name].dataType
    if isinstance(kind, TimestampType):
        return F.unix_micros(name)
    if isinstance(kind, TimestampNTZType) or not isinstance(kind, LongType):
        raise DetectionsError(name, kind.simpleString(), "a bigint of microseconds since the epoch, or a timestamp")
    return F.col(name)


def refuse_lack(frame: DataFrame, names: Sequence[str]) -> None:
    """Raise DetectionsError for the first of these columns that the frame lacks."""
    for name in names:
        if name not in frame.columns:
            raise DetectionsError("columns", name, f"a column of the DataFrame, which has {frame.columns}")


def _count_areas(frames: Sequence[DataFrame], columns: Columns) -> pa.Table:
    together = reduce(DataFrame.unionAll, frames)
    counts = together.groupBy(AREA).agg(
        F.count("*").alias("rows"),
        F.min(TIME).alias("first_us"),
        F.max(TIME).alias("last_us"),
        (F.count("*") - F.count(TIME)).alias("without"),
    )
    counted = counts.toArrow()
    if counted.column(AREA).null_count:
        raise DetectionsError(str(columns.area), None, "a value in every row")
    if numbers(counted.column("without"), np.int64).any():
        raise DetectionsError(columns.detected_at_us, None, "a value in every row")
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


def _counted_keys(frames: Sequence[DataFrame]) -> pa.Table:
    together = reduce(DataFrame.unionAll, [frame.select(KEY) for frame in frames])
    return together.groupBy(KEY).agg(F.count("*").alias("rows")).toArrow()


def _seen(frame: DataFrame, chunks: Chunks) -> DataFrame:
    key = (chunks.seen_area << CELL_BITS) + chunks.seen_cell
    by = chunks.seen_by
    columns = {KEY: key, CHUNK: by.astype(np.int32), TASK: chunks.task[by].astype(np.int32)}
    return frame.sparkSession.createDataFrame(pa.table(columns))
