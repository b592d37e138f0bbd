"""Everything that differs between SQLite and PostgreSQL, and the step to the newest schema at every start."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Column, Connection, Engine, Row, Select, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

Rows = Sequence[Row[*tuple[Any, ...]]]


def newest_first(
    connection: Connection, statement: Select[Any], sequence: Column[Any], before: int | None, limit: int
) -> Rows:
    """Return up to `limit` rows of `statement` with a `sequence` below `before` (None: of all), newest first."""
    if before is not None:
        statement = statement.where(sequence < before)
    return connection.execute(statement.order_by(sequence.desc()).limit(limit)).all()


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

MIGRATION_LOCK_KEY = 0x636F696E  # "coin": any number that nothing else in the database locks


def open_engine(database_url: str, busy_timeout_ms: int = 5000) -> Engine:
    """Return an engine for `database_url`, a `ValueError` for what is neither PostgreSQL nor a file of SQLite."""
    try:
        url = make_url(database_url)
    except ArgumentError:
        raise ValueError(f"database_url: {database_url!r} is not a URL such as sqlite:///alerting.sqlite3") from None
    if url.get_backend_name() == "postgresql":
        return create_engine(url, pool_pre_ping=True)
    if url.get_backend_name() != "sqlite":
        raise ValueError(f"database_url: {url.get_backend_name()!r} is not supported; allowed: sqlite, postgresql")
    return _open_sqlite(url, busy_timeout_ms)


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
        connection.exec_driver_sql("BEGIN")

    return engine


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
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK_KEY})
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": MIGRATION_LOCK_KEY})
        return
    with Path(f"{engine.url.database}.migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the close, and by the death of the process
        yield


def migrate(engine: Engine) -> None:
    """Apply the migrations that `engine`'s database lacks, in one transaction, under the migration lock."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    with migration_lock(engine), engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
