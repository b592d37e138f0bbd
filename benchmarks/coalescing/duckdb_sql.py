"""Coalescing by DuckDB: the text-book SQL for gaps and islands, and the fastest of all that we could think of.

What makes SQL fast here: to look for the rows that begin a run first, so that all else is done for those alone; and to
sort once and then look at neighbours with windows that have no order (`OVER ()`), which DuckDB streams. That relies on
DuckDB's promise to keep the order of rows, which SQL does not give. Runs of facts come without a running maximum: a
run ends at the k-th end if the next start lies beyond it, both in order of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.coalescing.rows import GroupRows, sums_of
from benchmarks.harness.declaration import Options
from benchmarks.harness.duckdb_tables import duckdb_with
from benchmarks.harness.rounds import Work, timed

NATURAL = {
    "readings": """
        WITH compared AS (
            SELECT *, lead(t, 1, t) OVER neighbours AS e, v IS DISTINCT FROM lag(v) OVER neighbours AS begins
            FROM r WINDOW neighbours AS (PARTITION BY g ORDER BY t)),
        numbered AS (
            SELECT *, sum(begins::INT) OVER (PARTITION BY g ORDER BY t ROWS UNBOUNDED PRECEDING) AS run FROM compared)
        SELECT g, min(t) AS s, max(e) AS e, any_value(v) AS v FROM numbered GROUP BY g, run""",
    "facts": """
        WITH compared AS (
            SELECT *, coalesce(s > max(e) OVER (neighbours ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true)
                AS begins
            FROM r WINDOW neighbours AS (PARTITION BY g, v ORDER BY s)),
        numbered AS (
            SELECT *, sum(begins::INT) OVER (PARTITION BY g, v ORDER BY s ROWS UNBOUNDED PRECEDING) AS run
            FROM compared)
        SELECT g, min(s) AS s, max(e) AS e, v FROM numbered GROUP BY g, v, run""",
}
BY_BEGINNINGS = {
    "readings": """
        WITH compared AS (SELECT g, t, v, lag(v) OVER (PARTITION BY g ORDER BY t) AS before FROM r),
        begun AS (SELECT g, t, v FROM compared WHERE v IS DISTINCT FROM before),
        newest AS (SELECT g, max(t) AS t FROM r GROUP BY g)
        SELECT g, begun.t AS s, coalesce(lead(begun.t) OVER (PARTITION BY g ORDER BY begun.t), newest.t) AS e, v
        FROM begun JOIN newest USING (g)""",
    "facts": """
        WITH compared AS (
            SELECT g, v, s, max(e) OVER (neighbours ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM r WINDOW neighbours AS (PARTITION BY g, v ORDER BY s)),
        begun AS (SELECT * FROM compared WHERE reached IS NULL OR s > reached),
        latest AS (SELECT g, v, max(e) AS e FROM r GROUP BY g, v)
        SELECT g, s, coalesce(lead(reached) OVER (PARTITION BY g, v ORDER BY s), latest.e) AS e, v
        FROM begun JOIN latest USING (g, v)""",
}
STREAMED = {
    "readings": """
        WITH compared AS (
            SELECT *, lag(g) OVER () AS before_g, lag(v) OVER () AS before_v, lag(t) OVER () AS before_t
            FROM {ordered}),
        begun AS (SELECT * FROM compared WHERE v IS DISTINCT FROM before_v OR g IS DISTINCT FROM before_g)
        SELECT g, t AS s, CASE WHEN lead(g) OVER () = g THEN lead(t) OVER () ELSE coalesce(lead(before_t) OVER (),
            (SELECT max(t) FROM r WHERE g = (SELECT max(g) FROM r))) END AS e, v FROM begun""",
    "facts": """
        WITH compared AS (
            SELECT *, lag(g) OVER () AS before_g, lag(v) OVER () AS before_v, lag(e) OVER () AS reached
            FROM (SELECT g, v, s FROM r ORDER BY g, v, s) POSITIONAL JOIN (SELECT e FROM r ORDER BY g, v, e)),
        begun AS (
            SELECT * FROM compared WHERE g IS DISTINCT FROM before_g OR v IS DISTINCT FROM before_v OR s > reached)
        SELECT g, s, coalesce(lead(reached) OVER (), (SELECT arg_max(e, (g, v, e)) FROM r)) AS e, v FROM begun""",
}
PACKED = {  # group and time, or class and time, in one number, which sorts faster
    "readings": """
        WITH packed AS (SELECT g * {unit} + t AS c, v FROM r ORDER BY c),
        compared AS (SELECT *, lag(c) OVER () AS before_c, lag(v) OVER () AS before_v FROM packed),
        begun AS (
            SELECT * FROM compared
            WHERE v IS DISTINCT FROM before_v OR c >> {bits} IS DISTINCT FROM before_c >> {bits}),
        ended AS (SELECT *, lead(c) OVER () AS next_c, lead(before_c) OVER () AS last_c FROM begun)
        SELECT c >> {bits} AS g, c & ({unit} - 1) AS s, v, (CASE WHEN next_c >> {bits} = c >> {bits} THEN next_c
            ELSE coalesce(last_c, (SELECT max(g * {unit} + t) FROM r)) END) & ({unit} - 1) AS e FROM ended""",
    "facts": """
        WITH starts AS (SELECT (g * {states} + v) * {unit} + s AS c FROM r ORDER BY c),
        ends AS (SELECT (g * {states} + v) * {unit} + e AS d FROM r ORDER BY d),
        compared AS (SELECT c, lag(c) OVER () AS before_c, lag(d) OVER () AS reached FROM starts POSITIONAL JOIN ends),
        begun AS (SELECT * FROM compared WHERE reached IS NULL OR c > reached),
        latest AS (SELECT max((g * {states} + v) * {unit} + e) AS d FROM r),
        ended AS (SELECT c, coalesce(lead(reached) OVER (), (SELECT d FROM latest)) AS d FROM begun)
        SELECT (c >> {bits}) // {states} AS g, c & ({unit} - 1) AS s, d & ({unit} - 1) AS e,
            (c >> {bits}) % {states} AS v FROM ended""",
}


def natural_sql(question: GroupRows, options: Options) -> Iterator[Work]:
    """Yield the one that books have: number the runs by a running sum over their beginnings, group by that number."""
    yield _plan(duckdb_with({"r": question.columns}, options.threads), NATURAL[question.kind])


def best_sql(question: GroupRows, options: Options) -> Iterator[Work]:
    """Yield all the others."""
    plan = partial(_plan, duckdb_with({"r": question.columns}, options.threads))
    yield plan(BY_BEGINNINGS[question.kind])
    yield plan(STREAMED[question.kind].format(ordered="(SELECT * FROM r ORDER BY g, t)"))
    if question.kind == "readings" and question.order == "by group and time":
        yield plan(STREAMED[question.kind].format(ordered="r"))
    bits, states = question.time_bits, int(question.columns["v"].max()) + 1
    yield plan(PACKED[question.kind].format(bits=bits, unit=f"(1::BIGINT << {bits})", states=states))


def _plan(connection: Any, sql: str) -> Work:
    def columns() -> tuple[Any, ...]:
        found = connection.sql(sql).fetchnumpy()
        return tuple(found[name] for name in "gsev")

    return timed(columns, sums_of)
