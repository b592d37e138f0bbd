"""Batch `timing_join` beside DuckDB and Polars, ids only, one thread each: `python -m benchmarks.timing_join`.

Two streams of events sorted by time, one template a side, so that for the peers the condition is a plain range of
offsets. The answer is either both ids of every pair in memory, each in its maker's own columns (`--answer ids`), or
their count and bitwise xor, for which nobody has to keep a pair (`--answer sums`). DuckDB and Polars get the fastest
of their plans. Rounds of all competitors alternate; times are CPU time of the process, which other work on the
machine disturbs least. The ratios are what matters.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from coincide import Histogram, Window, satisfaction_offsets
from coincide.detections import Detections
from coincide.timing_join import timing_join, timing_join_blocks

SPACING_US = 10_000
TEMPLATE = Histogram.uniform(-0.001, 0.001)
THRESHOLD = 0.5

Times = list[npt.NDArray[np.int64]]
Sums = tuple[int, int, int]  # pairs, xor of the ids of a, xor of the ids of b
Answer = tuple[Any, Any] | Sums  # a column of ids a side, or their sums
Join = Callable[[], Answer]
Kind = Literal["ids", "sums"]


def our_joins(times: Times, window: Window, kind: Kind) -> Iterator[Join]:
    a, b = (Detections(time_us, [TEMPLATE]) for time_us in times)

    def ids() -> Answer:
        pairs = timing_join(a, b, window, THRESHOLD)
        return pairs.left, pairs.right

    def sums() -> Answer:
        count, left, right = 0, 0, 0
        for pairs in timing_join_blocks(a, b, window, THRESHOLD):
            part = sums_of((pairs.left, pairs.right))
            count, left, right = count + part[0], left ^ part[1], right ^ part[2]
        return count, left, right

    yield ids if kind == "ids" else sums


def duckdb_joins(times: Times, lo_us: int, hi_us: int, kind: Kind) -> Iterator[Join]:
    """Either table first, with and without DuckDB's own idea of the order, and for ids both ways to get columns."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, time_us in zip("ab", times, strict=True):
        connection.register("arrow", pa.table({"id": np.arange(len(time_us)), "t": time_us}))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")
    wanted = "a.id, b.id AS id_b" if kind == "ids" else "count(*), bit_xor(a.id), bit_xor(b.id)"

    def run(tables: str, disabled: str, fetch: Callable[[Any], Answer]) -> Answer:
        connection.execute(f"SET disabled_optimizers = '{disabled}'")
        condition = f"b.t >= a.t + ({lo_us}) AND b.t <= a.t + ({hi_us})"
        return fetch(connection.sql(f"SELECT {wanted} FROM {tables} ON {condition}"))

    fetches: list[Callable[[Any], Answer]] = [lambda rows: tuple(rows.fetchall()[0])]
    if kind == "ids":
        fetches = [
            lambda rows: tuple(rows.fetchnumpy().values()),
            lambda rows: tuple(rows.to_arrow_table().columns),
        ]
    for tables in ("a JOIN b", "b JOIN a"):
        for disabled in ("", "join_order"):
            for fetch in fetches:
                yield partial(run, tables, disabled, fetch)


def polars_joins(times: Times, lo_us: int, hi_us: int, kind: Kind) -> Iterator[Join]:
    """Bounds on either side, told that times are sorted or not, by either engine."""
    frames = [pl.LazyFrame({"id": np.arange(len(time_us)), "t": time_us}) for time_us in times]
    is_sorted = all((time_us[1:] >= time_us[:-1]).all() for time_us in times)
    for told in (False, True)[: 1 + is_sorted]:
        a, b = (frame.set_sorted("t") if told else frame for frame in frames)
        b = b.rename({"id": "id_b", "t": "t_b"})
        from_a = a.with_columns(lo=pl.col("t") + lo_us, hi=pl.col("t") + hi_us)
        from_b = b.with_columns(lo=pl.col("t_b") - hi_us, hi=pl.col("t_b") - lo_us)
        for joined in (
            from_a.join_where(b, pl.col("t_b") >= pl.col("lo"), pl.col("t_b") <= pl.col("hi")),
            from_b.join_where(a, pl.col("t") >= pl.col("lo"), pl.col("t") <= pl.col("hi")),
        ):
            xors = (pl.len().cast(pl.Int64), pl.col("id").bitwise_xor(), pl.col("id_b").bitwise_xor())
            plan = joined.select("id", "id_b") if kind == "ids" else joined.select(xors)
            for engine in ("streaming", "in-memory"):
                yield partial(run_polars, plan, engine, kind)


