import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, insert, select
from sqlalchemy.exc import OperationalError

from services.alerting.settings import AlertingSettings
from services.alerting.store.database_file import DatabaseFile
from services.alerting.store.dialect import migrate, migrations, open_engine
from services.alerting.store.match_rows import MatchFilter, read_newest_first
from services.alerting.store.query_rows import read_queries, read_status
from services.alerting.store.tables import matches, metadata
from tests.services.alerting.databases import ON_POSTGRESQL, ON_SQLITE, Databases, migrated
from tests.services.alerting.sample_records import (
    Database,
    change_record,
    dead_letter_record,
    episode_record,
    match_record,
    status_record,
)


def test_the_migrations_lead_to_the_tables(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


REVISIONS = [each.revision for each in ScriptDirectory.from_config(migrations()).walk_revisions()]
ODD = 'a "quoted", [long]\nname é'
OLD = [
    *(match_record(f"m-{n}", query="intruder", earliest_us=n, latest_us=n + 5) for n in range(20)),
    match_record("m-20", query="intruder", supersedes=["m-3"], earliest_us=20, latest_us=25, sensors=("s", ODD, ODD)),
    *(episode_record("e-1", revision) for revision in (1, 2)),
    dead_letter_record(),
    change_record("intruder", 1),
    change_record("intruder", 2, paused=True),
    status_record(0, {"intruder": 2}),
]


def copy_rows(old: Engine, to: Engine) -> None:
    """Copy what the tables of another version can hold."""
    tables = MetaData()
    tables.reflect(to)
    with old.connect() as source, to.begin() as target:
        for name, table in tables.tables.items():
            if name != "alembic_version":
                kept = metadata.tables[name].columns
                rows = [row._asdict() for row in source.execute(select(*kept))]
                rows = [{each.name: _old(row, each.name) for each in table.columns} for row in rows]
                if rows:
                    target.execute(insert(table), rows)


def _old(row: dict[str, Any], column: str) -> Any:
    """What a row had in a column that it may no longer have: once, a match had a line for the sensor of each member."""
    if column == "sensors":
        return "\n" + "".join(f"{json.dumps(each['sensor'])}\n" for each in json.loads(row["body"])["members"])
    return row[column]


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_an_older_version_has_stored_is_served_and_gone_on_with(
    databases: Databases, database: Database, revision: str
) -> None:
    database.store(OLD)
    engine = databases.open(databases.empty())
    migrate(engine, revision)
    copy_rows(database.engine, engine)
    migrate(engine)
    upgraded = Database(engine)
    filters = MatchFilter(), MatchFilter(from_us=8, to_us=12), MatchFilter(query="intruder"), MatchFilter(sensor=ODD)
    for each in filters:
        was, now = (of.read(read_newest_first, each, None, 100) for of in (database, upgraded))
        assert [(row.sequence, row.body) for row in now] == [(row.sequence, row.body) for row in was]
        assert now
    assert upgraded.episode() == database.episode()
    assert upgraded.revisions() == database.revisions() != []
    assert upgraded.read(read_queries) == database.read(read_queries) != []
    assert upgraded.read(read_status) == database.read(read_status) != []
    assert upgraded.store(OLD) == []  # it knows all of that
    [new] = upgraded.store([match_record("m-21")])
    assert new.sequence > database.read(read_newest_first, MatchFilter(), None, 1)[0].sequence


def test_several_processes_may_start_on_a_new_database_together(databases: Databases) -> None:
    url = databases.empty()
    with ThreadPoolExecutor(4) as processes:
        assert list(processes.map(migrated, [url] * 4)) == [None] * 4  # and raises what one of them raised


def test_the_folder_of_a_file_is_made(tmp_path: Path) -> None:
    migrated(f"sqlite:///{tmp_path}/new/alerting.sqlite3")
    assert (tmp_path / "new/alerting.sqlite3").exists()


@ON_SQLITE
def test_a_database_that_was_deleted_or_replaced_is_noticed(tmp_path: Path, engine: Engine) -> None:
    file, path = DatabaseFile(engine), Path(engine.url.database or "")
    assert not file.is_lost()  # nothing has been opened yet
    file.opened()
    assert not file.is_lost()
    moved = path.rename(tmp_path / "moved")
    assert file.is_lost()
    copy(moved, path)
    assert file.is_lost()  # the same content is another file
    moved.replace(path)
    assert not file.is_lost()
    (tmp_path / "fresh").touch()
    (tmp_path / "fresh").replace(path)
    assert file.is_lost()


@ON_SQLITE
def test_who_notices_leaves_a_note_for_the_process_after_it(engine: Engine) -> None:
    assert DatabaseFile(engine).lost_at_s() == 0
    began_s = time.time()
    DatabaseFile(engine).note_loss()
    assert DatabaseFile(engine).lost_at_s() == pytest.approx(began_s, abs=60)


@ON_POSTGRESQL
def test_postgresql_has_no_file_to_lose(engine: Engine) -> None:
    file = DatabaseFile(engine)
    file.opened()
    assert not file.is_lost()
    file.note_loss()
    assert file.lost_at_s() == 0


def test_migrating_again_keeps_what_is_stored(database: Database) -> None:
    database.store([match_record()])
    migrate(database.engine)
    assert database.store([match_record()]) == []


def test_a_database_made_anew_goes_on_above_the_old_sequences(databases: Databases, database: Database) -> None:
    old = database.store([match_record(f"m-{n}") for n in range(100)])[-1].sequence
    later = databases.open(databases.empty())
    migrate(later)
    with later.begin() as connection:
        row = {c.name: 0 if c.type.python_type in (int, float) else "x" for c in matches.c if c.name != "sequence"}
        new = connection.execute(insert(matches).returning(matches.c.sequence), row).scalar_one()
    assert old < new < 2**53


@ON_SQLITE
def test_a_database_in_wal_mode(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1  # NORMAL
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 5000


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/c", "postgresql+psycopg2://localhost/c", "secret@db"]
)
def test_a_database_that_cannot_serve_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="database_url") as refused:
        open_engine(url)
    assert "secret" not in str(refused.value)


@ON_POSTGRESQL
def test_what_a_url_says_comes_before_our_own_bounds(databases: Databases) -> None:
    url = databases.copied()
    own = databases.open(f"{url}&application_name=mine&options=-c%20lock_timeout%3D7000")
    for engine, expected in ((databases.open(url), ["coincide-alerting", "5s", "5s"]), (own, ["mine", "7s", "0"])):
        names = "application_name", "lock_timeout", "idle_in_transaction_session_timeout"
        with engine.connect() as connection:
            assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == expected


@ON_POSTGRESQL
def test_a_wrong_password_is_in_no_message(databases: Databases, caplog: pytest.LogCaptureFixture) -> None:
    url = databases.copied().replace("coincide@", "nobody:hunter2@")
    with pytest.raises(OperationalError) as refused:
        migrated(url)
    assert "nobody" in str(refused.value)
    told = refused.value, caplog.text, databases.open(url), AlertingSettings(database_url=url)
    assert "hunter2" not in f"{told} {refused.value}"
