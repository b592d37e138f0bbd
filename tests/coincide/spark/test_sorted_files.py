"""Joins of sorted Parquet files answer as the library, id by id, wherever they are cut; most of it without Spark."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide import timing_join as library_timing_join
from coincide import window_join as library_window_join
from coincide.chunks.chunk_joins import ChunkedQuery, PairQuery, TupleQuery
from coincide.errors import DetectionsError
from coincide.spark import Columns, SortedFiles

TEMPLATES = {
    "gps": Histogram.uniform(-0.01, 0.01),
    "late": Histogram.from_latency([(0, 0.5, 0.6), (0.5, 1, 0.3), (1, 2, 0.1)]),
}
LABELS = list(TEMPLATES)
DAY_US = 200_000_000  # a short one
FIRST_US = 8_000_000 * DAY_US  # in the year 2020


def rows(seed: int, count: int = 900, areas: int = 7) -> pa.Table:
    """Detections of two streams over three days; half in one area, some at one time, some about midnight."""
    rng = np.random.default_rng(seed)
    at_us = FIRST_US + rng.integers(0, 3 * DAY_US, count) // 1_000 * 1_000
    at_us[rng.random(count) < 0.1] = FIRST_US + DAY_US
    at_us[rng.random(count) < 0.1] = FIRST_US + 2 * DAY_US - rng.integers(1, 400) * 1_000
    area = np.where(rng.random(count) < 0.5, 3, rng.integers(0, areas, count))
    return pa.table(
        {
            "area": [f"area-{each}" for each in area],
            "stream": [("knock", "noise")[each] for each in rng.integers(0, 2, count)],
            "sensor_id": [f"s-{each}" for each in rng.integers(0, 4, count)],
            "id": [f"d-{each}" for each in range(count)],
            "detected_at_us": at_us,
            "template": [LABELS[each] for each in rng.integers(0, 2, count)],
        }
    )


def written(table: pa.Table, folder: Path, *, by: str, group_rows: int = 40) -> list[Path]:
    """Write them as an archive does: by day and hash of the area, or all in one file, or in files without order."""
    at_us, area = table["detected_at_us"].to_numpy(), np.array(table["area"].to_pylist())
    names = {
        "day": [
            f"day={at // DAY_US}/area_hash={int(of[-1]) % 2}"
            for at, of in zip(at_us.tolist(), area.tolist(), strict=True)
        ],
        "nothing": ["."] * len(table),
        "chance": [f"file-{each % 3}" for each in range(len(table))],
    }[by]
    files = []
    for name in sorted(set(names)):
        part = table.filter(pa.array([each == name for each in names]))
        path = folder / name / "rows.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            part.sort_by([("area", "ascending"), ("detected_at_us", "ascending")]), path, row_group_size=group_rows
        )
        files.append(path)
    return files


def detections(table: pa.Table) -> Detections:
    return Detections(
        table["detected_at_us"].to_numpy(),
        list(TEMPLATES.values()),
        [LABELS.index(each) for each in table["template"].to_pylist()],
        np.array(table["area"].to_pylist(), np.str_),
        np.array(table["sensor_id"].to_pylist(), np.str_),
        id=np.array(table["id"].to_pylist(), np.str_),
    )


def of_stream(table: pa.Table, stream: str) -> pa.Table:
    return table.filter(pc.equal(table["stream"], stream))


def answers(
    files: list[Path], query: ChunkedQuery, streams: list[str], folder: Path, task_rows: int, key: str | None = None
) -> pa.Table:
    join = SortedFiles(files).join(query, streams, TEMPLATES, task_rows, key)
    folder.mkdir()
    counts = [join.write(part, folder)["rows"][0].as_py() for part in reversed(range(len(join.ranges)))]
    table = pq.read_table(folder)
    assert len(table) == sum(counts)
    assert len(join.ranges) > 1
    return table


LAYOUTS = ["day", "nothing", "chance"]


@pytest.mark.parametrize("by", LAYOUTS)
@pytest.mark.parametrize("task_rows", [50, 300])
def test_pairs(tmp_path: Path, by: str, task_rows: int) -> None:
    table = rows(1)
    knock, noise = of_stream(table, "knock"), of_stream(table, "noise")
    query = PairQuery(Window(2.0), 0.3)
    pairs = library_timing_join(detections(knock), detections(noise), query.window, query.threshold)
    ids = [np.array(side["id"].to_pylist())[at].tolist() for side, at in ((knock, pairs.left), (noise, pairs.right))]
    expected = dict(zip(zip(*ids, strict=True), pairs.probability.tolist(), strict=True))
    found = answers(written(table, tmp_path, by=by), query, ["knock", "noise"], tmp_path / "out", task_rows)
    assert found.column_names == ["area", "a_id", "b_id", "probability"]
    keys = list(zip(found["a_id"].to_pylist(), found["b_id"].to_pylist(), strict=True))
    assert len(keys) == len(set(keys)) > 100
    assert dict(zip(keys, found["probability"].to_pylist(), strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("by", LAYOUTS)
def test_at_least_so_many_of_one_stream(tmp_path: Path, by: str) -> None:
    table = rows(2, 500)
    graph = ConstraintGraph.clique("xyz", Window(1.5), 0.3)
    noise = of_stream(table, "noise")
    query = TupleQuery(graph, dict.fromkeys("xyz", 0), at_least=2)
    sets = library_window_join(dict.fromkeys("xyz", detections(noise)), graph, at_least=2)
    ids = [*noise["id"].to_pylist(), None]
    expected = {tuple(ids[at] for at in row) for row in sets.members.tolist()}
    found = answers(written(table, tmp_path, by=by), query, ["noise"], tmp_path / "out", 40)
    keys = list(zip(*(found[f"{role}_id"].to_pylist() for role in "xyz"), strict=True))
    assert len(keys) == len(expected) > 50
    assert set(keys) == expected
    assert found["area"].null_count == 0


def test_only_equal_keys_meet(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = rows(6)
    table = table.append_column("pipe", pa.array([f"p-{each}" for each in rng.integers(0, 3, len(table))]))
    knock, noise = of_stream(table, "knock"), of_stream(table, "noise")
    graph = ConstraintGraph.path("xy", Window(2.0), 0.3)
    keys = {role: np.array(side["pipe"].to_pylist(), np.str_) for role, side in (("x", knock), ("y", noise))}
    pairs = library_window_join({"x": detections(knock), "y": detections(noise)}, graph, keys).members
    expected = {(knock["id"][x].as_py(), noise["id"][y].as_py()) for x, y in pairs.tolist()}
    query = TupleQuery(graph, {"x": 0, "y": 1})
    files = written(table, tmp_path, by="day")
    found = answers(files, query, ["knock", "noise"], tmp_path / "out", 100, "pipe")
    keys_found = list(zip(found["x_id"].to_pylist(), found["y_id"].to_pylist(), strict=True))
    assert len(keys_found) == len(expected) > 50
    assert set(keys_found) == expected


@pytest.mark.jvm
def test_spark_places_the_parts(spark: SparkSession, tmp_path: Path) -> None:
    table = rows(3)
    knock, noise = of_stream(table, "knock"), of_stream(table, "noise")
    files = SortedFiles(written(table, tmp_path, by="day"))
    pairs = library_timing_join(detections(knock), detections(noise), Window(2.0), 0.3)
    out = tmp_path / "out"
    done = files.timing_join(spark, ("knock", "noise"), Window(2.0), 0.3, TEMPLATES, out, task_rows=100)
    assert done.rows == len(pairs) == spark.read.parquet(str(out)).count()
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out"]
    with pytest.raises(DetectionsError, match="a folder that does not exist yet"):
        files.timing_join(spark, ("knock", None), Window(2.0), 0.3, TEMPLATES, out)
    roles = {"x": "knock", "y": "noise", "z": "noise"}
    graph = ConstraintGraph.path("xyz", Window(lo_s=0, hi_s=1), 0.3)
    batches = {"x": detections(knock), **dict.fromkeys("yz", detections(noise))}
    tuples = library_window_join({**batches, "z": batches["y"]}, graph)
    assert files.window_join(spark, roles, graph, TEMPLATES, tmp_path / "tuples").rows == len(tuples)


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    [path] = written(rows(4), tmp_path, by="nothing")
    query = PairQuery(Window(2.0), 0.3)
    with pytest.raises(DetectionsError, match="columns is 'ts'"):
        SortedFiles([path], Columns(detected_at_us="ts")).join(query, ["knock", "noise"], TEMPLATES)
    with pytest.raises(DetectionsError, match=r"columns\.area is None"):
        SortedFiles([path], Columns(area=None))
    bare = tmp_path / "bare.parquet"
    pq.write_table(pq.read_table(path), bare, write_statistics=False)
    with pytest.raises(DetectionsError, match="Parquet with statistics of area and detected_at_us"):
        SortedFiles([bare]).join(query, ["knock", "noise"], TEMPLATES)


@pytest.mark.parametrize(
    ("of_a_microsecond", "said"),
    [(1_000_000, "detected_at_us is .*seconds or milliseconds"), (0.001, "detected_at_us is .*a finer unit")],
)
def test_times_of_another_unit_are_refused(tmp_path: Path, of_a_microsecond: float, said: str) -> None:
    table = rows(1, 20)
    times = pc.cast(pc.divide(table["detected_at_us"].cast(pa.float64()), of_a_microsecond), pa.int64(), safe=False)
    wrong = table.set_column(table.column_names.index("detected_at_us"), "detected_at_us", times)
    files = written(wrong, tmp_path, by="nothing")
    query = PairQuery(Window(0.5), 0.3, "different")
    with pytest.raises(DetectionsError, match=said):
        SortedFiles(files).join(query, ["knock", "noise"], TEMPLATES)
