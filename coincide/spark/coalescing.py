"""coalesce and coalesce_readings of Spark DataFrames: runs of each chunk, stitched by group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DataType, LongType, StructField, StructType

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.chunks.stitching import ChunkCoalescing, ChunkRuns
from coincide.coalescing.columns import duration_of, values_of
from coincide.coalescing.equivalences import Equal, Equivalence, checked_equivalence
from coincide.coalescing.runs import Runs
from coincide.spark.arrow_columns import comparable_codes, numbers, refuse_nulls, taken, whole
from coincide.spark.placing import CHUNK, TIME, placed, refuse_lack, time_us

END = "_end_us"
LAST_VALUE, LAST_START, LAST_END = "_last_value", "_last_start_us", "_last_end_us"
EQUAL = Equal()


def coalesce(  # noqa: PLR0913 - columns by name, and how
    frame: DataFrame,
    start_us: str,
    end_us: str,
    id: str,  # noqa: A002 - the wire format's own word
    *,
    group: str | None = None,
    value: str | None = None,
    equivalence: Equivalence = EQUAL,
    gap_us: int = 0,
    chunk_rows: int | None = None,
) -> DataFrame:
    """Return the runs that `coincide.coalesce` makes of the intervals in a DataFrame.

    Parameters
    ----------
    frame : DataFrame
        Half-open intervals, in any order and partitioning.
    start_us, end_us, id, group, value : str
        Names of columns. Times are microseconds since the epoch as 64-bit integers, or timestamps. Ids are unique in
        their group: intervals that start together are taken in the order of their ids.
    equivalence, gap_us
        As in `coincide.coalesce`.
    chunk_rows : int, optional
        How many rows a task takes, about; by default so many that each core has some tasks, at most 1 million. All runs
        of one group are stitched by one task.

    Returns
    -------
    DataFrame
        The group, ``start_us``, ``end_us``, the value, ``count``, ``first_id``, ``last_id`` and ``is_open``.
    """
    how = ChunkCoalescing(checked_equivalence(equivalence), duration_of("gap_us", gap_us))
    return _coalesced(frame, _Names(start_us, end_us, id, group, value), how, chunk_rows)


def coalesce_readings(
    frame: DataFrame,
    ts_us: str,
    id: str,  # noqa: A002 - the wire format's own word
    *,
    group: str | None = None,
    value: str | None = None,
    equivalence: Equivalence = EQUAL,
    hold_us: int | None = None,
    chunk_rows: int | None = None,
) -> DataFrame:
    """Return the runs that `coincide.coalesce_readings` makes of the readings in a DataFrame.

    Of readings of one group at one instant the one with the least id counts. Parameters and the answer are those of
    `coalesce`; `hold_us` is as in `coincide.coalesce_readings`.
    """
    hold = None if hold_us is None else duration_of("hold_us", hold_us)
    how = ChunkCoalescing(checked_equivalence(equivalence), hold_us=hold, of_readings=True)
    return _coalesced(frame, _Names(ts_us, None, id, group, value), how, chunk_rows)


@dataclass(frozen=True)
class _Names:
    start: str
    end: str | None
    id: str
    group: str | None
    value: str | None

    @property
    def read(self) -> list[str]:
        return [name for name in (self.group, self.id, self.value) if name is not None]

    def fields(self, frame: DataFrame) -> list[tuple[str, DataType]]:
        """Names and types of an answer's columns."""
        kinds = {name: frame.schema[name].dataType for name in self.read}
        group = [] if self.group is None else [(self.group, kinds[self.group])]
        value = [] if self.value is None else [(self.value, kinds[self.value])]
        times: list[tuple[str, DataType]] = [("start_us", LongType()), ("end_us", LongType())]
        ids = [("first_id", kinds[self.id]), ("last_id", kinds[self.id])]
        return [*group, *times, *value, ("count", LongType()), *ids, ("is_open", BooleanType())]


