"""Batch `window_join` beside DuckDB: `python -m benchmarks window_join`.

Exact times, which are all that the peers know. The answer is either every member's position in memory, one column a
stream (`members`), or the count of tuples and a bitwise xor of each stream's positions (`sums`), for which nobody has
to keep a tuple. Rounds of all competitors alternate, CPU time, one thread each; everybody keeps the memory that they
have been given. Natural SQL has every window as a range condition; bucketed SQL is made by hand.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

from benchmarks.kept_memory import with_memory_kept
from benchmarks.window_join_peers import PEERS
from benchmarks.window_join_settings import (
    SETTINGS,
    Answer,
    Join,
    Kind,
    Sums,
    WindowJoinWanted,
    sums_of,
    wanted_of,
)
from coincide import Detections, Histogram, window_join
from coincide.joins import window_join_blocks
from coincide.papers.window_join.algorithms import few_hash
from coincide.papers.window_join.window_replay import Arrivals

FEW_EVENTS = 5_000  # plain Python takes seconds for so many


def our_joins(wanted: WindowJoinWanted) -> Iterator[Join]:
    frames = {name: Detections(time_us, [Histogram.point()]) for name, time_us in wanted.times_us.items()}

    def members() -> Answer:
        return tuple(window_join(frames, wanted.graph).members.T)

    def sums() -> Answer:
        total = np.zeros(1 + len(frames), np.int64)
        for part in window_join_blocks(frames, wanted.graph):
            total[0] += len(part)
            total[1:] ^= [np.bitwise_xor.reduce(column) for column in part.members.T]
        return tuple(total.tolist())

    yield members if wanted.kind == "members" else sums


def seconds(join: Join, streams: int) -> tuple[float, Sums]:
    """How long the join took, and its answer."""
    start = time.process_time()
    answer = join()
    elapsed = time.process_time() - start
    return elapsed, sums_of(answer, streams)


def measure(wanted: WindowJoinWanted, names: list[str], rounds: int) -> str:
    """Return a row of the table: tuples, ratios to us, and seconds of everybody's fastest plan."""
    streams, makers = len(wanted.times_us), {"coincide": our_joins, **PEERS}
    joins = {name: min(makers[name](wanted), key=lambda plan: seconds(plan, streams)[0]) for name in names}
    taken: dict[str, list[float]] = {name: [] for name in joins}
    answers = set()
    for _ in range(rounds):
        for name, join in joins.items():
            elapsed, answer = seconds(join, streams)
            taken[name].append(elapsed)
            answers.add(answer)
    if len(answers) != 1:
        raise SystemExit(f"the joins disagree: {answers}")
    s = {name: statistics.median(runs) for name, runs in taken.items()}
    ratios = [f"{s[name] / s['coincide']:.1f}" for name in names[1:]]
    return " | ".join([f"{answers.pop()[0]:,}", *ratios, *(f"{s[name]:.3f}" for name in names)])


def few_hash_row(form: str, streams: int, events: int, partners: float) -> str:
    """Return a row of the second table: the paper's FEW-hash in plain Python beside us, on the same frames."""
    wanted = wanted_of(form, streams, events, partners, "members")
    frames = {name: Detections(time_us, [Histogram.point()]) for name, time_us in wanted.times_us.items()}
    arrivals = Arrivals(frames)
    taken = []
    for join in (lambda: window_join(frames, wanted.graph).members, lambda: few_hash(arrivals, wanted.graph).members):
        start = time.process_time()
        members = join()
        taken.append(time.process_time() - start)
    ours_s, few_s = taken
    return f"| {form} | {streams} | {events:,} | {len(members):,} | {few_s / ours_s:.0f} | {ours_s:.4f} | {few_s:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--answer", choices=["members", "sums"], nargs="+", default=["members", "sums"])
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=["natural", "bucketed"])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    names = ["coincide", *arguments.peers]
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "duckdb")), "; CPU seconds, one thread", sep="")
    columns = ["form", "streams", "events a stream", "partners", "answer", "tuples"]
    columns += [*(f"vs {name}" for name in names[1:]), *(f"{name} s" for name in names)]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    kinds: list[Kind] = arguments.answer
    for form, streams, events, partners in SETTINGS:
        for kind in kinds:
            row = measure(wanted_of(form, streams, events, partners, kind), names, arguments.rounds)
            print(f"| {form} | {streams} | {events:,} | {partners:g} | {kind} | {row} |", flush=True)
    print("\n| form | streams | events a stream | tuples | vs FEW-hash in Python | coincide s | FEW-hash s |")
    print("|---" * 7 + "|")
    for streams, partners in ((3, 10.0), (4, 4.0), (5, 2.0)):
        print(few_hash_row("clique", streams, FEW_EVENTS, partners), flush=True)


if __name__ == "__main__":
    with_memory_kept("benchmarks.window_join")
    main()
