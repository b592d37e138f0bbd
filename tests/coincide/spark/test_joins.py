"""Joins of DataFrames in a real Spark session answer as the library, id by id, whatever the partitioning."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window
from coincide import timing_join as library_timing_join
from coincide import window_join as library_window_join
from coincide.errors import DetectionsError
from coincide.spark import Columns, timing_join, window_join

pytestmark = pytest.mark.jvm

TEMPLATES = {
    "gps": Histogram.uniform(-0.01, 0.01),
    "late": Histogram.from_latency([(0, 0.5, 0.6), (0.5, 1, 0.3), (1, 2, 0.1)]),
    "split": Histogram([-1, -0.5, 0.5, 1], [0.5, 0, 0.5]),
}
MAY_US = 1_777_593_600_000_000  # the first of May 2026


def rows(seed: int, count: int, *, areas: int = 6, hot: float = 0.6, span_s: int = 600) -> pa.Table:
    """Detections of which most are in one area, a third in a second's burst, and many at one time."""
    rng = np.random.default_rng(seed)
    at_us = MAY_US + rng.integers(-span_s * 500, span_s * 500, count) * 1_000
    at_us[rng.random(count) < 0.3] = MAY_US + rng.integers(0, 100) * 10_000
    area = np.where(rng.random(count) < hot, 0, rng.integers(1, areas, count))
    labels = list(TEMPLATES)
    return pa.table(
        {
            "area": [f"area-{each}" for each in area],
            "sensor_id": [f"s-{each}" for each in rng.integers(0, 5, count)],
            "id": [f"{seed}-{each}" for each in range(count)],
            "detected_at_us": at_us,
            "template": [labels[each] for each in rng.integers(0, len(labels), count)],
        }
    )


def detections(table: pa.Table) -> Detections:
    labels = list(TEMPLATES)
    return Detections(
        table["detected_at_us"].to_numpy(),
        list(TEMPLATES.values()),
        [labels.index(each) for each in table["template"].to_pylist()],
        np.array(table["area"].to_pylist(), np.str_),
        np.array(table["sensor_id"].to_pylist(), np.str_),
        id=np.array(table["id"].to_pylist(), np.str_),
    )


def frame(spark: SparkSession, table: pa.Table, seed: int) -> DataFrame:
    """Return the rows in some partitioning: few, many, one that is empty, or one for each area."""
    made = spark.createDataFrame(table)
    return [made.repartition(1), made.repartition(7), made.where("true").repartition(3, "area")][seed % 3]


def answers(frame: DataFrame, *names: str) -> dict[tuple[Any, ...], float]:
    """Return the probability by ids; none may come twice."""
    table = frame.toArrow()
    keys = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, table["probability"].to_pylist(), strict=True))


@pytest.mark.parametrize(("seed", "chunk_rows"), [(1, 20), (2, 100), (3, 1_000_000)])
def test_pairs(spark: SparkSession, seed: int, chunk_rows: int) -> None:
    a, b = rows(seed, 500), rows(seed + 50, 400)
    window, threshold = Window(0.4), 0.3
    pairs = library_timing_join(detections(a), detections(b), window, threshold)
    left, right = (np.array(table["id"].to_pylist())[at] for table, at in ((a, pairs.left), (b, pairs.right)))
    expected = dict(zip(zip(left.tolist(), right.tolist(), strict=True), pairs.probability.tolist(), strict=True))
    assert len(expected) > 100
    found = timing_join(
        frame(spark, a, seed), frame(spark, b, seed + 1), window, threshold, TEMPLATES, chunk_rows=chunk_rows
    ).frame
    assert found.columns == ["area", "a_id", "b_id", "probability"]
    assert answers(found, "a_id", "b_id") == pytest.approx(expected)