def _coalesced(frame: DataFrame, names: _Names, how: ChunkCoalescing, chunk_rows: int | None) -> DataFrame:
    refuse_lack(frame, [*names.read, names.start, *([] if names.end is None else [names.end])])
    fields = names.fields(frame)
    schema = StructType([StructField(*field) for field in fields])
    kept = list(dict.fromkeys(names.read))
    if names.end is not None:
        frame = frame.withColumn(END, time_us(frame, names.end, may_be_open=True))
        kept.append(END)
    rows = placed(frame, names.start, names.group, kept, chunk_rows)
    if rows is None:
        return frame.sparkSession.createDataFrame([], schema)
    of_last: list[tuple[str, DataType]] = [(LAST_START, LongType()), (LAST_END, LongType())]
    if names.value is not None:
        of_last.append((LAST_VALUE, frame.schema[names.value].dataType))
    of_parts = StructType([*schema.fields, *(StructField(*field) for field in of_last)])
    parts = rows.mapInArrow(_coalescing(names, how, of_parts.names), of_parts)
    by_group = parts.repartition(1) if names.group is None else parts.repartition(names.group)
    return by_group.mapInArrow(_stitching(names, how, schema.names), schema)


Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _coalescing(names: _Names, how: ChunkCoalescing, answer: Sequence[str]) -> Task:
    """Return what a task makes of the rows of its chunks."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(list(batches))
        refuse_nulls(table, *names.read)
        refuse_nulls(table, *([] if names.end is None else [END]), called=names.end)
        by_id, number = _numbered(table[names.id])
        end_us = None if names.end is None else numbers(table[END], np.int64)
        value = None if names.value is None else _values(table[names.value], how)
        start_us, chunk = numbers(table[TIME], np.int64), numbers(table[CHUNK], np.int64)
        parts = how.parts(start_us, end_us, _groups(table, names), chunk, number, value)
        first, last = by_id[parts.runs.first], by_id[parts.runs.last]
        columns = _columns(table, names, parts.runs, first, (names.id, first), (names.id, last))
        columns |= {LAST_START: parts.last_start_us, LAST_END: parts.last_end_us}
        if names.value is not None:
            columns[LAST_VALUE] = taken(whole(table[names.value]), last)
        yield pa.record_batch({name: columns[name] for name in answer})

    return _unless_empty(run)


def _stitching(names: _Names, how: ChunkCoalescing, answer: Sequence[str]) -> Task:
    """Return what a task makes of all parts of its groups."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(list(batches))
        by_id, number = _numbered(table["first_id"])
        value = last_value = None
        if names.value is not None:
            both = pa.chunked_array([*table[names.value].chunks, *table[LAST_VALUE].chunks])
            value, last_value = np.split(_values(both, how), 2)
        of_part = {
            name: numbers(table[name], np.int64) for name in ("start_us", "end_us", "count", LAST_START, LAST_END)
        }
        columns = of_part["start_us"], of_part["end_us"], _groups(table, names), value, of_part["count"]
        runs = Runs(*columns, number, np.arange(len(table)), numbers(table["is_open"], np.bool_))
        united = how.stitched(ChunkRuns(runs, last_value, of_part[LAST_START], of_part[LAST_END]))
        first, last = by_id[united.first], united.last
        made = _columns(table, names, united, first, ("first_id", first), ("last_id", last))
        yield pa.record_batch({name: made[name] for name in answer})

    return _unless_empty(run)


def _unless_empty(run: Task) -> Task:
    def unless_empty(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = [batch for batch in batches if batch.num_rows]
        return run(some) if some else iter(())

    return unless_empty


def _numbered(ids: pa.ChunkedArray) -> tuple[PositionArray, Int64Array]:
    """Return the rows in the order of their ids, and the number of each row in that order."""
    order = np.argsort(comparable_codes([ids])[0], kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return order, number


def _groups(table: pa.Table, names: _Names) -> Int64Array:
    if names.group is None:
        return np.zeros(len(table), np.int64)
    return comparable_codes([table[names.group]])[0]


def _values(column: pa.ChunkedArray, how: ChunkCoalescing) -> npt.NDArray[Any]:
    """Return values as equivalences compare them; text that only has to be equal as numbers."""
    if isinstance(how.equivalence, Equal) and pa.types.is_string(column.type):
        return comparable_codes([column])[0]
    return values_of(whole(column).to_numpy(zero_copy_only=False), len(column), how.equivalence)


def _columns(
    table: pa.Table,
    names: _Names,
    runs: Runs,
    at: PositionArray,
    first_id: tuple[str, PositionArray],
    last_id: tuple[str, PositionArray],
) -> dict[str, Any]:
    """Return the columns of an answer; groups and values are those of the table's rows `at`."""
    labels = [name for name in (names.group, names.value) if name is not None]
    columns = {name: taken(whole(table[name]), at) for name in labels}
    columns |= {"start_us": runs.start_us, "end_us": runs.end_us, "count": runs.count, "is_open": runs.is_open}
    ids = {"first_id": first_id, "last_id": last_id}
    return columns | {name: taken(whole(table[column]), rows) for name, (column, rows) in ids.items()}
