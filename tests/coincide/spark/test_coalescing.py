"""Runs of DataFrames in a real Spark session are the library's, whatever the partitioning."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from coincide import Bounded, Equal, Runs
from coincide import coalesce as library_coalesce
from coincide import coalesce_readings as library_coalesce_readings
from coincide.coalescing import Equivalence, Predicate
from coincide.spark import coalesce, coalesce_readings
from coincide.temporal.intervals import NOW_US

pytestmark = pytest.mark.jvm

MAY_US = 1_777_593_600_000_000  # the first of May 2026


def rows(seed: int, count: int) -> pa.Table:
    """Readings of which most are of one sensor; ids in no order of time."""
    rng = np.random.default_rng(seed)
    sensor = np.where(rng.random(count) < 0.7, 0, rng.integers(1, 5, count))
    start = MAY_US + np.sort(rng.integers(0, 4 * count, count))
    return pa.table(
        {
            "sensor": [f"s-{each}" for each in sensor],
            "id": [f"r-{each:06}" for each in range(count)],
            "start_us": start,
            "end_us": start + rng.integers(0, 12, count) * (rng.random(count) < 0.8),
            "level": rng.integers(0, 3, count).astype(np.float64),
            "state": [("on", "off")[each] for each in rng.integers(0, 2, count)],
        }
    )


def expected(runs: Runs, table: pa.Table, value: str | None) -> list[dict[str, Any]]:
    ids = table["id"].to_pylist()
    return [
        {
            "sensor": run.group,
            "start_us": run.start_us,
            "end_us": run.end_us,
            **({} if value is None else {value: run.value}),
            "count": run.count,
            "first_id": ids[int(run.first)],
            "last_id": ids[int(run.last)],
            "is_open": run.is_open,
        }
        for run in runs
    ]


def found(frame: DataFrame) -> list[dict[str, Any]]:
    order = ("sensor", "start_us", "first_id")
    return sorted(frame.toArrow().to_pylist(), key=lambda row: [row[name] for name in order])


def as_array(table: pa.Table, name: str) -> Any:
    values = table[name].to_numpy(zero_copy_only=False)
    return values.astype(np.str_) if values.dtype.kind == "O" else values


EITHER_IS_ON = Predicate(lambda previous, following: previous == "on" or following == "on")


@pytest.mark.parametrize(
    ("value", "equivalence", "chunk_rows"),
    [("state", Equal(), 40), ("level", Bounded(1.0), None), (None, Equal(), 40)],
)
def test_facts(spark: SparkSession, value: str | None, equivalence: Equivalence, chunk_rows: int | None) -> None:
    table = rows(7, 600)
    values = None if value is None else as_array(table, value)
    columns = as_array(table, "start_us"), as_array(table, "end_us"), as_array(table, "sensor")
    runs = library_coalesce(*columns, values, equivalence, gap_us=2)
    frame = spark.createDataFrame(table).repartition(5)
    how = {"group": "sensor", "value": value, "equivalence": equivalence, "chunk_rows": chunk_rows}
    answer = coalesce(frame, "start_us", "end_us", "id", gap_us=2, **how)  # type: ignore[arg-type]
    assert 50 < len(runs) < 600
    assert found(answer) == expected(runs, table, value)


@pytest.mark.parametrize(("value", "equivalence", "hold_us"), [("state", EITHER_IS_ON, 3), (None, Equal(), None)])
def test_readings(spark: SparkSession, value: str | None, equivalence: Equivalence, hold_us: int | None) -> None:
    table = rows(8, 600)
    values = None if value is None else as_array(table, value)
    runs = library_coalesce_readings(
        as_array(table, "start_us"), as_array(table, "sensor"), values, equivalence, hold_us
    )
    frame = spark.createDataFrame(table).repartition(3)
    answer = coalesce_readings(
        frame, "start_us", "id", group="sensor", value=value, equivalence=equivalence, hold_us=hold_us, chunk_rows=40
    )
    assert found(answer) == expected(runs, table, value)


def test_without_groups(spark: SparkSession) -> None:
    table = rows(9, 300)
    runs = library_coalesce(as_array(table, "start_us"), as_array(table, "end_us"))
    answer = coalesce(spark.createDataFrame(table).repartition(4), "start_us", "end_us", "id", chunk_rows=30)
    assert answer.columns == ["start_us", "end_us", "count", "first_id", "last_id", "is_open"]
    assert sorted(row["start_us"] for row in answer.collect()) == runs.start_us.tolist()


def test_no_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], spark.createDataFrame(rows(9, 3)).schema)
    assert coalesce_readings(frame, "start_us", "id", group="sensor").collect() == []


@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [
        (MAY_US // 1_000_000, MAY_US, "since is 1777593600: .*seconds or milliseconds"),
        (MAY_US, MAY_US // 1_000_000, "until is 1777593600: .*seconds or milliseconds"),
        (MAY_US, None, "until is None: a value in every row"),
    ],
)
def test_times_of_another_unit_are_refused_by_the_name_of_their_column(
    spark: SparkSession, begin: int, end: int | None, said: str
) -> None:
    frame = spark.createDataFrame([("r1", begin, end)], "name string, since bigint, until bigint")
    with pytest.raises(PySparkException, match=said):
        coalesce(frame, "since", "until", "name").collect()


def test_an_end_may_be_open(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("r1", MAY_US, NOW_US)], "name string, since bigint, until bigint")
    [run] = coalesce(frame, "since", "until", "name").collect()
    assert (run["end_us"], run["is_open"]) == (NOW_US, False)
