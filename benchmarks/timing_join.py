"""Batch `timing_join` beside DuckDB, Polars and Spark: `python -m benchmarks.timing_join`, or `make bench-join`.

Two streams of events, one template a side, so that for the peers the condition is a plain range of offsets. The answer
is either both ids of every pair in memory, each in its maker's own columns (`ids`; Spark may drop them), or their count
and bitwise xor, for which nobody has to keep a pair (`sums`). Rounds of all competitors alternate; times are CPU
time with one thread each, which other work on the machine disturbs least, and wall time with all threads. The ratios
are what matters.

Everybody keeps the memory that they have been given: the answers have up to 1.6 GB, and where memory goes back to the
system after each round, what is measured is how fast the system hands it out again.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

import numpy as np
import psutil

from benchmarks.kept_memory import with_memory_kept
from benchmarks.range_join_peers import Answer, Join, Kind, RangeJoin, Sums, duckdb_joins, polars_joins, spark_joins
from coincide import Detections, Histogram, Window, satisfaction_offsets, timing_join
from coincide.joins import timing_join_blocks

SPACING_US = 10_000
TEMPLATE = Histogram.uniform(-0.001, 0.001)
THRESHOLD = 0.5
PEERS = ("duckdb", "polars", "spark")


def our_joins(wanted: RangeJoin, window: Window) -> Iterator[Join]:
    a, b = (Detections(time_us, [TEMPLATE]) for time_us in (wanted.a_us, wanted.b_us))

    def ids() -> Answer:
        pairs = timing_join(a, b, window, THRESHOLD)
        return pairs.left, pairs.right

    def sums() -> Answer:
        count, left, right = 0, 0, 0
        for pairs in timing_join_blocks(a, b, window, THRESHOLD):
            part = sums_of((pairs.left, pairs.right))
            count, left, right = count + part[0], left ^ part[1], right ^ part[2]
        return count, left, right

    yield ids if wanted.kind == "ids" else sums


def sums_of(answer: Answer) -> Sums:
    """Return what every answer has to agree on; columns are summed up, outside the measured time."""
    if len(answer) == 3:
        return answer
    left, right = (np.asarray(column) for column in answer)
    return len(left), int(np.bitwise_xor.reduce(left)), int(np.bitwise_xor.reduce(right))


def cpu_seconds() -> float:
    """CPU time of this process and of its children: Spark works in one."""
    children = psutil.Process().children(recursive=True)
    return time.process_time() + sum(sum(child.cpu_times()[:2]) for child in children)


def seconds(join: Join, clock: Callable[[], float]) -> tuple[float, Sums]:
    """How long the join took, and its answer."""
    start = clock()
    answer = join()
    elapsed = clock() - start
    return elapsed, sums_of(answer)


def range_join(events: int, partners: int, kind: Kind, threads: int, *, is_sorted: bool) -> tuple[RangeJoin, Window]:
    """Return what peers are asked for, and the window that means the same."""
    rng = np.random.default_rng(partners)
    a_us, b_us = (rng.integers(0, events * SPACING_US, events) for _ in "ab")
    if is_sorted:
        a_us, b_us = np.sort(a_us), np.sort(b_us)
    window = Window(partners * SPACING_US / 2e6)
    (lo_us, hi_us), *_ = satisfaction_offsets(TEMPLATE, TEMPLATE, window, THRESHOLD).tolist()
    return RangeJoin(a_us, b_us, lo_us, hi_us, kind, threads), window


def plans_of(name: str, wanted: RangeJoin, window: Window) -> Iterator[Join]:
    if name == "coincide":
        return our_joins(wanted, window)
    return {"duckdb": duckdb_joins, "polars": polars_joins, "spark": spark_joins}[name](wanted)


def measure(wanted: RangeJoin, window: Window, names: list[str], rounds: int) -> str:
    """Return a row of the table: pairs, ratios to us, and seconds of everybody's fastest plan."""
    clock = cpu_seconds if wanted.threads == 1 else time.perf_counter
    joins = {name: min(plans_of(name, wanted, window), key=lambda plan: seconds(plan, clock)[0]) for name in names}
    taken: dict[str, list[float]] = {name: [] for name in joins}
    answers = set()
    for _ in range(rounds):
        for name, join in joins.items():
            elapsed, answer = seconds(join, clock)
            taken[name].append(elapsed)
            answers.add(answer)
    if len(answers) != 1:
        raise SystemExit(f"the joins disagree: {answers}")
    s = {name: statistics.median(runs) for name, runs in taken.items()}
    ratios = [f"{s[name] / s['coincide']:.1f}" for name in names[1:]]
    times = [f"{s[name]:.3f}" for name in names]
    return " | ".join([f"{answers.pop()[0]:,}", *ratios, *times])


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--partners", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="for each peer; we use one")
    parser.add_argument("--unsorted", action="store_true", help="leave the events as they come")
    parser.add_argument("--answer", choices=["ids", "sums"], nargs="+", default=["ids", "sums"])
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=["duckdb", "polars"])
    return parser.parse_args()


def main() -> None:
    arguments = parsed_arguments()
    names, is_sorted = ["coincide", *arguments.peers], not arguments.unsorted
    print(f"Python {platform.python_version()}, {platform.machine()}, ", end="")
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "duckdb", "polars", "pyspark")))
    print(f"{arguments.threads} thread(s) a peer, {'CPU' if arguments.threads == 1 else 'wall'} seconds")
    columns = ["events a side", "order", "answer", "partners", "pairs", *(f"vs {name}" for name in names[1:])]
    columns += [f"{name} s" for name in names]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for partners in arguments.partners:
        for kind in arguments.answer:
            wanted, window = range_join(arguments.events, partners, kind, arguments.threads, is_sorted=is_sorted)
            row = measure(wanted, window, names, arguments.rounds)
            order = "sorted" if is_sorted else "unsorted"
            print(f"| {arguments.events:,} | {order} | {kind} | {partners} | {row} |", flush=True)


if __name__ == "__main__":
    with_memory_kept("benchmarks.timing_join")
    main()
