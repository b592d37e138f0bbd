"""Batch `timing_join` beside the range joins of DuckDB, Polars and Spark.

Two streams of events, one template a side, so that for the peers the condition is a plain range of offsets. The answer
is either both ids of every pair in memory, each in its maker's own columns (`ids`; Spark may drop them), or their count
and bitwise xor, for which nobody has to keep a pair (`sums`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Contest, Options, Peer
from benchmarks.harness.rounds import Work, timed
from benchmarks.joins.range_joins import RangeJoin, Sums, duckdb_joins, polars_joins, spark_joins, sums_of
from coincide import Detections, Histogram, Window, satisfaction_offsets, timing_join
from coincide.joins import timing_join_blocks

SPACING_US = 10_000
TEMPLATE = Histogram.uniform(-0.001, 0.001)
THRESHOLD = 0.5


class Size(NamedTuple):
    """`partners`: events of the other stream within an event's window, on average."""

    events_a_side: int
    order: str
    answer: str
    partners: int


def question(size: Size) -> RangeJoin:
    """Return random events and the range of offsets that means the same as the window."""
    rng = np.random.default_rng(size.partners)
    times_us = [rng.integers(0, size.events_a_side * SPACING_US, size.events_a_side) for _ in "ab"]
    a_us, b_us = map(np.sort, times_us) if size.order == "sorted" else times_us
    (lo_us, hi_us), *_ = satisfaction_offsets(TEMPLATE, TEMPLATE, window_of(size.partners), THRESHOLD).tolist()
    return RangeJoin(a_us, b_us, lo_us, hi_us, size.answer, size.partners)


def window_of(partners: int) -> Window:
    return Window(partners * SPACING_US / 2e6)


def ours(join: RangeJoin, _: Options) -> Iterator[Work]:
    a, b = (Detections(time_us, [TEMPLATE]) for time_us in (join.a_us, join.b_us))
    window = window_of(join.partners)

    def sums() -> Sums:
        count, left, right = 0, 0, 0
        for pairs in timing_join_blocks(a, b, window, THRESHOLD):
            part = sums_of((pairs.left, pairs.right))
            count, left, right = count + part[0], left ^ part[1], right ^ part[2]
        return count, left, right

    if join.answer == "sums":
        yield timed(sums, sums_of)
    else:
        yield timed(lambda: timing_join(a, b, window, THRESHOLD), lambda pairs: sums_of((pairs.left, pairs.right)))


CONTEST = Contest(
    sizes=[
        *(Size(1_000_000, "sorted", answer, partners) for partners in (1, 10, 100) for answer in ("ids", "sums")),
        *(Size(100_000, "sorted", answer, 1_000) for answer in ("ids", "sums")),
        *(Size(1_000_000, "unsorted", "ids", partners) for partners in (1, 10, 100)),
    ],
    quick=[Size(20_000, order, answer, 5) for order in ("sorted", "unsorted") for answer in ("ids", "sums")],
    question=question,
    ours=ours,
    peers=[
        Peer("duckdb", duckdb_joins, needs="duckdb"),
        Peer("polars", polars_joins, needs="polars"),
        Peer("spark", spark_joins, needs="pyspark", usual=False),
    ],
    counts="pairs",
)
BENCHMARKS = [
    Benchmark(
        "timing_join", "all pairs of two streams within a window, beside range joins", [CONTEST], keeps_memory=True
    )
]
