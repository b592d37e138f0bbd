"""We and our peers: each joins the two streams of the same files, and writes the pairs to Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from benchmarks.dataframes.archive import PARTNERS, SPACING_US, STREAMS, TEMPLATE
from coincide import Window, satisfaction_offsets
from coincide.chunks.chunk_joins import PairQuery
from coincide.spark import Columns, SortedFiles, timing_join
from coincide.spark.sorted_files import FilesJoin

WINDOW = Window(PARTNERS * SPACING_US / 2e6)
THRESHOLD = 0.5
TEMPLATES = {TEMPLATE.id: TEMPLATE}
COLUMNS = Columns(probability=False)
[(LO_US, HI_US)] = satisfaction_offsets(TEMPLATE, TEMPLATE, WINDOW, THRESHOLD).tolist()
BUCKET_US = HI_US - LO_US + 1

Maker = Callable[[Sequence[Path], Path], Any]
"""Reads the files and writes the pairs into a new folder."""


def makers(spark: SparkSession, threads: int) -> Mapping[str, Maker]:
    """Everybody by name."""
    return {
        "coincide, files": partial(_our_files, spark),
        "coincide, frames": partial(_our_frames, spark),
        "duckdb": partial(_duckdb, threads),
        **{f"spark, {hint}": partial(_spark_buckets, spark, hint) for hint in ("shuffle_hash", "merge")},
    }


def _our_files(spark: SparkSession, files: Sequence[Path], out: Path) -> None:
    archive = SortedFiles(files, COLUMNS)
    archive.timing_join(spark, (STREAMS[0], STREAMS[1]), WINDOW, THRESHOLD, TEMPLATES, out, sensors="any")


def files_join(files: Sequence[Path]) -> FilesJoin:
    """Return the parts of our join of files, for those who do them without Spark."""
    query = PairQuery(WINDOW, THRESHOLD, "any", is_self_join=False)
    return SortedFiles(files, COLUMNS).join(query, STREAMS, TEMPLATES)


def _our_frames(spark: SparkSession, files: Sequence[Path], out: Path) -> None:
    a, b = _streams(spark, files)
    timing_join(a, b, WINDOW, THRESHOLD, TEMPLATES, sensors="any", columns=COLUMNS).write(out)


def _streams(spark: SparkSession, files: Sequence[Path]) -> tuple[DataFrame, DataFrame]:
    """Return both streams; their folders are read as they are, and say nothing about columns."""
    rows = spark.read.parquet(*map(str, files))
    a, b = (rows.where(F.col("stream") == stream) for stream in STREAMS)
    return a, b


def _spark_buckets(spark: SparkSession, hint: str, files: Sequence[Path], out: Path) -> None:
    """Join by equal buckets of time, as long as the range of offsets, in two of which each b stands at most."""
    a, b = _streams(spark, files)
    first, last = (F.floor((F.col("t_b") - end) / BUCKET_US) for end in (HI_US, LO_US))
    a = a.select("area", F.col("id").alias("a_id"), F.col("detected_at_us").alias("t_a"))
    b = b.select("area", F.col("id").alias("b_id"), F.col("detected_at_us").alias("t_b"))
    of_a = a.withColumn("bucket", F.floor(F.col("t_a") / BUCKET_US))
    of_b = b.withColumn("bucket", F.explode(F.sequence(first, last))).hint(hint)
    in_range = (F.col("t_b") - F.col("t_a")).between(LO_US, HI_US)
    of_a.join(of_b, ["area", "bucket"]).where(in_range).select("area", "a_id", "b_id").write.parquet(str(out))


def _duckdb(threads: int, files: Sequence[Path], out: Path) -> None:
    """Join by the same buckets, from the same files; a file for each thread."""
    connection = duckdb.connect()
    bucket = f"(detected_at_us - {{}}) // {BUCKET_US}"
    buckets = f"range({bucket.format(HI_US)}, {bucket.format(LO_US)} + 1)"
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET preserve_insertion_order = false")
    listed = ", ".join(f"'{file}'" for file in files)
    connection.execute(
        f"""
        COPY (
            WITH rows AS (FROM read_parquet([{listed}], hive_partitioning = false)),
            a AS (SELECT area, id, detected_at_us AS t, detected_at_us // {BUCKET_US} AS bucket
                  FROM rows WHERE stream = '{STREAMS[0]}'),
            b AS (SELECT area, id, detected_at_us AS t, unnest({buckets}) AS bucket
                  FROM rows WHERE stream = '{STREAMS[1]}')
            SELECT a.area, a.id AS a_id, b.id AS b_id FROM a JOIN b USING (area, bucket)
            WHERE b.t - a.t BETWEEN {LO_US} AND {HI_US}
        ) TO '{out}' (FORMAT parquet, PER_THREAD_OUTPUT)
        """
    )
    connection.close()
