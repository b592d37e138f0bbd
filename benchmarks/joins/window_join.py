"""Batch `window_join` beside DuckDB, and beside the paper's FEW-hash in plain Python.

Exact times, which are all that the peers know. The answer is either every member's position in memory, one column a
stream (`members`), or the count of tuples and a bitwise xor of each stream's positions (`sums`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Contest, Options, Peer
from benchmarks.harness.rounds import Work, timed
from benchmarks.joins.window_join_sql import GraphJoin, bucketed_sql, natural_sql
from coincide import ConstraintGraph, Detections, Histogram, Window, window_join
from coincide.joins import window_join_blocks
from coincide.papers.recording import Recording
from coincide.papers.window_join.variants import few_hash

SPACING_US = 10_000


class Size(NamedTuple):
    """`partners`: events of each other stream, tied to it by an edge, within the edge's window, on average."""

    form: str
    streams: int
    events_a_stream: int
    partners: float
    answer: str


def question(size: Size) -> GraphJoin:
    """Return random times in order and a graph.

    Forms: clique (uniform), path (each stream up to a window after the one before it) and ring (a cycle of symmetric
    windows without its diagonals).
    """
    names = [chr(ord("a") + at) for at in range(size.streams)]
    rng, events = np.random.default_rng(size.streams), size.events_a_stream
    times_us = {name: np.sort(rng.integers(0, events * SPACING_US, events)) for name in names}
    near = Window(size.partners * SPACING_US / 2e6)
    if size.form == "clique":
        graph = ConstraintGraph.clique(names, near)
    elif size.form == "path":
        graph = ConstraintGraph.path(names, Window(lo_s=0, hi_s=size.partners * SPACING_US / 1e6))
    else:
        graph = ConstraintGraph.graph([(a, b, near) for a, b in pairwise([*names, names[0]])])
    return GraphJoin(times_us, graph, size.answer)


def ours(question: GraphJoin, _: Options) -> Iterator[Work]:
    batches = batches_of(question)

    def sums() -> tuple[int, ...]:
        total = np.zeros(1 + len(batches), np.int64)
        for part in window_join_blocks(batches, question.graph):
            total[0] += len(part)
            total[1:] ^= [np.bitwise_xor.reduce(column) for column in part.members.T]
        return tuple(total.tolist())

    def members() -> tuple[np.ndarray, ...]:
        return tuple(window_join(batches, question.graph).members.T)

    yield timed(sums if question.answer == "sums" else members, question.sums_of)


def few_hash_joins(question: GraphJoin, _: Options) -> Iterator[Work]:
    """Yield the paper's algorithm, one tuple after the other."""
    arrivals = Recording(batches_of(question))
    yield timed(
        lambda: few_hash(arrivals, question.graph).members, lambda rows: question.sums_of(tuple(np.array(rows).T))
    )


def batches_of(question: GraphJoin) -> dict[str, Detections]:
    return {name: Detections(time_us, [Histogram.point()]) for name, time_us in question.times_us.items()}


FORMS = (
    ("clique", 3, 10.0),
    ("clique", 4, 4.0),
    ("clique", 5, 2.0),
    ("path", 3, 8.0),
    ("path", 4, 3.0),
    ("ring", 4, 3.0),
)
SQL = Contest(
    sizes=[
        Size(form, streams, 300_000, partners, answer)
        for form, streams, partners in FORMS
        for answer in ("members", "sums")
    ],
    quick=[Size(form, 4, 5_000, 3.0, answer) for form in ("clique", "path", "ring") for answer in ("members", "sums")],
    question=question,
    ours=ours,
    peers=[Peer("natural SQL", natural_sql, needs="duckdb"), Peer("bucketed SQL", bucketed_sql, needs="duckdb")],
    counts="tuples",
    rounds=3,
)
PAPER = Contest(
    sizes=[Size(form, streams, 5_000, partners, "members") for form, streams, partners in FORMS[:3]],
    quick=[Size("clique", 3, 500, 3.0, "members")],
    question=question,
    ours=ours,
    peers=[Peer("FEW-hash in Python", few_hash_joins)],
    counts="tuples",
    rounds=1,
    title="The paper's FEW-hash:",
)
BENCHMARKS = [
    Benchmark("window_join", "all tuples of 3 to 5 streams in a graph, beside DuckDB", [SQL, PAPER], keeps_memory=True)
]
