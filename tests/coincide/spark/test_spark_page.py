"""The page on DataFrames: its blocks run as they stand, and answer as the library."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from coincide import ConstraintGraph, Detections, Equal, Histogram, Window, coalesce_readings, timing_join, window_join
from docs.generate import ROOT
from services.history.archiving.file_names import batch_file, merged_file
from services.history.archiving.folders import Archive, write_rows
from services.history.archiving.frame_rows import ROW_SCHEMA
from services.history.archiving.layout import DAY_US
from tests.docs.sessions import blocks

pytestmark = pytest.mark.jvm

PAGE = (ROOT / "docs/how-to/join-files-and-tables.md").read_text(encoding="utf-8")
ON_SPARK = PAGE.split("\n## DataFrames on Spark\n")[1]
OCTOBER_US = 20_727 * DAY_US  # the first of October 2026
TEMPLATES = {"gps": Histogram.normal(sigma_s=0.01), "by-hand": Histogram.uniform(-60, 0)}


@pytest.fixture
def here(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Spark, too, find the files of this test where it is: the blocks name them without a folder."""
    java: Any = spark.sparkContext._jvm
    files = java.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    monkeypatch.chdir(tmp_path)
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(tmp_path)))
    yield
    files.setWorkingDirectory(before)


def detections_table(seed: int, stream: str, names: list[str], begin_us: int = OCTOBER_US) -> pa.Table:
    """Fifty detections of three sensors in two areas, within eight minutes."""
    rng, count = np.random.default_rng(seed), 50
    content = {
        "area": [f"house-{each}" for each in rng.integers(0, 2, count)],
        "stream": [stream] * count,
        "sensor_id": [f"{stream}-{each}" for each in rng.integers(0, 3, count)],
        "id": [f"{stream}-{seed}-{each}" for each in range(count)],
        "detected_at_us": begin_us + rng.integers(0, 500_000, count) * 1_000,
        "received_at_us": np.full(count, begin_us + 600_000_000),
        "template": [names[each] for each in rng.integers(0, len(names), count)],
        "attributes": ["{}"] * count,
        "place": [None] * count,
        "partition": np.zeros(count, np.int32),
        "offset": np.full(count, seed),
        "position": np.arange(count, dtype=np.int32),
    }
    return pa.table(content, ROW_SCHEMA)


def detections(table: pa.Table, templates: dict[str, Histogram]) -> Detections:
    names = [*templates]
    return Detections(
        table["detected_at_us"].to_numpy(),
        list(templates.values()),
        [names.index(each) for each in table["template"].to_pylist()],
        np.array(table["area"].to_pylist(), np.str_),
        np.array(table["sensor_id"].to_pylist(), np.str_),
        id=np.array(table["id"].to_pylist(), np.str_),
    )


def archive_in(folder: Path) -> tuple[pa.Table, dict[str, Histogram]]:
    """Write an archive in which a merged file has replaced others that are still there; return October's rows."""
    by_id = {each.id: each for each in TEMPLATES.values()}
    archive = Archive.opened(folder, 1)
    archive.write_templates({id_: each.to_json() for id_, each in by_id.items()})
    october = [detections_table(nth, stream, [*by_id]) for nth, stream in enumerate(["knock", "noise"] * 2)]
    november = detections_table(9, "noise", [*by_id], OCTOBER_US + 31 * DAY_US)
    for batch, table in enumerate([*october, november]):
        archive.write(table, batch_file(batch, 0, 0))
    write_rows(archive.folder(OCTOBER_US // DAY_US, 0) / merged_file(0, 3), pa.concat_tables(october[:3]))
    return pa.concat_tables(october), by_id


def of_stream(table: pa.Table, stream: str) -> pa.Table:
    return table.filter(pc.equal(table["stream"], stream))


@pytest.mark.usefixtures("here")
def test_the_blocks_of_the_page_answer_as_the_library(spark: SparkSession, tmp_path: Path) -> None:
    october, by_id = archive_in(tmp_path / "archive")
    knocks, noises = (detections_table(seed, each, [*TEMPLATES]) for seed, each in ((20, "knock"), (21, "noise")))
    heard = {
        name: detections_table(seed, "noise", [*TEMPLATES]) for seed, name in enumerate(("north", "south", "west"), 30)
    }
    at_us = [OCTOBER_US + at for at in (0, 1_000, 2_000, 3_000)]
    states = pa.table({"ts_us": at_us, "id": [1, 2, 3, 4], "door": [7] * 4, "state": [1, 1, 0, 1]})
    tables = {"knocks": knocks, "noises": noises, "states": states, **heard}
    session: dict[str, Any] = {"spark": spark, **{name: spark.createDataFrame(each) for name, each in tables.items()}}
    shown = blocks(ON_SPARK, "python")
    for block in shown:
        exec(block, session)
    assert len(shown) == 5

    microphones = ConstraintGraph.clique(["m1", "m2", "m3"], Window(2), threshold=0.3)
    pairs = timing_join(detections(knocks, TEMPLATES), detections(noises, TEMPLATES), Window(5), 0.5)
    assert len(pairs) == len(pq.read_table("pairs")) > 0
    batches = dict(zip(microphones.roles, (detections(each, TEMPLATES) for each in heard.values()), strict=True))
    assert session["heard"].frame.count() == len(window_join(batches, microphones, at_least=2)) > 0

    knock, noise = (detections(of_stream(october, each), by_id) for each in ("knock", "noise"))
    expected = len(timing_join(knock, noise, Window(5), 0.5))
    assert len(pq.read_table("pairs-of-october")) == expected > 0
    assert session["once"].count() == expected  # November has noises alone
    triples = window_join(dict.fromkeys(microphones.roles, noise), microphones, at_least=2)
    assert len(pq.read_table("heard-in-october")) == len(triples) > 0
    at_us, door, state = (states[name].to_numpy() for name in ("ts_us", "door", "state"))
    runs = coalesce_readings(at_us, door, state, Equal(), hold_us=60_000_000)
    assert session["runs"].count() == len(runs) == 3
