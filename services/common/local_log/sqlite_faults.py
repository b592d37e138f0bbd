"""What SQLite cannot do, as a fault of the log: one sentence that says what somebody can change."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.common.log.faults import DamagedLogError, LogError

_PRIMARY = 0xFF  # of SQLite's extended codes
_SENTENCES = {
    sqlite3.SQLITE_BUSY: "another process keeps the log {path} to itself",
    sqlite3.SQLITE_LOCKED: "another process keeps the log {path} to itself",
    sqlite3.SQLITE_FULL: "there is no room left for the log {path}",
    sqlite3.SQLITE_IOERR: "the disk does not take, or does not give, what the log {path} asks of it",
    sqlite3.SQLITE_NOMEM: "there is no memory left for the log {path}",
    sqlite3.SQLITE_PROTOCOL: "another process keeps the log {path} to itself",
}
_LASTING = {
    sqlite3.SQLITE_CANTOPEN: "the log {path} cannot be opened",
    sqlite3.SQLITE_PERM: "we may not write the log {path}",
    sqlite3.SQLITE_READONLY: "we may not write the log {path}",
}
_DAMAGED = sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA


def fault_of(error: sqlite3.Error, path: Path) -> LogError:
    """Return what an error of SQLite means for the log at ``path``."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code in _SENTENCES:
        return LogError(f"{_SENTENCES[code].format(path=path)} ({error})", is_retriable=True)
    if code in _LASTING:
        return LogError(f"{_LASTING[code].format(path=path)} ({error})")
    if code in _DAMAGED:
        return damaged(path, str(error))
    return LogError(f"the log {path} cannot be used ({error})")


def damaged(path: Path, how: str) -> DamagedLogError:
    """Return the fault of a file that does not hold what was written."""
    return DamagedLogError(f"the log {path} is damaged: {how}; move it away, and restore a backup if there is one")


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into faults of the log at ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault_of(error, path) from error
