"""The file of a SQLite database, which may be deleted or replaced while a process writes into it."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError

from services.common.settings import SettingsError

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY = 0xFF  # of a code of SQLite; the other bits say more of the same fault


def refuse_damaged(engine: Engine) -> None:
    """Raise a `SettingsError` where the file of a SQLite database cannot be read; whatever else is wrong shows later.

    PostgreSQL looks after its files itself.
    """
    path = engine.url.database
    if engine.dialect.name != "sqlite" or not path or not Path(path).exists():
        return
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT name FROM sqlite_master").all()
    except DatabaseError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY in _DAMAGED:
            left = f"{path}, and {path}-wal and {path}-shm where they are there"
            raise SettingsError(
                f"the database {path} is damaged ({error.orig}): move away {left}; a new one is filled from the log"
            ) from error


class DatabaseFile:
    """The file of a SQLite database that a process has open, and whether it is still the one that its path names.

    SQLite does not notice that a file was deleted or replaced, and writes on into one that nobody will ever read.
    PostgreSQL has no such file, and says by itself what is wrong.
    """

    def __init__(self, engine: Engine) -> None:
        named = engine.url.database if engine.dialect.name == "sqlite" else None
        self._path = None if named is None else Path(named)
        self._note = self._path and self._path.with_name(f"{self._path.name}.lost")
        self._opened: tuple[int, int] | None = None

    def opened(self) -> None:
        """Take note that the process has opened the file that is there now."""
        self._opened = self._found()

    def is_lost(self) -> bool:
        """Whether the file was deleted or replaced since it was opened; to look takes some microseconds."""
        return self._opened is not None and self._found() != self._opened

    def note_loss(self) -> None:
        """Leave a note beside the file for the process that is started next: this one is about to end."""
        if self._note:
            with suppress(OSError):
                self._note.touch()

    def lost_at_s(self) -> float:
        """Return when a process last left such a note, in seconds since 1970; 0 where none did."""
        try:
            return self._note.stat().st_mtime if self._note else 0.0
        except OSError:
            return 0.0

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat() if self._path else None
        except OSError:
            return None
        return found and (found.st_dev, found.st_ino)
