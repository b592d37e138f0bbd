"""The opening of a CSV file: its delimiter and its columns, whatever a logger or a spreadsheet writes before them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from coincide.command.faults import CommandError

DELIMITERS = ",;\t|"
MOST_COMMENTS = 1000  # lines before the header
_chosen_delimiter = re.compile(r"\"?sep=([,;\t])\"?", re.IGNORECASE).fullmatch  # as Excel has it
_begins_table = re.compile(r"\"?TOA5\"?,").match  # Campbell Scientific's loggers: then names, units, kinds
LINES_BELOW_NAMES = 2  # of TOA5


@dataclass(frozen=True)
class CsvHeader:
    """All names, the delimiter between them, and where the wanted ones stand."""

    names: Sequence[str]
    delimiter: str
    at: Mapping[str, int]

    @classmethod
    def of(cls, path: Path, line: str, wanted: Sequence[str], delimiter: str | None = None) -> CsvHeader:
        """Read the header; unless it is given, the delimiter is the comma, semicolon or tab that it has most of."""
        delimiter = delimiter or max(DELIMITERS, key=line.count)
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        if not any(names):
            raise CommandError(f"{path} has no header: its first line should name the columns")
        for name in wanted:
            if names.count(name) > 1:
                raise CommandError(f"{path}: the header names {name!r} twice")
        return cls(names, delimiter, {name: names.index(name) for name in wanted if name in names})

    def fitted(self, row: str) -> CsvHeader:
        """Return the header of rows such as the first one, where all have one cell more than it has names.

        R counts rows in quotes, in a first column without a name, and others end each row with a delimiter.
        """
        try:
            cells = next(csv.reader([row], delimiter=self.delimiter, skipinitialspace=True, strict=True), [])
        except csv.Error:  # a cell goes on in the next line
            return self
        if len(cells) != len(self.names) + 1:
            return self
        if not cells[-1].strip():
            return replace(self, names=[*self.names, ""])
        if row.startswith('"1"'):
            return CsvHeader(["", *self.names], self.delimiter, {name: at + 1 for name, at in self.at.items()})
        return self


@dataclass(frozen=True)
class Opening:
    """The header, the first line of the rows, and its number."""

    header: CsvHeader
    row: str
    line: int

    @classmethod
    def of(cls, path: Path, text: TextIO, wanted: Sequence[str]) -> Opening:
        """Read up to the first row."""
        number, line, delimiter, below = 1, text.readline(), None, 0
        if found := _chosen_delimiter(line.strip()):
            number, line, delimiter = 2, text.readline(), found[1]
        elif _begins_table(line):
            number, line, delimiter, below = 2, text.readline(), ",", LINES_BELOW_NAMES
        while _is_comment(line) and number <= MOST_COMMENTS:
            number, line = number + 1, text.readline()
        header = CsvHeader.of(path, line.removeprefix("#"), wanted, delimiter)
        for _ in range(below):
            text.readline()
        row = text.readline()
        return cls(header.fitted(row), row, number + below + 1)


def _is_comment(line: str) -> bool:
    """Whether a line says something to people; a header may begin with #, too."""
    return line.startswith("#") and (line[1:2].isspace() or not any(each in line for each in DELIMITERS))
