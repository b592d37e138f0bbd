"""The file of a log: made whole or not at all, looked at before it is used, and the same as long as it is used."""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from services.common.local_log.sqlite_faults import damaged, telling
from services.common.local_log.tables import APPLICATION_ID, FORMAT, TABLES
from services.common.log.faults import LogError

_SMALLEST_BYTES = 512  # SQLite takes what is shorter for a database without anything
_WAL_HEADER, _FRAME_HEADER = 32, 24
_LONGEST_WAL_BYTES = 64 * 2**20
_SETTINGS = (
    "PRAGMA synchronous = FULL",  # a commit returns once it is on the disk
    "PRAGMA fullfsync = ON",  # which takes more than fsync on macOS
    f"PRAGMA journal_size_limit = {_LONGEST_WAL_BYTES}",
)


class LogFile:
    """The file at ``path``, made where there is none. `LogError`: it cannot be used, or is damaged."""

    def __init__(self, path: Path, busy_s: float) -> None:
        self.path, self._busy_s = path.absolute(), busy_s
        with self.telling():
            if not self.path.exists():
                self._make()
            self._examine()
        self._identity = self._found()

    def connect(self, mode: Literal["rw", "ro"] = "rw") -> sqlite3.Connection:
        """Return a connection, which one thread at a time may use; it may raise errors of SQLite."""
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        if mode == "rw":
            for each in _SETTINGS:
                connection.execute(each)
        return connection

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Turn errors of SQLite and of the disk into faults of this log."""
        try:
            with telling(self.path):
                yield
        except OSError as error:
            raise LogError(f"the log {self.path} cannot be used ({error.strerror})") from error

    def refuse_lost(self) -> None:
        """Raise a `LogError` if the file was deleted or replaced: SQLite would go on in one that nobody will read."""
        if self._found() != self._identity:
            raise LogError(f"the log {self.path} was deleted or replaced while it was in use: start again")

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _make(self) -> None:
        """Make the file beside its place, and move it there; of several processes that do so the first one wins."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.executescript(f"BEGIN; {TABLES} COMMIT; PRAGMA journal_mode = WAL")
            _place(draft, self.path)
        finally:
            draft.unlink(missing_ok=True)

    def _examine(self) -> None:
        """Refuse a file that is not what was written: SQLite takes an empty one for new, and a torn end for zeros.

        The connection only reads: one that writes would hide what is missing as it closes.
        """
        if (size := self.path.stat().st_size) < _SMALLEST_BYTES:
            raise damaged(self.path, f"the file has {size} bytes")
        with closing(self.connect("ro")) as connection:
            (whose,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if whose != APPLICATION_ID:
                raise LogError(f"{self.path} is a database, and no log of Coincide")
            if version != FORMAT:
                raise LogError(f"the log {self.path} has format {version}, and this version of Coincide reads {FORMAT}")
            if missing := self._missing_pages(connection):
                raise damaged(self.path, f"{missing} pages are missing, from where it ends")
            for table in ("topics", "partitions"):
                found = [row[0] for row in connection.execute(f"PRAGMA quick_check({table})")]
                if found != ["ok"]:
                    raise damaged(self.path, found[0])

    def _missing_pages(self, connection: sqlite3.Connection) -> int:
        """Return how many pages are neither in the file nor in what SQLite is still to move there.

        Another process may write meanwhile, so it matters what is asked first.
        """
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        waiting = set(_pages_in(self.path.with_name(f"{self.path.name}-wal"), page))
        return len(set(range(self.path.stat().st_size // page + 1, pages + 1)) - waiting)


def _place(draft: Path, path: Path) -> None:
    """Give a file its name, unless something has it already; both are on the disk before this returns."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _pages_in(wal: Path, page: int) -> Iterator[int]:
    """Yield the numbers of the pages in a write-ahead log."""
    try:
        file = wal.open("rb")
    except FileNotFoundError:
        return
    with file:
        at = _WAL_HEADER
        while len(frame := os.pread(file.fileno(), 4, at)) == 4:
            yield int.from_bytes(frame)
            at += _FRAME_HEADER + page
