"""Batch coalescing beside DuckDB and PostgreSQL: `python -m benchmarks coalescing`.

Ten million rows of 54 groups. *Readings* are (group, time, value): each holds until the next of its group, and runs are
the times in which a group's value stays the same. *Facts* are (group, start, end, value), and overlap: runs are the
unions within each group and value. Everybody has the same rows in memory, in the same order, and answers with group,
start, end and value of each run, in columns; PostgreSQL with their sums only. All sums have to agree.

Rounds of all competitors alternate; CPU time, one thread each, of the server's process for PostgreSQL; wall time where
the peers have more (`--threads`). Everybody keeps the memory that they have been given. *Natural* is the text-book SQL,
*best* the fastest SQL that we found (benchmarks/coalescing_duckdb.py).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

import psutil

from benchmarks.coalescing_duckdb import best_sql, natural_sql
from benchmarks.coalescing_postgres import Postgres, why_absent
from benchmarks.coalescing_rows import Answer, Coalescing, Kind, Order, Wanted, sums_of, wanted_of
from benchmarks.kept_memory import with_memory_kept
from coincide import Runs, coalesce, coalesce_readings

OURS = "coincide"
KINDS: tuple[Kind, ...] = ("readings", "facts")
ORDERS: tuple[Order, ...] = ("by time", "shuffled", "by group and time")

Plans = Callable[[Wanted], Iterator[tuple[str, Coalescing]]]
Clock = Callable[[], float]
DUCKDB: dict[str, Plans] = {"natural": natural_sql, "best": best_sql}


def our_runs(wanted: Wanted) -> Iterator[tuple[str, Coalescing]]:
    of = wanted.columns

    def columns(runs: Runs) -> Answer:
        return runs.group, runs.start_us, runs.end_us, runs.value

    if wanted.kind == "readings":
        yield "", lambda: columns(coalesce_readings(of["t"], of["g"], of["v"]))
    else:
        yield "", lambda: columns(coalesce(of["s"], of["e"], of["g"], of["v"]))


def cpu_seconds(server: Postgres | None) -> float:
    """CPU time of this process, and of the server's that works for it."""
    of_server = sum(psutil.Process(server.pid).cpu_times()[:2]) if server else 0.0
    return time.process_time() + of_server


def seconds(coalescing: Coalescing, clock: Clock) -> tuple[float, tuple[int, ...]]:
    """How long it took, and what the answer sums up to."""
    start = clock()
    answer = coalescing()
    elapsed = clock() - start
    return elapsed, sums_of(answer)


def fastest(plans: Iterator[tuple[str, Coalescing]], clock: Clock) -> tuple[str, Coalescing]:
    """Try every plan once."""
    tried = [(seconds(coalescing, clock)[0], name, coalescing) for name, coalescing in plans]
    return min(tried, key=lambda each: each[0])[1:]


def measure(wanted: Wanted, peers: dict[str, Plans], clock: Clock, rounds: int) -> str:
    """Return a row of the table: runs, ratios to us, seconds, and which SQL was the best."""
    chosen = {name: fastest(plans(wanted), clock) for name, plans in {OURS: our_runs, **peers}.items()}
    taken: dict[str, list[float]] = {name: [] for name in chosen}
    answers = set()
    for _ in range(rounds):
        for name, (_, coalescing) in chosen.items():
            elapsed, answer = seconds(coalescing, clock)
            taken[name].append(elapsed)
            answers.add(answer)
    if len(answers) != 1:
        raise SystemExit(f"they disagree: {answers}")
    s = {name: statistics.median(runs) for name, runs in taken.items()}
    ratios = [f"{s[name] / s[OURS]:.1f}" for name in peers]
    plans = [f"{s[name]:.2f} ({chosen[name][0]})" for name in peers]
    return " | ".join([f"{answers.pop()[0]:,}", *ratios, f"{s[OURS]:.3f}", *plans])


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="for each peer; we use one")
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--orders", choices=ORDERS, nargs="+", default=ORDERS)
    parser.add_argument("--peers", choices=DUCKDB, nargs="*", default=[*DUCKDB])
    parser.add_argument("--postgres", metavar="URL", help="a server on this machine")
    return parser.parse_args()


def main() -> None:
    arguments = parsed_arguments()
    peers = {f"DuckDB {name}": DUCKDB[name] for name in arguments.peers}
    server = None
    if reason := why_absent(arguments.postgres):
        print(f"PostgreSQL skipped: {reason}")
    else:
        server = Postgres(arguments.postgres)
        peers["PostgreSQL range_agg"] = server.range_agg
    clock = (lambda: cpu_seconds(server)) if arguments.threads == 1 else time.perf_counter
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "duckdb")), end="; ")
    print(f"PostgreSQL {server.version}" if server else "", f"{arguments.threads} thread(s) a peer", sep="; ")
    columns = [
        "rows",
        "order",
        "runs",
        *(f"vs {name}" for name in peers),
        f"{OURS} s",
        *(f"{name} s" for name in peers),
    ]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for kind in arguments.kinds:
        for order in arguments.orders:
            row = measure(wanted_of(kind, order, arguments.rows, arguments.threads), peers, clock, arguments.rounds)
            print(f"| {kind} | {order} | {row} |", flush=True)


if __name__ == "__main__":
    with_memory_kept("benchmarks.coalescing")
    main()
