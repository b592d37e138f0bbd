"""What a user can put right: errors, rows that cannot be used and why, and notes to standard error."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array

SHOWN_CHARACTERS = 60


class CommandError(Exception):
    """What is wrong and what to do about it, in one sentence; the exit status is 1."""


class ValueRefused(ValueError):  # noqa: N818 - a verdict on one value, as ingest's Refused
    """A value that cannot be used: which column, what was given, what is allowed."""

    def __init__(self, column: str, value: object, allowed: str) -> None:
        super().__init__(f"{column}: {shown(value)}: {allowed}")


def shown(value: object) -> str:
    """Return `value` as a short text on one line."""
    text = "empty" if value is None or value == "" else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


class RowFaults(dict[int, str]):
    """What is wrong, by the row's position; the first fault of a row stays."""

    def add(self, position: int, why: object) -> None:
        """Note what is wrong with the row at `position`."""
        self.setdefault(position, str(why))

    def add_all(self, positions: Int64Array, why: str) -> None:
        """Note the same for many rows."""
        for position in positions.tolist():
            self.setdefault(position, why)

    def sound(self, rows: int) -> BoolArray:
        """Return which of `rows` rows have no fault, bool (rows,)."""
        mask = np.ones(rows, np.bool_)
        mask[list(self)] = False
        return mask


def note(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"coincide: {text}\n")


LISTED = 10


class BadRows:
    """The number of bad rows of a file, and what is wrong with those nearest its start; `unit` is "line" or "row"."""

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

    def add_faults(self, faults: RowFaults, places: Int64Array) -> None:
        """Note the rows of a chunk that have a fault; `places` are those of all its rows."""
        for position, why in faults.items():
            self.add(int(places[position]), why)

    def messages(self) -> list[str]:
        """Return one line of text for each of the first ten, in the order of the file."""
        return [f"{self.path} {self.unit} {-place}: {why}" for place, why in sorted(self._first, reverse=True)]


def report_bad_rows(bad: Sequence[BadRows], *, skip: bool) -> None:
    """List the bad rows of all files; raise CommandError if there are some and they are not to be skipped."""
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
