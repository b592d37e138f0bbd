"""Rows of a CSV file one by one: quoted, blank or of another length than the header, with the line each begins on."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from coincide.arrays import Int64Array
from coincide.command.bad_rows import BadRows
from coincide.command.columns import Chunk, Column
from coincide.command.csv_header import CsvHeader
from coincide.command.errors import CommandError

ROWS = 65_536
LONGEST_CELL = 1 << 20  # a quote that nobody closed would otherwise swallow the file

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def any_rows(
    path: Path, text: Iterable[str], header: CsvHeader, bad: BadRows, first_row: int, first_line: int
) -> Iterator[Chunk]:
    """Yield the rows of `text`, blank lines left out; rows of another length than the header are bad.

    Raises
    ------
    CommandError
        Quotes that cannot be read.
    """
    # strict: else a last quote that nobody closed would take every row after it into its cell, without a word
    reader = csv.reader(text, delimiter=header.delimiter, skipinitialspace=True, strict=True)
    before = first_line  # the reader counts from here
    while part := _read(path, reader, first_line):
        lines = first_line + _lines_before(part, before + reader.line_num - first_line)
        rows = first_row + np.cumsum([bool(cells) for cells in part]) - 1
        sound = _sound(part, len(header.names), lines, bad)
        columns = _columns([part[position] for position in sound.tolist()], header.at)
        yield Chunk(columns, rows[sound], lines[sound], header.names)
        first_row, first_line = int(rows[-1]) + 1, before + reader.line_num


def _read(path: Path, reader: Any, first_line: int) -> list[list[str]]:
    """Read some rows; a blank line is a row of no cells."""
    csv.field_size_limit(LONGEST_CELL)
    rows: list[list[str]] = []
    try:
        rows.extend(islice(reader, ROWS))
    except csv.Error as error:  # what came before is in rows
        line = first_line + sum(_lines_of(cells) for cells in rows)
        raise CommandError(f"{path} line {line}: {error}: is a quote not closed?") from None
    return rows


def _lines_before(rows: list[list[str]], lines: int) -> Int64Array:
    """Return how many lines lie before each row, of `lines` in all; a quoted cell may hold line ends."""
    if lines == len(rows):
        return np.arange(lines)
    taken = [_lines_of(cells) for cells in rows]
    return np.cumsum(taken, dtype=np.int64) - taken


def _lines_of(cells: list[str]) -> int:
    return 1 + sum(len(_LINE_ENDS.findall(cell)) for cell in cells)


def _sound(rows: list[list[str]], width: int, lines: Int64Array, bad: BadRows) -> Int64Array:
    """Return the positions of the rows that have as many cells as the header; blank lines are passed over."""
    widths = np.fromiter(map(len, rows), np.int64, len(rows))
    for position in np.flatnonzero((widths != width) & (widths > 0)).tolist():
        bad.add(int(lines[position]), f"{widths[position]} cells; the header has {width}")
    return np.flatnonzero(widths == width)


def _columns(rows: list[list[str]], at: Mapping[str, int]) -> dict[str, Column]:
    """Return the cells of each column; the reader has dropped blanks before them, so those after go as well."""
    return {name: [cells[position].rstrip() for cells in rows] for name, position in at.items()}
