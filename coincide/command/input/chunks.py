"""What readers hand over, chunk by chunk, the types of its columns, and how text files are opened, gzip or plain."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.command.arguments.options import STDIN

Advance = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""

Column: TypeAlias = "pa.Array | list[Any]"
"""Values of one column: typed (Parquet), all text (CSV) or whatever JSON holds (NDJSON); None where there is none."""


Content = Callable[[Sequence[str]], Sequence[Hashable]]
"""Returns all that each row says, but for the columns of these names."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a file, n of them."""

    columns: Mapping[str, Column]  # the wanted columns that the file has
    row: Int64Array  # (n,): number of each row; the first of the file is 1
    place: Int64Array  # (n,): where a person finds each row: its line, or in Parquet its row
    names: Sequence[str]  # all columns that the file has
    content: Content

    def column(self, name: str) -> Column:
        """Return the values of a column; all empty if the file has none of that name."""
        return self.columns.get(name, [None] * len(self.row))


def typed(values: Column) -> pa.Array | None:
    """Return the values as an array of one type; None if they are of several, or beyond what a type holds."""
    if not isinstance(values, list):
        return values
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return None


def is_text(kind: pa.DataType) -> bool:
    """Whether `kind` is a type of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def listed(values: Column) -> list[Any]:
    """Return the values as a list."""
    return values if isinstance(values, list) else values.to_pylist()


def first_filled(values: Column) -> int:
    """Return the position of the first value that is not empty; how many there are if all are."""
    column = values if isinstance(values, list) else (value.as_py() for value in values)
    return next((n for n, value in enumerate(column) if value is not None and value != ""), len(values))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input, which stays open."""
    if path != STDIN:
        with path.open("rb") as raw:
            yield raw
        return
    yield cast("IO[bytes]", sys.stdin.buffer)


UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def opened_text(path: Path) -> Iterator[tuple[TextIOWrapper, Callable[[], float]]]:
    """Open `path` as UTF-8, or as UTF-16 if its mark says so; yield it, and a function of the share that is read.

    Bytes that are no UTF-8 come as lone surrogates, for the column that holds them to refuse.
    """
    with _opened(path) as raw:
        size = path.stat().st_size if path != STDIN and raw.seekable() else 0  # nobody knows how long a pipe is
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw
        is_utf_16 = cast("BufferedReader", binary).peek(2).startswith(UTF_16_MARKS)
        form = ("utf-16", "replace") if is_utf_16 else ("utf-8-sig", "surrogateescape")
        text = TextIOWrapper(binary, *form, newline="")
        try:
            yield text, lambda: min(raw.tell() / size, 1.0) if size else 0.0
        finally:
            text.detach()  # who opened it closes it
