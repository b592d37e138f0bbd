"""Rows of a CSV file, with the line on which each begins."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from coincide.command.bad_rows import BadRows
from coincide.command.columns import Chunk
from coincide.command.errors import CommandError
from coincide.command.text_files import Advance, opened_text

ROWS = 65_536
DELIMITERS = ",;\t"
LONGEST_CELL = 1 << 20  # a quote that nobody closed would otherwise swallow the file

NumberedRow = tuple[int, int, list[str]]  # row, line, cells


def csv_chunks(path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance) -> Iterator[Chunk]:
    """Yield the rows of `path`, blank lines left out; rows of another length than the header are bad.

    The delimiter is the comma, semicolon or tab that the header has most of.

    Raises
    ------
    CommandError
        No header, two wanted columns of one name, or quotes that cannot be read.
    """
    with opened_text(path) as (text, share_read):
        header_line = text.readline()
        delimiter = max(DELIMITERS, key=header_line.count)
        header = next(csv.reader([header_line], delimiter=delimiter, skipinitialspace=True), [])
        at = _positions(path, [name.strip() for name in header], wanted)
        yield _chunk([], at)  # which columns there are, even if there are no rows
        rows = _numbered(path, csv.reader(text, delimiter=delimiter, skipinitialspace=True))
        while part := list(islice(rows, ROWS)):
            sound = [row for row in part if len(row[2]) == len(header)]
            for _, line, cells in part if len(sound) < len(part) else ():
                if len(cells) != len(header):
                    bad.add(line, f"{len(cells)} cells; the header has {len(header)}")
            yield _chunk(sound, at)
            advance(share_read())


def _positions(path: Path, header: list[str], wanted: Sequence[str]) -> dict[str, int]:
    if not any(header):
        raise CommandError(f"{path} has no header: its first line should name the columns")
    for name in wanted:
        if header.count(name) > 1:
            raise CommandError(f"{path}: the header names {name!r} twice")
    return {name: header.index(name) for name in wanted if name in header}


def _numbered(path: Path, reader: Any) -> Iterator[NumberedRow]:
    csv.field_size_limit(LONGEST_CELL)
    row, line = 0, 2
    try:
        for cells in reader:
            if cells:
                row += 1
                yield row, line, cells
            line = reader.line_num + 2  # the reader has not seen the header
    except csv.Error as error:
        raise CommandError(f"{path} line {line}: {error} (is a quote not closed?)") from None


def _chunk(rows: list[NumberedRow], at: dict[str, int]) -> Chunk:
    columns = {name: [cells[position] for _, _, cells in rows] for name, position in at.items()}
    row, line = (np.array([each[part] for each in rows], np.int64) for part in (0, 1))
    return Chunk(columns, row, line)
