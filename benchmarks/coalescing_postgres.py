"""Coalescing by PostgreSQL's `range_agg`: one multirange for each group and value, unnested.

The server has to run on this machine, so that its CPU time can be read. One to try it with:

    PATH=$PATH:/usr/lib/postgresql/15/bin
    initdb -D /tmp/ranges -A trust -U postgres
    pg_ctl -D /tmp/ranges -w -o "-k /tmp -c listen_addresses= -c shared_buffers=2GB" start
    python -m benchmarks.coalescing --postgres "host=/tmp user=postgres"

(As root, both by `su postgres -c`.) Ten million rows take about a gigabyte there for each of the tables.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from pyarrow import csv

from benchmarks.coalescing_rows import GROUPS, Answer, Coalescing, Wanted

TABLE = "coalescing_rows"
RANGES = {
    "readings": "SELECT g, v, int8range(t, lead(t, 1, t + 1) OVER (PARTITION BY g ORDER BY t)) AS range FROM {table}",
    "facts": "SELECT g, v, int8range(s, e) AS range FROM {table}",
}
SQL = """
    SELECT count(*), sum(g), sum(lower(run)), sum(upper(run)) - {longer}, sum(v)
    FROM (SELECT g, v, unnest(range_agg(range)) AS run FROM ({ranges}) AS ranges GROUP BY g, v) AS runs"""
PLANS = {"hashed": "enable_hashagg = on", "sorted": "enable_hashagg = off"}


class Postgres:
    """A connection, and what its server's process has used."""

    def __init__(self, url: str) -> None:
        import psycopg  # noqa: PLC0415 - for who has a server

        self.connection: Any = psycopg.connect(url, autocommit=True)
        [(version, self.pid)] = self._rows("SELECT current_setting('server_version'), pg_backend_pid()")
        self.version = str(version)
        self._execute("SET work_mem = '2GB'", "SET jit = off")  # jit was slower

    def range_agg(self, wanted: Wanted) -> Iterator[tuple[str, Coalescing]]:
        """Yield both ways to group. Sums are all that is asked for: nobody has to carry the runs over here."""
        self._execute(f"SET max_parallel_workers_per_gather = {wanted.threads - 1}")
        self._fill(wanted)
        # an empty range is no range: the newest reading of a group gets a microsecond
        longer = GROUPS if wanted.kind == "readings" else 0
        sql = SQL.format(ranges=RANGES[wanted.kind].format(table=TABLE), longer=longer)
        for name, setting in PLANS.items():
            yield name, partial(self._sums, setting, sql)

    def _fill(self, wanted: Wanted) -> None:
        columns = ", ".join(f"{name} int8" for name in wanted.columns)
        self._execute(f"DROP TABLE IF EXISTS {TABLE}", f"CREATE UNLOGGED TABLE {TABLE} ({columns})")
        with self.connection.cursor().copy(f"COPY {TABLE} FROM STDIN (FORMAT csv)") as copy:
            for batch in pa.table(dict(wanted.columns)).to_batches(max_chunksize=1 << 20):
                text = io.BytesIO()
                csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
                copy.write(text.getvalue())
        self._execute(f"VACUUM ANALYZE {TABLE}")

    def _sums(self, setting: str, sql: str) -> Answer:
        self._execute(f"SET {setting}")
        return self._rows(sql)[0]

    def _rows(self, sql: str) -> list[Answer]:
        rows: list[Answer] = self.connection.execute(sql).fetchall()
        return rows

    def _execute(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement)


def why_absent(url: str | None) -> str | None:
    """Return why PostgreSQL does not compete, None where it does."""
    if url is None:
        return "no --postgres URL given (see benchmarks/coalescing_postgres.py)"
    return None if find_spec("psycopg") else "psycopg is not installed"
