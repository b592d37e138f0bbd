"""Peers of `window_join` on exact times: DuckDB by natural SQL and by buckets made by hand.

Natural SQL has every window as a range condition; bucketed SQL joins equal buckets first. Every function yields plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.harness.declaration import Options
from benchmarks.harness.duckdb_tables import duckdb_with
from benchmarks.harness.rounds import Work, timed
from coincide import ConstraintGraph

Sums = tuple[int, ...]  # tuples, then xor of the positions of each stream
Bound = tuple[str, str, int, int]  # a, b and the closed range of t_b - t_a in microseconds


@dataclass(frozen=True)
class GraphJoin:
    """Every tuple of one event a stream that satisfies all windows of the graph, on exact times.

    Attributes
    ----------
    times_us : mapping of stream to ndarray of int64
    graph : ConstraintGraph
        Its thresholds do not count.
    answer : {"members", "sums"}
        All members in columns, one array of positions a stream; or their count and a bitwise xor of each stream's, for
        which nobody has to keep a tuple.
    """

    times_us: Mapping[str, npt.NDArray[np.int64]]
    graph: ConstraintGraph
    answer: str

    @property
    def bounds(self) -> list[Bound]:
        return [(edge.a, edge.b, edge.window.lo_us, edge.window.hi_us) for edge in self.graph.edges]

    def sums_of(self, answer: tuple[Any, ...]) -> Sums:
        """Return what every answer has to agree on."""
        if len(answer) == 1 + len(self.times_us):
            return tuple(int(each) for each in answer)
        columns = [np.asarray(column) for column in answer]
        return len(columns[0]), *(int(np.bitwise_xor.reduce(column)) for column in columns)


def natural_sql(question: GraphJoin, options: Options) -> Iterator[Work]:
    """Every window as a range condition: tables in any chain of neighbours, with and without DuckDB's own order."""
    run = partial(_run, duckdb_with(_tables(question), options.threads))
    ranges = " AND ".join(_in_range(*bound) for bound in question.bounds)
    for order in _orders(question):
        for disabled in ("", "join_order"):
            sql = _select(question, f"FROM {', '.join(order)} WHERE {ranges}")
            yield timed(partial(run, sql, disabled), question.sums_of)


def bucketed_sql(question: GraphJoin, options: Options) -> Iterator[Work]:
    """Join on equal buckets: the first stream keeps its bucket, each event of another stands in all that it reaches.

    Buckets are as long as the longest window, or half as long: fewer false partners for more copies. (A uniform clique
    asked for by its newest member, the union of all streams' turns, was slower than the plain one in every setting.)
    """
    run = partial(_run, duckdb_with(_tables(question), options.threads))
    longest_us = max(hi_us - lo_us for *_, lo_us, hi_us in question.bounds)
    for length_us in (longest_us + 1, longest_us // 2 + 1):
        for order in _orders(question):
            sql = _select(question, _bucketed(order, question.bounds, length_us))
            for disabled in ("", "join_order"):
                yield timed(partial(run, sql, disabled), question.sums_of)


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


def _orders(question: GraphJoin) -> Sequence[Sequence[str]]:
    """Orders of streams in which each has an edge to an earlier one: one of a uniform clique, some of others."""
    graph, names = question.graph, tuple(question.times_us)
    if graph.uniform_window is not None:
        return [names]
    linked = [
        order
        for order in permutations(names)
        if all(set(graph.neighbours(stream)) & set(order[:at]) for at, stream in enumerate(order) if at)
    ]
    return linked[:: max(1, len(linked) // 3)][:3]


def _tables(question: GraphJoin) -> dict[str, dict[str, npt.NDArray[np.int64]]]:
    return {name: {"id": np.arange(len(time_us)), "t": time_us} for name, time_us in question.times_us.items()}


def _select(question: GraphJoin, tables: str) -> str:
    return f"SELECT {_columns(question, [f'{stream}.id' for stream in question.times_us])} {tables}"


def _columns(question: GraphJoin, ids: Sequence[str]) -> str:
    if question.answer == "sums":
        return ", ".join(["count(*)", *(f"bit_xor({each})" for each in ids)])
    return ", ".join(f"{each} AS {stream}" for each, stream in zip(ids, question.times_us, strict=True))


def _run(connection: Any, sql: str, disabled: str) -> tuple[Any, ...]:
    connection.execute(f"SET disabled_optimizers = '{disabled}'")
    rows = connection.sql(sql)
    return tuple(rows.fetchall()[0]) if "count(*)" in sql else tuple(rows.fetchnumpy().values())