def run_polars(plan: pl.LazyFrame, engine: Literal["streaming", "in-memory"], kind: Kind) -> Answer:
    found = plan.collect(engine=engine)
    return (found["id"], found["id_b"]) if kind == "ids" else tuple(found.row(0))


def sums_of(answer: Answer) -> Sums:
    """Return what every answer has to agree on; columns are summed up, outside the measured time."""
    if len(answer) == 3:
        return answer
    left, right = (np.asarray(column) for column in answer)
    return len(left), int(np.bitwise_xor.reduce(left)), int(np.bitwise_xor.reduce(right))


def seconds(join: Join) -> tuple[float, Sums]:
    start = time.process_time()
    answer = join()
    elapsed = time.process_time() - start
    return elapsed, sums_of(answer)


def competitors(events: int, partners: int, kind: Kind, *, is_sorted: bool) -> dict[str, Join]:
    """Return the fastest of everybody's joins."""
    rng = np.random.default_rng(partners)
    times = [rng.integers(0, events * SPACING_US, events) for _ in "ab"]
    if is_sorted:
        times = [np.sort(time_us) for time_us in times]
    window = Window(partners * SPACING_US / 2e6)
    (lo_us, hi_us), *_ = satisfaction_offsets(TEMPLATE, TEMPLATE, window, THRESHOLD).tolist()
    joins = {
        "coincide": our_joins(times, window, kind),
        "duckdb": duckdb_joins(times, lo_us, hi_us, kind),
        "polars": polars_joins(times, lo_us, hi_us, kind),
    }
    return {name: min(plans, key=lambda plan: seconds(plan)[0]) for name, plans in joins.items()}


def measure(events: int, partners: int, rounds: int, kind: Kind, *, is_sorted: bool) -> None:
    joins = competitors(events, partners, kind, is_sorted=is_sorted)
    taken: dict[str, list[float]] = {name: [] for name in joins}
    answers = set()
    for _ in range(rounds):
        for name, join in joins.items():
            elapsed, answer = seconds(join)
            taken[name].append(elapsed)
            answers.add(answer)
    if len(answers) != 1:
        raise SystemExit(f"the joins disagree: {answers}")
    s = {name: statistics.median(runs) for name, runs in taken.items()}
    ratios = (f"{s['duckdb'] / s['coincide']:.1f}", f"{s['polars'] / s['coincide']:.1f}")
    order = "sorted" if is_sorted else "unsorted"
    cells = (f"{events:,}", order, kind, partners, f"{answers.pop()[0]:,}", *ratios)
    print("| " + " | ".join(map(str, (*cells, *(f"{value:.3f}" for value in s.values())))) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--partners", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unsorted", action="store_true", help="leave the events as they come")
    parser.add_argument("--answer", choices=["ids", "sums"], nargs="+", default=["ids", "sums"])
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, duckdb {duckdb.__version__}, ", end="")
    print(f"polars {pl.__version__}, {platform.machine()}, one thread each; bars: 4x DuckDB, 5x Polars")
    print("| events a side | order | answer | partners | pairs | vs DuckDB | vs Polars | coincide s ", end="")
    print("| duckdb s | polars s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for partners in arguments.partners:
        for kind in arguments.answer:
            measure(arguments.events, partners, arguments.rounds, kind, is_sorted=not arguments.unsorted)


if __name__ == "__main__":
    main()
