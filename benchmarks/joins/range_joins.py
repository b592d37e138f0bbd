"""Peers of `timing_join`: the same pairs as a range join, each by its maker's fastest plan.

Every function yields plans. An answer is either a column of ids a side, in its maker's own columns, or their count and
bitwise xor, for which nobody has to keep a pair. Packages are imported when their peer competes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa

from benchmarks.harness.declaration import Options
from benchmarks.harness.duckdb_tables import duckdb_with
from benchmarks.harness.rounds import Stopwatch, Work, timed

Sums = tuple[int, ...]
Answer = tuple[Any, ...]


def sums_of(answer: Answer) -> Sums:
    """Return what every answer has to agree on: the number of pairs, and the xor of the ids of each side."""
    if len(answer) == 3:
        return tuple(int(each) for each in answer)
    left, right = (np.asarray(column) for column in answer)
    return len(left), int(np.bitwise_xor.reduce(left)), int(np.bitwise_xor.reduce(right))


@dataclass(frozen=True)
class RangeJoin:
    """All pairs with lo <= tb - ta <= hi, times of shape (n,) each; about so many partners for each event."""

    a_us: npt.NDArray[np.int64]
    b_us: npt.NDArray[np.int64]
    lo_us: int
    hi_us: int
    answer: str
    partners: int

    @property
    def is_sorted(self) -> bool:
        return all(bool((time_us[1:] >= time_us[:-1]).all()) for time_us in (self.a_us, self.b_us))


def duckdb_joins(question: RangeJoin, options: Options) -> Iterator[Work]:
    """Either table first, with and without DuckDB's own idea of the order, and for ids both ways to get columns."""
    sides = {"a": question.a_us, "b": question.b_us}
    tables = {name: {"id": np.arange(len(time_us)), "t": time_us} for name, time_us in sides.items()}
    connection = duckdb_with(tables, options.threads)
    columns = "a.id, b.id AS id_b" if question.answer == "ids" else "count(*), bit_xor(a.id), bit_xor(b.id)"
    condition = f"b.t >= a.t + ({question.lo_us}) AND b.t <= a.t + ({question.hi_us})"

    def run(order: str, disabled: str, fetch: Callable[[Any], Answer]) -> Answer:
        connection.execute(f"SET disabled_optimizers = '{disabled}'")
        return fetch(connection.sql(f"SELECT {columns} FROM {order} ON {condition}"))

    fetches: list[Callable[[Any], Answer]] = [lambda rows: tuple(rows.fetchall()[0])]
    if question.answer == "ids":
        fetches = [
            lambda rows: tuple(rows.fetchnumpy().values()),
            lambda rows: tuple(rows.to_arrow_table().columns),
        ]
    for order in ("a JOIN b", "b JOIN a"):
        for disabled in ("", "join_order"):
            for fetch in fetches:
                yield timed(partial(run, order, disabled, fetch), sums_of)


def polars_joins(question: RangeJoin, _: Options) -> Iterator[Work]:
    """Bounds on either side, declared as sorted or not, by either engine; the environment sets its threads."""
    import polars as pl

    frames = [pl.LazyFrame({"id": np.arange(len(time_us)), "t": time_us}) for time_us in (question.a_us, question.b_us)]
    for declared in (False, True)[: 1 + question.is_sorted]:
        a, b = (frame.set_sorted("t") if declared else frame for frame in frames)
        b = b.rename({"id": "id_b", "t": "t_b"})
        from_a = a.with_columns(lo=pl.col("t") + question.lo_us, hi=pl.col("t") + question.hi_us)
        from_b = b.with_columns(lo=pl.col("t_b") - question.hi_us, hi=pl.col("t_b") - question.lo_us)
        for joined in (
            from_a.join_where(b, pl.col("t_b") >= pl.col("lo"), pl.col("t_b") <= pl.col("hi")),
            from_b.join_where(a, pl.col("t") >= pl.col("lo"), pl.col("t") <= pl.col("hi")),
        ):
            xors = (pl.len().cast(pl.Int64), pl.col("id").bitwise_xor(), pl.col("id_b").bitwise_xor())
            plan = joined.select("id", "id_b") if question.answer == "ids" else joined.select(xors)
            for engine in ("streaming", "in-memory"):
                yield timed(partial(_run_polars, plan, engine, question.answer), sums_of)


def _run_polars(plan: Any, engine: Literal["streaming", "in-memory"], answer: str) -> Answer:
    rows = plan.collect(engine=engine)
    return (rows["id"], rows["id_b"]) if answer == "ids" else tuple(rows.row(0))


def spark_joins(question: RangeJoin, options: Options) -> Iterator[Work]:
    """Spark has no range join but the nested loop: it gets the usual detour, an equal bucket and then the range.

    Buckets are as long as the range, so each b stands in two at most. Its ids go to a sink that drops them: 100 million
    rows in the driver would be a test of its memory, not of the join. It works in a Java process, which counts too.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documents give it

    session = _spark_session(options.threads)
    java = psutil.Process().children(recursive=True)
    length_us = question.hi_us - question.lo_us + 1
    a, b = (
        session.createDataFrame(pa.table({name: np.arange(len(time_us)), f"t_{name}": time_us})).cache()
        for name, time_us in (("a", question.a_us), ("b", question.b_us))
    )
    first, last = (F.floor((F.col("t_b") - end) / length_us) for end in (question.hi_us, question.lo_us))
    bucketed_a = a.withColumn("bucket", F.floor(F.col("t_a") / length_us)).cache()
    bucketed_b = b.withColumn("bucket", F.explode(F.sequence(first, last))).cache()
    bucketed_a.count()
    bucketed_b.count()
    in_range = (F.col("t_b") - F.col("t_a")).between(question.lo_us, question.hi_us)

    def sums(hint: str) -> Sums:
        # a plan that has run keeps its shuffled rows and would only read them again: each run plans anew
        joined = bucketed_a.join(bucketed_b.hint(hint), "bucket").where(in_range)
        return sums_of(tuple(joined.agg(F.count("*"), F.bit_xor("a"), F.bit_xor("b")).collect()[0]))

    def ids(hint: str, known: Sums) -> Sums:
        joined = bucketed_a.join(bucketed_b.hint(hint), "bucket").where(in_range)
        joined.select("a", "b").write.format("noop").mode("overwrite").save()
        return known

    def work(hint: str, known: Sums | None, watch: Stopwatch) -> Sums:
        with watch.including(*java):
            return sums(hint) if known is None else ids(hint, known)

    for hint in ("broadcast", "shuffle_hash", "merge"):
        yield partial(work, hint, sums(hint) if question.answer == "ids" else None)


def _spark_session(threads: int) -> Any:
    from pyspark.sql import SparkSession

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
