"""Rows of a CSV file, with the line on which each begins: whole plain blocks at once, others row by row."""

from __future__ import annotations

import csv
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from coincide.arrays.kinds import Int64Array
from coincide.command.faults import BadRows, CommandError, note
from coincide.command.input.chunks import Advance, Chunk, Column, opened_text
from coincide.command.input.csv_opening import CsvHeader, Opening


def plain_columns(block: str, header: CsvHeader) -> dict[str, pa.Array] | None:
    """Return the cells of each wanted column, blanks around them dropped.

    None where not every line is a row of as many cells as the header without quotes or line ends inside: one is blank
    or of another length, or has bytes that are no UTF-8. Then the csv module should say what it is.
    """
    lines = block.replace("\r\n", "\n") if "\r" in block else block
    if "\r" in lines or "\n\n" in lines or lines.startswith("\n") or not _has_plain_quotes(lines, header.delimiter):
        return None
    try:
        table = _arrow_table(lines.encode(), header)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    if table.num_rows != lines.count("\n") + (not lines.endswith("\n")):
        return None
    return {name: _trimmed(table.column(str(position)).combine_chunks()) for name, position in header.at.items()}


def _has_plain_quotes(lines: str, delimiter: str) -> bool:
    """Whether every quote, if there are any, opens or closes a cell, and no cell begins with a blank inside them."""
    quotes = lines.count('"')
    if not quotes:
        return True
    opening = lines.startswith('"') + lines.count('\n"') + lines.count(f'{delimiter}"')
    closing = lines.endswith('"') + lines.count('"\n') + lines.count(f'"{delimiter}')
    return opening == closing and opening + closing == quotes and '" ' not in lines


def _arrow_table(lines: bytes, header: CsvHeader) -> pa.Table:
    names = [str(position) for position in range(len(header.names))]  # those of the header may be there twice
    wanted = [str(position) for position in header.at.values()]
    return arrow_csv.read_csv(
        BytesIO(lines),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=names),
        arrow_csv.ParseOptions(delimiter=header.delimiter, double_quote=False),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.large_string()),
            strings_can_be_null=False,
            include_columns=wanted or names[:1],
        ),
    )


def _trimmed(cells: pa.Array) -> pa.Array:
    return pc.utf8_ltrim(pc.utf8_rtrim_whitespace(cells), characters=" ")


ROWS = 65_536
CHARACTERS = 1 << 23  # of a block
LONGEST_CELL = 1 << 20  # a quote that nobody closed would otherwise swallow the file

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def rows_one_by_one(
    path: Path, text: Iterable[str], header: CsvHeader, bad: BadRows, first_row: int, first_line: int
) -> Iterator[Chunk]:
    """Yield the rows of `text`, blank lines left out; rows of another length than the header are bad."""
    # strict: else a last quote that nobody closed would take every row after it into its cell, without a word
    reader = csv.reader(text, delimiter=header.delimiter, skipinitialspace=True, strict=True)
    before = first_line  # the reader counts from here
    while part := _next_rows(path, reader, first_line):
        lines = first_line + _lines_before(part, before + reader.line_num - first_line)
        rows = first_row + np.cumsum([bool(cells) for cells in part]) - 1
        sound = _sound(part, header, lines, bad)
        kept = [part[position] for position in sound.tolist()]
        # the reader has dropped blanks before the cells, so those after go as well
        columns: dict[str, Column] = {name: [cells[at].rstrip() for cells in kept] for name, at in header.at.items()}
        yield Chunk(columns, rows[sound], lines[sound], header.names, partial(_cells_without, header, kept))
        first_row, first_line = int(rows[-1]) + 1, before + reader.line_num


def _cells_without(header: CsvHeader, rows: Sequence[Sequence[str]], without: Sequence[str]) -> list[Hashable]:
    kept = [at for at, name in enumerate(header.names) if name not in without]
    return [tuple(cells[at].rstrip() for at in kept) for cells in rows]


def _content_of_lines(header: CsvHeader, block: str, without: Sequence[str]) -> list[Hashable]:
    """Return what lines that `plain_columns` has read say."""
    reader = csv.reader(StringIO(block, newline=""), delimiter=header.delimiter, skipinitialspace=True)
    return _cells_without(header, list(reader), without)


def _next_rows(path: Path, reader: Any, first_line: int) -> list[list[str]]:
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


def _sound(rows: list[list[str]], header: CsvHeader, lines: Int64Array, bad: BadRows) -> Int64Array:
    """Return the positions of the rows that have as many cells as the header; blank lines are passed over."""
    width, delimiter = len(header.names), header.delimiter
    widths = np.fromiter(map(len, rows), np.int64, len(rows))
    for position in np.flatnonzero((widths != width) & (widths > 0)).tolist():
        hint = f": does a cell with {delimiter!r} in it lack its quotes?" if widths[position] > width else ""
        bad.add(int(lines[position]), f"{widths[position]} cells; the header has {width}{hint}")
    return np.flatnonzero(widths == width)


DECIMAL_COMMA = r"^([+-]?[0-9]+),([0-9]+)$"
_decimal_comma = re.compile(DECIMAL_COMMA, re.ASCII)


class _DecimalCommas:
    """Makes points of decimal commas where semicolons separate the cells, and says so once."""

    def __init__(self, path: Path, header: CsvHeader) -> None:
        self._path, self._may_be = path, header.delimiter == ";"

    def read(self, chunk: Chunk) -> Chunk:
        """Return the chunk with 21.5 for 21,5."""
        found = {name: self._with_points(cells) for name, cells in chunk.columns.items()} if self._may_be else {}
        read = {name: cells for name, cells in found.items() if cells is not None}
        if read and not self._has_said_so:
            note(f"{self._path}: semicolons separate its cells, so that 21,5 is read as 21.5")
            self._has_said_so = True
        return replace(chunk, columns={**chunk.columns, **read}) if read else chunk

    _has_said_so = False

    @staticmethod
    def _with_points(cells: Column) -> Column | None:
        if isinstance(cells, list):
            points = [_decimal_comma.sub(r"\1.\2", cell) for cell in cells]
            return None if points == cells else points
        if not pc.any(pc.match_substring_regex(cells, DECIMAL_COMMA)).as_py():
            return None
        return pc.replace_substring_regex(cells, DECIMAL_COMMA, r"\1.\2")


def csv_chunks(
    path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance, characters: int = CHARACTERS
) -> Iterator[Chunk]:
    """Yield the rows of `path`, blank lines left out; rows of another length than the header are bad.

    Plain lines are read in blocks of `characters`; from the first block on that has another line in it, row by row.
    """
    with opened_text(path) as (text, share_read):
        opening = Opening.of(path, text, wanted)
        header, none = opening.header, np.empty(0, np.int64)
        commas = _DecimalCommas(path, header)
        # the columns, if there are no rows
        yield Chunk({name: [] for name in header.at}, none, none, header.names, lambda _: [])
        row, line, before = 1, opening.line, opening.row
        while block := before + text.read(characters) + text.readline():
            columns, before = plain_columns(block, header), ""
            if columns is None:
                for chunk in rows_one_by_one(path, chain(StringIO(block, newline=""), text), header, bad, row, line):
                    yield commas.read(chunk)
                    advance(share_read())
                return
            count = block.count("\n") + (not block.endswith("\n"))
            content = partial(_content_of_lines, header, block)
            rows, lines = np.arange(row, row + count), np.arange(line, line + count)
            yield commas.read(Chunk(columns, rows, lines, header.names, content))
            row, line = row + count, line + count
            advance(share_read())
