"""Plain blocks of a CSV file: many lines at once, as long as each is a row that any reader reads alike."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from coincide.command.csv_header import CsvHeader


def plain_columns(block: str, header: CsvHeader) -> dict[str, pa.Array] | None:
    r"""Return the cells of each wanted column, blanks around them dropped.

    None where not every line is a row of as many cells as the header without quotes or line ends inside: one is blank
    or of another length, or has bytes that are no UTF-8. Then the csv module should say what it is.

    Examples
    --------
    >>> header = CsvHeader(["id", "n"], ",", {"n": 1})
    >>> plain_columns("a, 1\nb,2 \n", header)["n"].to_pylist(), plain_columns('x"y,1', header)
    (['1', '2'], None)
    """
    lines = block.replace("\r\n", "\n") if "\r" in block else block
    if "\r" in lines or "\n\n" in lines or lines.startswith("\n") or not _has_plain_quotes(lines, header.delimiter):
        return None
    try:
        table = _read(lines.encode(), header)
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


def _read(lines: bytes, header: CsvHeader) -> pa.Table:
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
