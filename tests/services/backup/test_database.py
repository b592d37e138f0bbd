"""The database: one moment of it while alerting writes, and no number given twice to readers of the live stream."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from services.alerting.store.dialect import for_writing, migrate, open_engine, reserve_sequences
from services.alerting.store.tables import leases, matches
from services.backup.database import database_file, restore_database, save_database
from services.backup.folder import BackupError


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    engine = open_engine(f"sqlite:///{tmp_path / 'alerting.sqlite3'}")
    migrate(engine)
    return engine


def holders(file: Path) -> int:
    engine = open_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(leases)).scalar_one()


def test_a_copy_has_what_was_committed_and_nothing_of_what_is_being_written(engine: Engine, tmp_path: Path) -> None:
    file = database_file(str(engine.url))
    assert file is not None
    with for_writing(engine).begin() as connection:
        connection.execute(leases.insert(), [{"name": f"{n}", "holder": "a", "renewals": 1} for n in range(3)])
    with for_writing(engine).begin() as connection:
        connection.execute(leases.insert(), {"name": "open", "holder": "b", "renewals": 1})
        save_database(file, tmp_path / "copy")
    assert holders(tmp_path / "copy") == 3
    assert holders(file) == 4


def test_new_rows_get_numbers_beyond_all_that_were_given_since_the_copy(engine: Engine, tmp_path: Path) -> None:
    file = database_file(str(engine.url))
    assert file is not None
    save_database(file, tmp_path / "copy")
    with for_writing(engine).begin() as connection:
        given = reserve_sequences(connection, matches, 50_000) + 50_000  # all that a second can bring, and more
    restored = tmp_path / "restored" / "alerting.sqlite3"
    restore_database(tmp_path / "copy", restored, age_s=0.2)
    again = open_engine(f"sqlite:///{restored}")
    migrate(again)
    with for_writing(again).begin() as connection:
        assert reserve_sequences(connection, matches, 1) > given


def test_a_database_that_is_there_stays(engine: Engine, tmp_path: Path) -> None:
    file = database_file(str(engine.url))
    assert file is not None
    save_database(file, tmp_path / "copy")
    with pytest.raises(BackupError, match="there is a database already"):
        restore_database(tmp_path / "copy", file, age_s=0)
    left = tmp_path / "left.sqlite3"
    Path(f"{left}-wal").touch()
    with pytest.raises(BackupError, match=r"there is a database already: .*left\.sqlite3-wal$"):
        restore_database(tmp_path / "copy", left, age_s=0)


def test_what_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database" * 100, encoding="utf-8")
    for name in ("text", "missing"):
        with pytest.raises(BackupError, match=r"^the database .* cannot be copied: [^\n]*$"):
            save_database(tmp_path / name, tmp_path / "copy")
    assert database_file("postgresql://somewhere/coincide") is None
