"""BadRows: the rows of one file that cannot be used, and why."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from pathlib import Path

from coincide.command.errors import CommandError
from coincide.command.notes import note

LISTED = 10


class BadRows:
    """Counts bad rows and keeps what is wrong with those nearest the start of the file.

    Parameters
    ----------
    path : Path
        The file, as the user named it.
    unit : str
        What a row's place counts: "line" in text files, "row" in Parquet.
    """

    def __init__(self, path: Path, unit: str) -> None:
        self.path = path
        self.unit = unit
        self.count = 0
        self._first: list[tuple[int, str]] = []  # a heap of (-place, why): the greatest place goes first

    def add(self, place: int, why: str) -> None:
        """Note that the row at `place` cannot be used."""
        self.count += 1
        push = heapq.heappush if len(self._first) < LISTED else heapq.heappushpop
        push(self._first, (-place, why))

    def messages(self) -> list[str]:
        """Return one line of text for each of the first ten, in the order of the file."""
        return [f"{self.path} {self.unit} {-place}: {why}" for place, why in sorted(self._first, reverse=True)]


def tell_bad_rows(bad: Sequence[BadRows], *, skip: bool) -> None:
    """Say which rows of all files are bad.

    Raises
    ------
    CommandError
        There are some, and they are not to be skipped.
    """
    count = sum(each.count for each in bad)
    if count and skip:
        for each in bad:
            if each.count:
                note(f"{each.path}: {each.count} bad {each.unit}{'s' * (each.count != 1)} left out; the first:")
                note(each.messages()[0])
    elif count:
        unit = "line" if any(each.unit == "line" for each in bad if each.count) else "row"
        for message in [message for each in bad for message in each.messages()][:LISTED]:
            note(message)
        raise CommandError(
            f"{count} bad {unit}{'s' * (count != 1)} in all: put them right, or --skip-bad leaves them out"
        )
