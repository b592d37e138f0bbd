"""Everything that differs between SQLite and PostgreSQL, and the step to the newest schema at every start."""

import fcntl
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, reduce
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    FromClause,
    Join,
    Row,
    Select,
    Table,
    case,
    create_engine,
    event,
    make_url,
    text,
    true,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

Rows = Sequence[Row[*tuple[Any, ...]]]


def newest_first(
    connection: Connection, statement: Select[Any], sequence: Column[Any], before: int | None, limit: int
) -> Rows:
    """Return up to `limit` rows of `statement` with a `sequence` below `before` (None: of all), newest first."""
    if before is not None:
        statement = statement.where(sequence < before)
    return connection.execute(statement.order_by(sequence.desc()).limit(limit)).all()


class _CrossJoin(Join):
    inherit_cache = True


@compiles(_CrossJoin)
def _written(join: _CrossJoin, compiler: SQLCompiler, **options: Any) -> str:
    left, right = (compiler.process(side, **{**options, "asfrom": True}) for side in (join.left, join.right))
    return f"{left} CROSS JOIN {right}"


def in_this_order(*tables: Table) -> FromClause:
    """Return a product of `tables` that SQLite goes through in this order; PostgreSQL chooses."""
    return reduce(lambda left, right: _CrossJoin(left, right, true()), tables)


def where_equal(statement: Select[Any], *values: tuple[Column[Any], object]) -> Select[Any]:
    """Restrict `statement` to rows whose columns have these values; None restricts nothing."""
    return statement.where(*(column == value for column, value in values if value is not None))


def where_overlaps(
    statement: Select[Any], span_us: tuple[Column[Any], Column[Any]], from_us: int | None, to_us: int | None
) -> Select[Any]:
    """Restrict `statement` to rows whose span, both ends closed, overlaps [from_us, to_us]."""
    first, last = span_us
    if from_us is not None:
        statement = statement.where(last >= from_us)
    return statement if to_us is None else statement.where(first <= to_us)


#: A commit survives the end of the process. The last ones may be lost with the power, their positions in Kafka with
#: them, so that the records are read again. Ids come in no order: each touches a page of its own, and a page that is
#: kept in memory, and copied from the log into the database later, is written once for several ids.
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=4000", "cache_size=-16384")  # pages; KiB

#: What libpq is told where the URL does not say it: a server that went away without a word is noticed within seconds.
REACHED_WITHIN = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
LOST_AFTER_MS = 5000  # PostgreSQL ends the transaction of a process that hangs in its midst, and so frees its locks

WRITES = "coincide_writes"  # an option of a connection
WITHIN_S = "coincide_within_s"  # another one: how long a statement, in SQLite a transaction, may take
STEPS_BETWEEN_LOOKS = 20_000  # of SQLite's machine: a millisecond or two
QUERY_CANCELED = "57014"  # PostgreSQL's code

FENCE = "coincide_fence"  # another one: called when a transaction that writes has begun, to refuse it
MIGRATION_LOCK_KEY = 0x636F696E  # "coin": any number that nothing else in the database locks
WRITE_LOCK_KEY = MIGRATION_LOCK_KEY + 1


def open_engine(database_url: str, busy_timeout_ms: int = 5000) -> Engine:
    """Return an engine for `database_url`, a `ValueError` for what is neither PostgreSQL nor a file of SQLite."""
    url = url_of(database_url)
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        return _open_postgresql(url.set(drivername="postgresql+psycopg"), busy_timeout_ms)
    if url.get_backend_name() != "sqlite":
        raise ValueError(f"database_url: {url.drivername!r} is not supported; allowed: sqlite, postgresql")
    return _open_sqlite(url, busy_timeout_ms)


def url_of(database_url: str) -> URL:
    """Return `database_url` in its parts, else a `ValueError`; it may hold a password, so no message shows it."""
    try:
        return make_url(database_url)
    except ArgumentError:
        raise ValueError("database_url is not a URL such as sqlite:///alerting.sqlite3") from None


def _open_postgresql(url: URL, busy_timeout_ms: int) -> Engine:
    bounds = f"-c lock_timeout={busy_timeout_ms} -c idle_in_transaction_session_timeout={LOST_AFTER_MS}"
    told = {"options": bounds, "application_name": "coincide-alerting", **REACHED_WITHIN}
    arguments = {name: value for name, value in told.items() if name not in url.query}
    engine = create_engine(url, pool_pre_ping=True, connect_args=arguments)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get(WRITES, False):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_KEY})")
            _pass_fence(connection)
        if WITHIN_S in options:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(options[WITHIN_S] * 1000)}")

    return engine


