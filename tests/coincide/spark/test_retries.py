"""Spark runs a task that failed again: the answer is complete, comes once, and nothing of a failed attempt stays."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext, cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from coincide import Detections, Histogram, Window
from coincide import timing_join as library_timing_join
from coincide.spark import Columns, timing_join
from coincide.spark.joins import Buckets

pytestmark = pytest.mark.jvm

CLOCK = Histogram.uniform(-0.01, 0.01)
COLUMNS = Columns(template=None, area=None, sensor=None)


@dataclass(frozen=True)
class FailingTwice(Buckets):
    """The first attempt of a task fails while it writes, and the second one when it has written."""

    def write(self, folder: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        attempt = context.attemptNumber()
        yield from super().write(folder, broken_off(batches) if attempt == 0 else batches)
        if attempt == 1:
            raise ConnectionError("lost when it had written")


def broken_off(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
    raise ConnectionError("lost while it read")


def test_a_retried_task_answers_once(spark: SparkSession, tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    times_us = 10**15 + np.sort(np.random.default_rng(7).integers(0, 10**9, (2, 400)))
    pairs = library_timing_join(Detections(times_us[0], [CLOCK]), Detections(times_us[1], [CLOCK]), Window(3), 0.5)
    expected = sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(expected) > 500
    a, b = (
        spark.createDataFrame(pa.table({"id": np.arange(400), "detected_at_us": side})).repartition(3)
        for side in times_us
    )
    joined = timing_join(a, b, Window(3), 0.5, CLOCK, columns=COLUMNS, sensors="any", chunk_rows=50, tasks=3)
    failing = replace(joined, _buckets=FailingTwice(joined._buckets.task, joined._buckets.unpack))
    before = spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch")
    done = failing.write(tmp_path / "pairs")
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == before
    found = spark.read.parquet(str(tmp_path / "pairs")).select(F.col("a_id"), F.col("b_id")).toArrow()
    assert done.rows == len(expected)
    assert sorted(zip(found["a_id"].to_pylist(), found["b_id"].to_pylist(), strict=True)) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]
    assert sorted(path.name for path in (tmp_path / "pairs").iterdir()) == [
        f"part-{part:05}.parquet" for part in range(3)
    ]