@pytest.mark.parametrize("window", [Window(0.4), Window(lo_s=-0.1, hi_s=0.5), Window.deadline(-200)], ids=str)
def test_pairs_of_one_frame(spark: SparkSession, window: Window) -> None:
    a = rows(11, 300)
    pairs = library_timing_join(detections(a), None, window, 0.5)
    ids = np.array(a["id"].to_pylist())
    expected = set(zip(ids[pairs.left].tolist(), ids[pairs.right].tolist(), strict=True))
    assert expected
    found = timing_join(frame(spark, a, 1), None, window, 0.5, TEMPLATES, chunk_rows=30).frame
    assert set(answers(found, "a_id", "b_id")) == expected


def test_tasks_write_the_same_pairs(spark: SparkSession, tmp_path: Path) -> None:
    joined = timing_join(
        frame(spark, rows(4, 400), 1), frame(spark, rows(5, 400), 2), Window(0.4), 0.3, TEMPLATES, chunk_rows=60
    )
    done = joined.write(tmp_path / "pairs")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]
    assert done.rows > 100
    assert done.files > 1
    written = spark.read.parquet(str(tmp_path / "pairs"))
    assert answers(written, "a_id", "b_id") == answers(joined.frame, "a_id", "b_id")


def test_a_join_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    joined = timing_join(frame(spark, rows(6, 50), 1), None, Window(1), 0.5, {"gps": TEMPLATES["gps"]})
    with pytest.raises(PySparkException, match="one of the 1 templates given"):
        joined.write(tmp_path / "pairs")
    assert list(tmp_path.iterdir()) == []


def test_tuples_of_three_frames(spark: SparkSession) -> None:
    tables = {role: rows(seed, 150) for role, seed in zip("xyz", (21, 22, 23), strict=True)}
    graph = ConstraintGraph.path("xyz", Window(lo_s=0, hi_s=0.5), 0.2)
    expected = library_window_join({role: detections(table) for role, table in tables.items()}, graph, threshold=0.1)
    ids = [
        np.array(tables[role]["id"].to_pylist())[column] for role, column in zip("xyz", expected.members.T, strict=True)
    ]
    by_ids = dict(
        zip(zip(*(column.tolist() for column in ids), strict=True), expected.probability.tolist(), strict=True)
    )
    assert len(by_ids) > 20
    frames = {role: frame(spark, table, seed) for seed, (role, table) in enumerate(tables.items())}
    found = window_join(frames, graph, TEMPLATES, threshold=0.1, chunk_rows=25).frame
    assert answers(found, "x_id", "y_id", "z_id") == pytest.approx(by_ids)


def test_at_least_so_many_of_one_frame(spark: SparkSession) -> None:
    a = rows(31, 120, span_s=120)
    graph = ConstraintGraph.graph(
        [("x", "y", Window(0.3), 0.4), ("x", "z", Window(lo_s=0, hi_s=0.4), 0.4)], roles="xyz"
    )
    at_least = AtLeast(1, of=["y", "z"])
    batch = detections(a)
    expected = library_window_join(dict.fromkeys("xyz", batch), graph, at_least=at_least)
    ids = [*a["id"].to_pylist(), None]
    members = {tuple(ids[at] for at in row) for row in expected.members.tolist()}
    assert any(None in row for row in members)
    same = frame(spark, a, 2)
    found = window_join(dict.fromkeys("xyz", same), graph, TEMPLATES, at_least=at_least, chunk_rows=12).frame
    assert set(answers(found, "x_id", "y_id", "z_id")) == members
    assert found.where("area is null").count() == 0


def test_other_names_timestamps_and_one_area(spark: SparkSession) -> None:
    table = rows(41, 200, hot=1.0)
    names = Columns(detected_at_us="t", id="name", template=None, area=None, sensor=None, kept=("name", "t"))
    renamed = spark.createDataFrame(table).select(
        F.timestamp_micros("detected_at_us").alias("t"), F.col("id").alias("name")
    )
    template = Histogram.uniform(-0.01, 0.01)
    plain = Detections(table["detected_at_us"].to_numpy(), [template])
    pairs = library_timing_join(plain, plain, Window(0.1), 0.5)
    found = timing_join(renamed, renamed.alias("other"), Window(0.1), 0.5, template, columns=names, chunk_rows=40).frame
    assert found.columns == ["a_name", "a_t", "b_name", "b_t", "probability"]
    assert found.count() == len(pairs)