def _open_sqlite(url: URL, busy_timeout_ms: int) -> Engine:
    if not url.database or url.database == ":memory:":  # every connection would see a database of its own
        raise ValueError(
            "database_url: SQLite in memory is not supported; name a file, as in sqlite:///alerting.sqlite3"
        )
    Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # pysqlite begins late and commits around DDL; _begin does it right
        for pragma in (*PRAGMAS, f"busy_timeout={busy_timeout_ms}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        writes = options.get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        if writes:
            _pass_fence(connection)
        driver: Any = connection.connection.dbapi_connection
        driver.set_progress_handler(_is_over(options.get(WITHIN_S)), STEPS_BETWEEN_LOOKS)

    return engine


def _pass_fence(connection: Connection) -> None:
    fence = connection.get_execution_options().get(FENCE)
    if fence is not None:
        fence(connection)


def for_writing(engine: Engine) -> Engine:
    """Return an engine whose transactions write: each waits at its beginning until no other one writes.

    Else SQLite refuses, without waiting, to write in a transaction that has read what another has changed since, and
    PostgreSQL lets two of them write by what both have read. So rows appear in the order of their sequences, too.
    """
    return engine.execution_options(**{WRITES: True})


def fenced(engine: Engine, fence: Callable[[Connection], None]) -> Engine:
    """Return an engine for writing whose transactions end at their beginning where `fence` raises an exception.

    It is called when no other transaction writes any more, and none will before the end of this one.
    """
    return engine.execution_options(**{WRITES: True, FENCE: fence})


def bounded(engine: Engine, within_s: float) -> Engine:
    """Return an engine for reading whose statements are ended after `within_s`: see `took_too_long`."""
    return engine.execution_options(**{WITHIN_S: within_s})


def took_too_long(error: DBAPIError) -> bool:
    """Whether the database was told to end what raised `error`, for it took too long."""
    ended = getattr(error.orig, "sqlstate", None), getattr(error.orig, "sqlite_errorcode", None)
    return ended in ((QUERY_CANCELED, None), (None, sqlite3.SQLITE_INTERRUPT))


def _is_over(within_s: float | None) -> Callable[[], bool] | None:
    """Return what SQLite asks now and then whether to end a statement, from now on; None: nothing."""
    if within_s is None:
        return None
    until_s = time.monotonic() + within_s
    return lambda: time.monotonic() > until_s


def insert_ignoring_duplicates(connection: Connection, table: Table) -> Any:
    """Return `INSERT ... ON CONFLICT DO NOTHING` into `table`: storing a record again changes nothing."""
    return _insert(connection.dialect.name, table).on_conflict_do_nothing()


def insert_tuples(connection: Connection, table: Table, rows: Sequence[tuple[object, ...]]) -> int:
    """Insert `rows`, in the order of `table`'s columns, but for those that are stored; return how many were new.

    The driver gets them as they are: what SQLAlchemy does for each row costs more than SQLite's insert.
    """
    if not rows:
        return 0
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    columns, marks = ", ".join(c.name for c in table.columns), ", ".join(mark for _ in table.columns)
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
    return connection.exec_driver_sql(statement, list(rows)).rowcount


def upsert(connection: Connection, table: Table, keep: tuple[str, ...] = ()) -> Any:
    """Return an insert into `table` that overwrites the row with the same primary key, all but its columns `keep`."""
    return _upsert(connection.dialect.name, table, keep)


@cache  # to make the statement takes ten times as long as to run it
def _upsert(dialect: str, table: Table, keep: tuple[str, ...]) -> Any:
    statement = _insert(dialect, table)
    key = [column.name for column in table.primary_key]
    changed = {c.name: statement.excluded[c.name] for c in table.columns if not c.primary_key and c.name not in keep}
    return statement.on_conflict_do_update(index_elements=key, set_=changed)


def widen(connection: Connection, table: Table, least: str, greatest: str) -> Any:
    """Return an insert into `table`; a row of the same primary key keeps the `least` and the `greatest` of both."""
    return _widen(connection.dialect.name, table, least, greatest)


@cache  # as above
def _widen(dialect: str, table: Table, least: str, greatest: str) -> Any:
    statement = _insert(dialect, table)
    new, old = statement.excluded, table.c
    widened = {
        least: case((new[least] < old[least], new[least]), else_=old[least]),
        greatest: case((new[greatest] > old[greatest], new[greatest]), else_=old[greatest]),
    }
    return statement.on_conflict_do_update(index_elements=[each.name for each in table.primary_key], set_=widened)


def _insert(dialect: str, table: Table) -> Any:
    return (postgresql if dialect == "postgresql" else sqlite).insert(table)


RESERVE = {
    "postgresql": text(
        "SELECT setval(s, nextval(s) + :count - 1) FROM pg_get_serial_sequence(:table, 'sequence') AS s"
    ),
    "sqlite": text("UPDATE sqlite_sequence SET seq = seq + :count WHERE name = :table RETURNING seq"),
}


def reserve_sequences(connection: Connection, table: Table, count: int) -> int:
    """Take the next `count` values of `table.sequence` out of use and return the first; for its one writer."""
    reserve = RESERVE[connection.dialect.name]
    last: int = connection.execute(reserve, {"table": table.name, "count": count}).scalar_one()
    return last - count + 1


@contextmanager
def migration_lock(engine: Engine) -> Iterator[None]:
    """Lock the database for migration: of several processes started together one migrates, and the others wait."""
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("SET lock_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_lock({MIGRATION_LOCK_KEY})")
            try:
                yield
            finally:
                connection.invalidate()  # whose end releases the lock
        return
    with Path(f"{engine.url.database}.migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the close, and by the death of the process
        yield


def migrations() -> Config:
    """Return where alembic finds the migrations."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def migrate(engine: Engine, revision: str = "head") -> None:
    """Apply the migrations that `engine`'s database lacks, in one transaction, under the migration lock."""
    config = migrations()
    with migration_lock(engine), engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
