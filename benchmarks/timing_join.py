"""Batch `timing_join` beside DuckDB and Polars, ids only, one thread each: `python -m benchmarks.timing_join`.

Two streams of events sorted by time, one template a side, so that for the peers the condition is a plain range of
offsets. Everybody hands each pair's two ids to the same cheap consumer (count and bitwise xor). Rounds of all
competitors alternate; DuckDB gets the fastest of its plans. The ratios are what matters.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial

os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from coincide import Histogram, Window, satisfaction_offsets
from coincide.detections import Detections
from coincide.timing_join import timing_join_blocks

SPACING_US = 10_000
TEMPLATE = Histogram.uniform(-0.001, 0.001)
THRESHOLD = 0.5
PLANS = [(order, off) for off in ("", "join_order") for order in (("a", "b"), ("b", "a"))]

Answer = tuple[int, int, int]  # pairs, xor of the ids of a, xor of the ids of b
Join = Callable[[], Answer]


def ours(a: Detections, b: Detections, window: Window) -> Answer:
    count, left, right = 0, 0, 0
    for pairs in timing_join_blocks(a, b, window, THRESHOLD):
        count += len(pairs)
        left ^= int(np.bitwise_xor.reduce(pairs.left))
        right ^= int(np.bitwise_xor.reduce(pairs.right))
    return count, left, right


def duckdb_join(
    connection: duckdb.DuckDBPyConnection, plan: tuple[tuple[str, str], str], lo_us: int, hi_us: int
) -> Answer:
    (first, second), disabled = plan
    connection.execute(f"SET disabled_optimizers = '{disabled}'")
    row = connection.execute(
        f"SELECT count(*), bit_xor(a.id), bit_xor(b.id) FROM {first} JOIN {second} "
        f"ON b.t >= a.t + ({lo_us}) AND b.t <= a.t + ({hi_us})"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def polars_join(a: pl.LazyFrame, b: pl.LazyFrame, lo_us: int, hi_us: int) -> Answer:
    bounded = a.with_columns(lo=pl.col("t") + lo_us, hi=pl.col("t") + hi_us)
    joined = bounded.join_where(b, pl.col("t_b") >= pl.col("lo"), pl.col("t_b") <= pl.col("hi"))
    count, left, right = (
        joined.select(pl.len(), pl.col("id").bitwise_xor(), pl.col("id_b").bitwise_xor()).collect().row(0)
    )
    return int(count), int(left), int(right)


def competitors(events: int, partners: int, *, is_sorted: bool) -> dict[str, Join]:
    rng = np.random.default_rng(partners)
    times = [rng.integers(0, events * SPACING_US, events) for _ in "ab"]
    if is_sorted:
        times = [np.sort(time_us) for time_us in times]
    window = Window(partners * SPACING_US / 2e6)
    (lo_us, hi_us), *_ = satisfaction_offsets(TEMPLATE, TEMPLATE, window, THRESHOLD).tolist()
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, time_us in zip("ab", times, strict=True):
        connection.register("arrow", pa.table({"id": np.arange(events), "t": time_us}))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")
    a, b = (pl.LazyFrame({"id": np.arange(events), "t": time_us}) for time_us in times)
    frames = [Detections(time_us, [TEMPLATE]) for time_us in times]
    plans = [partial(duckdb_join, connection, plan, lo_us, hi_us) for plan in PLANS]
    return {
        "coincide": partial(ours, frames[0], frames[1], window),
        "duckdb": min(plans, key=lambda plan: seconds(plan)[0]),
        "polars": partial(polars_join, a, b.rename({"id": "id_b", "t": "t_b"}), lo_us, hi_us),
    }


def seconds(join: Join) -> tuple[float, Answer]:
    start = time.perf_counter()
    answer = join()
    return time.perf_counter() - start, answer


def measure(events: int, partners: int, rounds: int, *, is_sorted: bool) -> None:
    joins = competitors(events, partners, is_sorted=is_sorted)
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
    cells = (
        f"{events:,}",
        order,
        partners,
        f"{answers.pop()[0]:,}",
        *ratios,
        *(f"{value:.3f}" for value in s.values()),
    )
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--partners", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unsorted", action="store_true", help="leave the events as they come")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, duckdb {duckdb.__version__}, ", end="")
    print(f"polars {pl.__version__}, {platform.machine()}, one thread each; bars: 4x DuckDB, 5x Polars")
    print("| events a side | order | partners | pairs | vs DuckDB | vs Polars | coincide s | duckdb s | polars s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for partners in arguments.partners:
        measure(arguments.events, partners, arguments.rounds, is_sorted=not arguments.unsorted)


if __name__ == "__main__":
    main()