def test_nothing_is_no_answer(spark: SparkSession) -> None:
    some, none = rows(51, 20), rows(52, 0)
    for a, b in ((some, none), (none, some), (none, none)):
        schema = spark.createDataFrame(some).schema
        first, second = (spark.createDataFrame(table.to_pylist(), schema) for table in (a, b))
        assert timing_join(first, second, Window(1), 0.5, TEMPLATES).frame.collect() == []


def test_what_cannot_be_used_is_said(spark: SparkSession) -> None:
    given = spark.createDataFrame(rows(61, 20))
    with pytest.raises(DetectionsError, match="columns is 'sensor_id'"):
        timing_join(given.drop("sensor_id"), None, Window(1), 0.5, TEMPLATES)
    without = given.withColumn("area", F.when(F.col("id") != "61-3", F.col("area")))
    with pytest.raises(PySparkException, match="area is None: a value in every row"):
        timing_join(without, None, Window(1), 0.5, TEMPLATES).frame.collect()
    timeless = given.withColumn("detected_at_us", F.when(F.col("id") != "61-3", F.col("detected_at_us")))
    with pytest.raises(PySparkException, match="detected_at_us is None: a value in every row"):
        timing_join(timeless, None, Window(1), 0.5, TEMPLATES).frame.collect()
    with pytest.raises(DetectionsError, match="detected_at_us is 'string'"):
        timing_join(given.withColumn("detected_at_us", F.lit("now")), None, Window(1), 0.5, TEMPLATES)
    with pytest.raises(PySparkException, match=r"template is '(late|split)': one of the 1 templates given"):
        timing_join(
            given,
            None,
            Window(1),
            0.5,
            {
                "gps": TEMPLATES["gps"],
            },
        ).frame.collect()


RENAMED = Columns(detected_at_us="when", id="name", template=None, area="site", sensor="device")


def renamed(spark: SparkSession, name: str, device: str, at: int) -> DataFrame:
    schema = "name string, when bigint, site string, device string"
    return spark.createDataFrame([(name, at, "mill", device)], schema)


def test_an_answer_has_the_id_whatever_it_is_called(spark: SparkSession) -> None:
    a, b = renamed(spark, "x1", "left", MAY_US), renamed(spark, "y1", "right", MAY_US + 300_000)
    found = timing_join(a, b, Window(1), 0.5, Histogram.point(), columns=RENAMED).frame
    assert found.columns == ["site", "a_name", "b_name", "probability"]
    assert answers(found, "a_name", "b_name") == {("x1", "y1"): 1.0}
    both = timing_join(a.union(b), None, Window(1), 0.5, Histogram.point(), columns=RENAMED).frame
    assert answers(both, "a_name", "b_name") == {("x1", "y1"): 1.0}


@pytest.mark.parametrize(
    ("at", "said", "side"),
    [
        (MAY_US // 1_000_000, "1777593600: microseconds since 1970, .*this looks like seconds or milliseconds", "a"),
        (MAY_US // 1_000, "1777593600000: microseconds since 1970, .*this looks like seconds or milliseconds", "b"),
        (MAY_US * 1_000, "1777593600000000000: .*this looks like a finer unit", "both"),
        (None, "None: a value in every row", "b"),
    ],
)
def test_times_of_another_unit_are_refused_by_the_name_of_their_column(
    spark: SparkSession, at: int, said: str, side: str
) -> None:
    wrong, right = renamed(spark, "x1", "left", at), renamed(spark, "y1", "right", MAY_US)
    first, second = {"a": (wrong, right), "b": (right, wrong), "both": (wrong, None)}[side]
    joined = timing_join(first, second, Window(1), 0.5, Histogram.point(), columns=RENAMED)
    with pytest.raises(PySparkException, match=f"when is {said}"):
        joined.frame.collect()
