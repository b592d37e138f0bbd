"""Batch coalescing beside DuckDB and PostgreSQL.

Ten million rows of 54 groups. *Readings* are (group, time, value): each holds until the next of its group, and runs are
the times in which a group's value stays the same. *Facts* are (group, start, end, value), and overlap: runs are the
unions within each group and value. Everybody has the same rows in memory, in the same order, and answers with group,
start, end and value of each run, in columns; PostgreSQL with their sums only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.coalescing.duckdb_sql import best_sql, natural_sql
from benchmarks.coalescing.postgres import POSTGRES
from benchmarks.coalescing.rows import GroupRows, group_rows, sums_of
from benchmarks.harness.declaration import Benchmark, Contest, Options, Peer
from benchmarks.harness.rounds import Work, timed
from coincide import Runs, coalesce, coalesce_readings


class Size(NamedTuple):
    """What stands in the rows, in which order, and how many there are."""

    kind: str
    order: str
    rows: int


def ours(question: GroupRows, _: Options) -> Iterator[Work]:
    of = question.columns

    def columns(runs: Runs) -> tuple[Any, ...]:
        return runs.group, runs.start_us, runs.end_us, runs.value

    if question.kind == "readings":
        yield timed(lambda: columns(coalesce_readings(of["t"], of["g"], of["v"])), sums_of)
    else:
        yield timed(lambda: columns(coalesce(of["s"], of["e"], of["g"], of["v"])), sums_of)


KINDS = [
    (kind, order)
    for kind in ("readings", "facts")
    for order in ("by time", "shuffled", "by group and time")
    if (kind, order) != ("facts", "by group and time")
]
CONTEST = Contest(
    sizes=[Size(*kind, 10_000_000) for kind in KINDS],
    quick=[Size(*kind, 50_000) for kind in KINDS],
    question=lambda size: group_rows(*size),
    ours=ours,
    peers=[
        Peer("best SQL", best_sql, needs="duckdb"),
        Peer("text-book SQL", natural_sql, needs="duckdb"),
        POSTGRES,
    ],
    counts="runs",
)
BENCHMARKS = [
    Benchmark("coalescing", "runs of readings and unions of facts, beside databases", [CONTEST], keeps_memory=True)
]
