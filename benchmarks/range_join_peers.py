"""Peers of `timing_join`: the same pairs as a range join, each by its maker's fastest plan.

Every function yields plans; the fastest of them, tried once, competes. An answer is either a column of ids a side, in
its maker's own columns, or their count and bitwise xor, for which nobody has to keep a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documents give it

Sums = tuple[int, int, int]  # pairs, xor of the ids of a, xor of the ids of b
Answer = tuple[Any, Any] | Sums
Join = Callable[[], Answer]
Kind = Literal["ids", "sums"]


@dataclass(frozen=True)
class RangeJoin:
    """All pairs with lo <= tb - ta <= hi; times of shape (n,) each, and how many threads a peer may use."""

    a_us: npt.NDArray[np.int64]
    b_us: npt.NDArray[np.int64]
    lo_us: int
    hi_us: int
    kind: Kind
    threads: int

    @property
    def is_sorted(self) -> bool:
        """Whether both sides come in order of time."""
        return all(bool((time_us[1:] >= time_us[:-1]).all()) for time_us in (self.a_us, self.b_us))


def duckdb_joins(wanted: RangeJoin) -> Iterator[Join]:
    """Either table first, with and without DuckDB's own idea of the order, and for ids both ways to get columns."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {wanted.threads}")
    connection.execute("SET allocator_flush_threshold = '64GB'")  # it too may keep the memory that it has
    for name, time_us in (("a", wanted.a_us), ("b", wanted.b_us)):
        connection.register("arrow", pa.table({"id": np.arange(len(time_us)), "t": time_us}))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")
    columns = "a.id, b.id AS id_b" if wanted.kind == "ids" else "count(*), bit_xor(a.id), bit_xor(b.id)"
    condition = f"b.t >= a.t + ({wanted.lo_us}) AND b.t <= a.t + ({wanted.hi_us})"

    def run(tables: str, disabled: str, fetch: Callable[[Any], Answer]) -> Answer:
        connection.execute(f"SET disabled_optimizers = '{disabled}'")
        return fetch(connection.sql(f"SELECT {columns} FROM {tables} ON {condition}"))

    fetches: list[Callable[[Any], Answer]] = [lambda rows: tuple(rows.fetchall()[0])]
    if wanted.kind == "ids":
        fetches = [
            lambda rows: tuple(rows.fetchnumpy().values()),
            lambda rows: tuple(rows.to_arrow_table().columns),
        ]
    for tables in ("a JOIN b", "b JOIN a"):
        for disabled in ("", "join_order"):
            for fetch in fetches:
                yield partial(run, tables, disabled, fetch)


def polars_joins(wanted: RangeJoin) -> Iterator[Join]:
    """Bounds on either side, told that times are sorted or not, by either engine; threads are set by environment."""
    frames = [pl.LazyFrame({"id": np.arange(len(time_us)), "t": time_us}) for time_us in (wanted.a_us, wanted.b_us)]
    for told in (False, True)[: 1 + wanted.is_sorted]:
        a, b = (frame.set_sorted("t") if told else frame for frame in frames)
        b = b.rename({"id": "id_b", "t": "t_b"})
        from_a = a.with_columns(lo=pl.col("t") + wanted.lo_us, hi=pl.col("t") + wanted.hi_us)
        from_b = b.with_columns(lo=pl.col("t_b") - wanted.hi_us, hi=pl.col("t_b") - wanted.lo_us)
        for joined in (
            from_a.join_where(b, pl.col("t_b") >= pl.col("lo"), pl.col("t_b") <= pl.col("hi")),
            from_b.join_where(a, pl.col("t") >= pl.col("lo"), pl.col("t") <= pl.col("hi")),
        ):
            xors = (pl.len().cast(pl.Int64), pl.col("id").bitwise_xor(), pl.col("id_b").bitwise_xor())
            plan = joined.select("id", "id_b") if wanted.kind == "ids" else joined.select(xors)
            for engine in ("streaming", "in-memory"):
                yield partial(_run_polars, plan, engine, wanted.kind)


def _run_polars(plan: pl.LazyFrame, engine: Literal["streaming", "in-memory"], kind: Kind) -> Answer:
    found = plan.collect(engine=engine)
    return (found["id"], found["id_b"]) if kind == "ids" else tuple(found.row(0))


def spark_joins(wanted: RangeJoin) -> Iterator[Join]:
    """Spark has no range join but the nested loop: it gets the usual detour, an equal bucket and then the range.

    Buckets are as long as the range, so each b stands in two at most. Its ids go to a sink that drops them: 100 million
    rows in the driver would be a test of its memory, not of the join.
    """
    session = _spark_session(wanted.threads)
    length_us = wanted.hi_us - wanted.lo_us + 1
    a, b = (
        session.createDataFrame(pa.table({name: np.arange(len(time_us)), f"t_{name}": time_us})).cache()
        for name, time_us in (("a", wanted.a_us), ("b", wanted.b_us))
    )
    first, last = (F.floor((F.col("t_b") - end) / length_us) for end in (wanted.hi_us, wanted.lo_us))
    bucketed_a = a.withColumn("bucket", F.floor(F.col("t_a") / length_us)).cache()
    bucketed_b = b.withColumn("bucket", F.explode(F.sequence(first, last))).cache()
    bucketed_a.count()
    bucketed_b.count()
    in_range = (F.col("t_b") - F.col("t_a")).between(wanted.lo_us, wanted.hi_us)

    def joined(hint: str) -> DataFrame:
        """Plan anew: a plan that has run keeps its shuffled rows, and would only read them again."""
        return bucketed_a.join(bucketed_b.hint(hint), "bucket").where(in_range)

    for hint in ("broadcast", "shuffle_hash", "merge"):
        plan = partial(joined, hint)
        yield partial(_spark_sums, plan) if wanted.kind == "sums" else partial(_spark_ids, plan, _spark_sums(plan))


def _spark_sums(plan: Callable[[], DataFrame]) -> Sums:
    [row] = plan().agg(F.count("*"), F.bit_xor("a"), F.bit_xor("b")).collect()
    return int(row[0]), int(row[1]), int(row[2])


def _spark_ids(plan: Callable[[], DataFrame], sums: Sums) -> Answer:
    plan().select("a", "b").write.format("noop").mode("overwrite").save()
    return sums


def _spark_session(threads: int) -> SparkSession:
    settings = {
        "driver.memory": "6g",
        "driver.host": "127.0.0.1",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.shuffle.partitions": str(threads),
        "log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{threads}]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    return builder.getOrCreate()
