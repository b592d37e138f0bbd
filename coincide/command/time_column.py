"""Which of a file's columns holds the times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coincide.command.columns import Chunk, Column
from coincide.command.errors import CommandError

SHOWN_NAMES = 10


def time_column_of(path: Path, chunk: Chunk, times: Sequence[str]) -> str:
    """Return the one of `times` that has the first value; an empty one if all are.

    Raises
    ------
    CommandError
        The file has none of them.
    """
    present = [name for name in times if name in chunk.columns]
    if present:
        return min(present, key=lambda name: first_filled(chunk.columns[name]))
    raise CommandError(
        f"{path} has no column {' or '.join(times)}: --time names the column with the times; {there_are(chunk, times)}"
    )


def there_are(chunk: Chunk, missing: Sequence[str]) -> str:
    """Return which columns there are, for a message that some are missing."""
    there = ", ".join(map(repr, chunk.names[:SHOWN_NAMES])) + ", …" * (len(chunk.names) > SHOWN_NAMES)
    capitals = {name.lower() for name in chunk.names} & {name.lower() for name in missing}
    return f"there are {there}{' (capitals count)' * bool(capitals)}"


def first_filled(values: Column) -> int:
    """Return the position of the first value that is not empty; how many there are if all are."""
    column = values if isinstance(values, list) else (value.as_py() for value in values)
    return next((n for n, value in enumerate(column) if value is not None and value != ""), len(values))
