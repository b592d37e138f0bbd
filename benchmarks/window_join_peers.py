"""Peers of `window_join` on exact times: DuckDB by natural SQL and by hand-made buckets, each by its fastest plan.

`python -m benchmarks.window_join_peers` prints what the peers alone take. Every function yields plans; the fastest of
them, tried once, competes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.window_join_settings import (
    SETTINGS,
    Answer,
    Bound,
    Join,
    Sums,
    WindowJoinWanted,
    sums_of,
    wanted_of,
)
from coincide import ConstraintGraph


def natural_sql(wanted: WindowJoinWanted) -> Iterator[Join]:
    """Every window as a range condition: tables in any chain of neighbours, with and without DuckDB's own order."""
    connection = _connection(wanted)
    ranges = " AND ".join(_in_range(*bound) for bound in wanted.bounds)
    for order in _orders(wanted.graph):
        for disabled in ("", "join_order"):
            yield partial(_run, connection, _select(wanted, f"FROM {', '.join(order)} WHERE {ranges}"), disabled)


def absolute_sql(wanted: WindowJoinWanted) -> Iterator[Join]:
    """Every window as most people write it, a difference within bounds, which DuckDB can only try on all pairs."""
    connection = _connection(wanted)
    differences = " AND ".join(f"{b}.t - {a}.t BETWEEN {lo} AND {hi}" for a, b, lo, hi in wanted.bounds)
    for disabled in ("", "join_order"):
        sql = _select(wanted, f"FROM {', '.join(wanted.graph.roles)} WHERE {differences}")
        yield partial(_run, connection, sql, disabled)


def bucketed_sql(wanted: WindowJoinWanted) -> Iterator[Join]:
    """Join on equal buckets: the first stream keeps its bucket, each event of another stands in all that it reaches.

    Buckets are as long as the longest window, or half as long: fewer false partners for more copies. (A uniform clique
    asked for by its newest member, the union of all streams' turns, was slower than the plain one in every setting.)
    """
    connection = _connection(wanted)
    longest_us = max(hi_us - lo_us for *_, lo_us, hi_us in wanted.bounds)
    for length_us in (longest_us + 1, longest_us // 2 + 1):
        for order in _orders(wanted.graph):
            sql = _select(wanted, _bucketed(order, wanted.bounds, length_us))
            for disabled in ("", "join_order"):
                yield partial(_run, connection, sql, disabled)


def _bucketed(order: Sequence[str], bounds: Sequence[Bound], length_us: int) -> str:
    clauses = [f"FROM (SELECT id, t, t // {length_us} AS bucket FROM {order[0]}) AS {order[0]}"]
    for at, stream in enumerate(order[1:], 1):
        near = [_toward(stream, bound) for bound in bounds if stream in bound[:2]]
        to_earlier = [bound for bound in near if bound[0] in order[:at]]
        anchor, lo_us, hi_us = to_earlier[0]
        reached = f"unnest(generate_series((t - ({hi_us})) // {length_us}, (t - ({lo_us})) // {length_us}))"
        ranges = [_in_range(other, stream, lo, hi) for other, lo, hi in to_earlier]
        clauses.append(
            f"JOIN (SELECT id, t, t // {length_us} AS bucket, {reached} AS reached FROM {stream}) AS {stream} "
            f"ON {stream}.reached = {anchor}.bucket AND {' AND '.join(ranges)}"
        )
    return " ".join(clauses)


def _in_range(a: str, b: str, lo_us: int, hi_us: int) -> str:
    return f"{b}.t >= {a}.t + ({lo_us}) AND {b}.t <= {a}.t + ({hi_us})"


def _toward(stream: str, bound: Bound) -> tuple[str, int, int]:
    """Return the other stream, and the closed range of this one's time minus that one's."""
    a, b, lo_us, hi_us = bound
    return (a, lo_us, hi_us) if stream == b else (b, -hi_us, -lo_us)


def _orders(graph: ConstraintGraph) -> Sequence[Sequence[str]]:
    """Orders of streams in which each has an edge to an earlier one: one of a uniform clique, some of others."""
    if graph.uniform_window is not None:
        return [graph.roles]
    linked = [
        order
        for order in permutations(graph.roles)
        if all(set(graph.neighbours(stream)) & set(order[:at]) for at, stream in enumerate(order) if at)
    ]
    return linked[:: max(1, len(linked) // 3)][:3]


def _connection(wanted: WindowJoinWanted) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"SET threads = {wanted.threads}")
    connection.execute("SET allocator_flush_threshold = '64GB'")  # it too may keep the memory that it has
    for name, time_us in wanted.times_us.items():
        connection.register("arrow", pa.table({"id": np.arange(len(time_us)), "t": time_us}))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")
    return connection


def _select(wanted: WindowJoinWanted, tables: str) -> str:
    return f"SELECT {_columns(wanted, [f'{stream}.id' for stream in wanted.graph.roles])} {tables}"


def _columns(wanted: WindowJoinWanted, ids: Sequence[str]) -> str:
    if wanted.kind == "sums":
        return ", ".join(["count(*)", *(f"bit_xor({each})" for each in ids)])
    return ", ".join(f"{each} AS {stream}" for each, stream in zip(ids, wanted.graph.roles, strict=True))


def _run(connection: duckdb.DuckDBPyConnection, sql: str, disabled: str) -> Answer:
    connection.execute(f"SET disabled_optimizers = '{disabled}'")
    found = connection.sql(sql)
    return tuple(found.fetchall()[0]) if "count(*)" in sql else tuple(found.fetchnumpy().values())


PEERS: dict[str, Callable[[WindowJoinWanted], Iterator[Join]]] = {
    "natural": natural_sql,
    "bucketed": bucketed_sql,
    "absolute": absolute_sql,
}


def measured(plans: Iterator[Join], streams: int, clock: Callable[[], float]) -> Iterator[tuple[float, Sums]]:
    """Yield how long each plan took, and its answer."""
    for plan in plans:
        start = clock()
        answer = plan()
        yield clock() - start, sums_of(answer, streams)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--answer", choices=["members", "sums"], default="sums")
    parser.add_argument("--peers", choices=PEERS, nargs="+", default=["natural", "bucketed"])
    arguments = parser.parse_args()
    print("| form | streams | events a stream | partners | tuples | peer | fastest s | slowest s | plans |")
    print("|---" * 9 + "|")
    for form, streams, events, partners in SETTINGS:
        for name in arguments.peers:
            wanted = wanted_of(form, streams, events, partners, arguments.answer)
            took = list(measured(PEERS[name](wanted), streams, time.process_time))
            if len({answer for _, answer in took}) != 1:
                raise SystemExit(f"plans disagree: {took}")
            seconds = [each for each, _ in took]
            cells = [form, streams, f"{events:,}", partners, f"{took[0][1][0]:,}", name]
            cells += [f"{min(seconds):.3f}", f"{max(seconds):.3f}", len(took)]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
