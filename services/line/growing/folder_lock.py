"""The folder of a line: one process at a time has it, and nobody serves it that has grown into Kafka."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.common.log.faults import LogError
from services.line.growing.growth_note import NOTE, GrowthNote

LOCK = "line.lock"


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Have the folder for this process; a `LogError` where another one has it. The system frees it at any end."""
    with (folder / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LogError(f"another process uses {folder}: stop the line there first") from error
        yield


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Have the folder in order to serve it; a `LogError` where its records went, or are to come from, elsewhere."""
    with claimed(folder):
        if (note := GrowthNote.read(folder)) is not None:
            how = "has been copied" if note.is_complete else "is being copied, and that was cut short,"
            way = f"go on there, or delete {folder / NOTE} to run the line here again"
            raise LogError(f"{note.source} {how} to {note.target}: {way}")
        yield
