"""Locks that end with their holder: what decides which of several processes on one database writes it."""

import fcntl
import math
from pathlib import Path
from typing import ClassVar, Protocol, TextIO

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

HELD_S = 3.0  # a holder whose session the server did not answer for so long counts on it no more
LOST_AFTER_S = 4.5  # the server ends a session that was silent for so long; the difference is for unequal clocks
LOCK_KEY = 0x636F696E + 2  # beside those of `dialect`: any number that nothing else in the database locks


class Lock(Protocol):
    """One of all processes has it. Each asks again and again, and so takes it when it is free."""

    held_for_s: ClassVar[float]  # for how long, from before it asked, a process can count on it

    def is_mine(self) -> bool:
        """Take the lock if it is free, and return whether this process has it; raises where nobody can say so."""

    def release(self) -> None:
        """Let another have it."""


class SessionLock:
    """A lock of a session of PostgreSQL, for which this process keeps one connection.

    The server frees it at once when the process ends, and after `LOST_AFTER_S`, by its own clock, when the process
    hangs or cannot be reached.
    """

    held_for_s: ClassVar[float] = HELD_S

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session: Connection | None = None
        self._is_mine = False

    def is_mine(self) -> bool:
        """Ask the server, which also shows it that this process is well; `SQLAlchemyError`: it did not answer."""
        try:
            self._session = self._session or self._open()
            asked = "SELECT true" if self._is_mine else f"SELECT pg_try_advisory_lock({LOCK_KEY})"
            self._is_mine = bool(self._session.execute(text(asked)).scalar_one())
        except SQLAlchemyError:
            self.release()
            raise
        return self._is_mine

    def _open(self) -> Connection:
        session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        session.exec_driver_sql(f"SET idle_session_timeout = {round(LOST_AFTER_S * 1000)}")
        return session

    def release(self) -> None:
        """End the session, and with it the lock."""
        session, self._session, self._is_mine = self._session, None, False
        if session is not None:
            session.invalidate()
            session.close()


class FileLock:
    """A lock of a file beside a SQLite database, which the kernel takes back from a process that has ended."""

    held_for_s: ClassVar[float] = math.inf

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def is_mine(self) -> bool:
        """Try to lock the file, unless it is locked already."""
        if self._file is None:
            file = self._path.open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            self._file = file
        return True

    def release(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def lock_of(engine: Engine) -> Lock:
    """Return the lock of the database of `engine`."""
    if engine.dialect.name == "postgresql":
        return SessionLock(engine)
    return FileLock(Path(f"{engine.url.database}.writing.lock"))
