"""Formats: which reader a file's name asks for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from coincide.command.faults import BadRows, CommandError
from coincide.command.input.chunks import Advance, Chunk
from coincide.command.input.csv_rows import csv_chunks
from coincide.command.input.ndjson_rows import ndjson_chunks
from coincide.command.input.parquet_rows import parquet_chunks

Format = Literal["csv", "ndjson", "parquet"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
}


def format_of(path: Path) -> Format:
    """Return the format that the name of `path` says."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    form = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if form is None or (form == "parquet" and path.suffix.lower() == ".gz"):
        raise CommandError(f"{path}: its name should end in {', '.join(SUFFIXES)}; text files also with .gz after it")
    return form


def bad_rows_of(path: Path) -> BadRows:
    """Return what counts the bad rows of `path`: by line, or in Parquet by row."""
    return BadRows(path, "row" if format_of(path) == "parquet" else "line")


def read_chunks(path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance) -> Iterator[Chunk]:
    """Yield the rows of `path`."""
    form = format_of(path)
    try:
        if form == "parquet":
            yield from parquet_chunks(path, wanted, advance)
        else:
            yield from (csv_chunks if form == "csv" else ndjson_chunks)(path, wanted, bad, advance)
    except EOFError:
        raise CommandError(f"{path}: the gzip file ends too early") from None
    except zlib.error as error:
        raise CommandError(f"{path}: the gzip file is damaged: {error}") from None
    except OSError as error:  # gzip.BadGzipFile is one
        raise CommandError(f"{path}: {error.strerror or error}") from None
