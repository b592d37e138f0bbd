"""The header of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.command.errors import CommandError

DELIMITERS = ",;\t"


@dataclass(frozen=True)
class CsvHeader:
    """All names, the delimiter between them, and where the wanted ones stand."""

    names: Sequence[str]
    delimiter: str
    at: Mapping[str, int]

    @classmethod
    def of(cls, path: Path, line: str, wanted: Sequence[str]) -> CsvHeader:
        """Read the header; the delimiter is the comma, semicolon or tab that it has most of.

        Raises
        ------
        CommandError
            No header, or two wanted columns of one name.
        """
        delimiter = max(DELIMITERS, key=line.count)
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        if not any(names):
            raise CommandError(f"{path} has no header: its first line should name the columns")
        for name in wanted:
            if names.count(name) > 1:
                raise CommandError(f"{path}: the header names {name!r} twice")
        return cls(names, delimiter, {name: names.index(name) for name in wanted if name in names})
