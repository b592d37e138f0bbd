from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, insert
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.schema import CreateTable

from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.tables import matches, metadata
from tests.services.alerting.records import Database, match_record


def test_the_migrations_lead_to_the_tables(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_several_processes_may_start_on_a_new_database_together(tmp_path: Path) -> None:
    def start(_number: int) -> None:
        engine = open_engine(f"sqlite:///{tmp_path}/new/alerting.sqlite3")
        try:
            migrate(engine)
        finally:
            engine.dispose()

    with ThreadPoolExecutor(4) as processes:
        assert list(processes.map(start, range(4))) == [None] * 4  # and raises what one of them raised


def test_migrating_again_keeps_what_is_stored(database: Database) -> None:
    database.store([match_record()])
    migrate(database.engine)
    assert database.store([match_record()]) == []


def test_a_database_made_anew_goes_on_above_the_old_sequences(tmp_path: Path, database: Database) -> None:
    old = database.store([match_record(f"m-{n}") for n in range(100)])[-1].sequence
    later = open_engine(f"sqlite:///{tmp_path / 'later.sqlite3'}")
    migrate(later)
    with later.begin() as connection:
        row = {c.name: 0 if c.type.python_type in (int, float) else "x" for c in matches.c if c.name != "sequence"}
        new = connection.execute(insert(matches).returning(matches.c.sequence), row).scalar_one()
    later.dispose()
    assert old < new < 2**53


def test_a_database_in_wal_mode(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1  # NORMAL
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 5000


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/coincide"])
def test_a_database_that_cannot_serve_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="database_url"):
        open_engine(url)


def test_every_table_can_be_made_in_postgresql() -> None:
    dialect = PGDialect()  # type: ignore[no-untyped-call]
    made = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
    assert "sequence BIGSERIAL NOT NULL" in next(sql for sql in made if "CREATE TABLE matches " in sql)
