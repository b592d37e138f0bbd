"""Coalescing by PostgreSQL's `range_agg`: one multirange for each group and value, unnested.

The server has to run on this machine, so that its CPU time can be read. One to try it with:

    PATH=$PATH:/usr/lib/postgresql/15/bin
    initdb -D /tmp/ranges -A trust -U postgres
    pg_ctl -D /tmp/ranges -w -o "-k /tmp -c listen_addresses= -c shared_buffers=2GB" start
    python -m benchmarks coalescing --postgres "host=/tmp user=postgres"

(As root, both by `su postgres -c`.) Ten million rows take about a gigabyte there for each of the tables.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import psutil
import pyarrow as pa
from pyarrow import csv

from benchmarks.coalescing.rows import GROUPS, GroupRows, sums_of
from benchmarks.harness.declaration import Options, Peer
from benchmarks.harness.rounds import Stopwatch, Work

TABLE = "coalescing_rows"
RANGES = {
    "readings": "SELECT g, v, int8range(t, lead(t, 1, t + 1) OVER (PARTITION BY g ORDER BY t)) AS range FROM {table}",
    "facts": "SELECT g, v, int8range(s, e) AS range FROM {table}",
}
SQL = """
    SELECT count(*), sum(g), sum(lower(run)), sum(upper(run)) - {longer}, sum(v)
    FROM (SELECT g, v, unnest(range_agg(range)) AS run FROM ({ranges}) AS ranges GROUP BY g, v) AS runs"""
GROUPING = ("enable_hashagg = on", "enable_hashagg = off")


def range_agg(question: GroupRows, options: Options) -> Iterator[Work]:
    """Yield both ways to group. It answers with sums, so that nobody has to carry the runs over here."""
    import psycopg

    connection: Any = psycopg.connect(options.postgres or "", autocommit=True)
    parallel = f"SET max_parallel_workers_per_gather = {options.threads - 1}"
    for statement in ("SET work_mem = '2GB'", "SET jit = off", parallel):  # jit was slower
        connection.execute(statement)
    _fill(connection, question)
    # an empty range is no range: the newest reading of a group gets a microsecond
    longer = GROUPS if question.kind == "readings" else 0
    sql = SQL.format(ranges=RANGES[question.kind].format(table=TABLE), longer=longer)
    for setting in GROUPING:
        yield partial(_sums, connection, setting, sql)


def _fill(connection: Any, question: GroupRows) -> None:
    columns = ", ".join(f"{name} int8" for name in question.columns)
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    connection.execute(f"CREATE UNLOGGED TABLE {TABLE} ({columns})")
    with connection.cursor().copy(f"COPY {TABLE} FROM STDIN (FORMAT csv)") as copy:
        for batch in pa.table(dict(question.columns)).to_batches(max_chunksize=1 << 20):
            text = io.BytesIO()
            csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
            copy.write(text.getvalue())
    connection.execute(f"VACUUM ANALYZE {TABLE}")


def _sums(connection: Any, setting: str, sql: str, watch: Stopwatch) -> tuple[int, ...]:
    connection.execute(f"SET {setting}")
    server = psutil.Process(connection.info.backend_pid)
    with watch.including(server):
        row = connection.execute(sql).fetchall()[0]
    return sums_of(row)


class PostgresPeer(Peer[GroupRows]):
    """Competes where `--postgres` names a server."""

    def competes(self, options: Options) -> bool:
        return options.postgres is not None and super().competes(options)


POSTGRES = PostgresPeer("postgres range_agg", range_agg, needs="psycopg")
