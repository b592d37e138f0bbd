"""Rows of a CSV file, with the line on which each begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path

import numpy as np

from coincide.command.bad_rows import BadRows
from coincide.command.columns import Chunk
from coincide.command.csv_blocks import plain_columns
from coincide.command.csv_header import CsvHeader
from coincide.command.csv_rows import any_rows
from coincide.command.text_files import Advance, opened_text

CHARACTERS = 1 << 23  # of a block


def csv_chunks(path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance) -> Iterator[Chunk]:
    """Yield the rows of `path`, blank lines left out; rows of another length than the header are bad.

    Plain lines are read in blocks; from the first block on that has another line in it, row by row.

    Raises
    ------
    CommandError
        No header, two wanted columns of one name, or quotes that cannot be read.
    """
    with opened_text(path) as (text, share_read):
        header = CsvHeader.of(path, text.readline(), wanted)
        none = np.empty(0, np.int64)
        yield Chunk(
            {name: [] for name in header.at}, none, none, header.names
        )  # tells the columns if there are no rows
        row, line = 1, 2
        while block := text.read(CHARACTERS) + text.readline():
            columns = plain_columns(block, header)
            if columns is None:
                for chunk in any_rows(path, chain(StringIO(block, newline=""), text), header, bad, row, line):
                    yield chunk
                    advance(share_read())
                return
            count = block.count("\n") + (not block.endswith("\n"))
            yield Chunk(columns, np.arange(row, row + count), np.arange(line, line + count), header.names)
            row, line = row + count, line + count
            advance(share_read())
