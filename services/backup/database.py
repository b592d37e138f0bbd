"""Alerting's database in SQLite: a copy that is one moment of it, while alerting writes on; and its return.

PostgreSQL has pg_dump for that, which is run beside (docs/how-to/back-up.md).
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from services.alerting.store.dialect import url_of
from services.backup.folder import BackupError

#: More rows than alerting can store in a second, so that no number is given twice that a reader may have seen.
SEQUENCES_A_SECOND = 100_000
_BUSY_S = 30.0
_BESIDE = ("", "-wal", "-shm", "-journal")


def database_file(url: str) -> Path | None:
    """Return the file of a SQLite database, None for another kind of database."""
    try:
        named = url_of(url)
    except ValueError as error:
        raise BackupError(str(error)) from None
    return Path(named.database or "") if named.get_backend_name() == "sqlite" else None


def database_beside(log: Path) -> Path:
    """Return the database of a line in one process, by its log."""
    return log.absolute().with_name("alerting.sqlite3")


def save_database(file: Path, copy: Path) -> None:
    """Write a copy of the database in ``file``."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", timeout=_BUSY_S, uri=True)) as database:
            database.execute("VACUUM INTO ?", (str(copy),))
    except sqlite3.Error as error:
        raise BackupError(f"the database {file} cannot be copied: {error}") from error


def refuse_database(file: Path) -> None:
    """Raise a `BackupError` if there is a database, or what is left of one."""
    for each in (Path(f"{file}{ending}") for ending in _BESIDE):
        if each.exists():
            raise BackupError(f"there is a database already: {each}")


def restore_database(copy: Path, file: Path, age_s: float) -> None:
    """Put ``copy`` back as ``file``; the numbers of new rows begin beyond all that were given since it was made.

    A reader of the live stream may have had rows that the copy does not. Were their numbers given again, it would miss
    the rows that get them.
    """
    refuse_database(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(file.name + ".unfinished")
    unfinished.write_bytes(b"")
    unfinished.chmod(0o600)  # before it has any row
    shutil.copyfile(copy, unfinished)
    try:
        with closing(sqlite3.connect(unfinished)) as database, database:
            skipped = SEQUENCES_A_SECOND * (1 + max(0, round(age_s)))
            database.execute("UPDATE sqlite_sequence SET seq = seq + ?", (skipped,))
    except sqlite3.Error as error:
        raise BackupError(f"the database in the backup cannot be used: {error}") from error
    unfinished.rename(file)
