"""Formats of files: which reader a name asks for; CSV and NDJSON have modules of their own, Parquet is read here."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.command.arguments.options import STDIN
from coincide.command.faults import BadRows, CommandError
from coincide.command.input.chunks import Advance, Chunk
from coincide.command.input.csv_rows import csv_chunks
from coincide.command.input.ndjson_rows import arriving_chunks, ndjson_chunks

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

Format = Literal["csv", "ndjson", "parquet"]

_TEXTS: dict[str, Format] = {".csv": "csv", ".tsv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson"}
SUFFIXES: dict[str, Format] = {**_TEXTS, ".parquet": "parquet"}


def format_of(path: Path) -> Format:
    """Return the format that the name of `path` says."""
    if path == STDIN:
        return _format_of_stdin(sys.stdin)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    form = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if suffixes[-1:] == [".json"]:
        raise CommandError(f"{path}: JSON is read one object a line, in .ndjson: jq -c '.[]' writes an array so")
    if form is None or (form == "parquet" and path.suffix.lower() == ".gz"):
        raise CommandError(f"{path}: its name should end in {', '.join(SUFFIXES)}; text files also with .gz after it")
    return form


@lru_cache(maxsize=1)  # asked for again when its first bytes are gone
def _format_of_stdin(stdin: TextIO | None) -> Format:
    """Return the format that the first bytes of standard input show; they stay to be read."""
    if stdin is None:
        raise CommandError(f"{STDIN} is closed")
    begins = cast("BufferedReader", stdin.buffer).peek(1).removeprefix(b"\xef\xbb\xbf").lstrip()
    if begins.startswith(b"PAR1"):
        raise CommandError(f"{STDIN}: Parquet cannot be read from a pipe")
    return "ndjson" if begins.startswith((b"{", b"[")) or not begins else "csv"


def bad_rows_of(path: Path) -> BadRows:
    """Return what counts the bad rows of `path`: by line, or in Parquet by row."""
    return BadRows(path, "row" if format_of(path) == "parquet" else "line")


def read_chunks(
    path: Path, wanted: Sequence[str], bad: BadRows, advance: Advance, *, with_content: bool = False
) -> Iterator[Chunk]:
    """Yield the rows of `path`; with their content, if it is Parquet without ids, all columns are read."""
    form = format_of(path)
    try:
        if path == STDIN and form == "ndjson":
            yield from arriving_chunks(path, wanted, bad)
        elif form == "parquet":
            yield from parquet_chunks(path, wanted, advance, with_content=with_content)
        else:
            yield from (csv_chunks if form == "csv" else ndjson_chunks)(path, wanted, bad, advance)
    except EOFError:
        raise CommandError(f"{path}: the gzip file ends too early") from None
    except zlib.error as error:
        raise CommandError(f"{path}: the gzip file is damaged: {error}") from None
    except OSError as error:  # gzip.BadGzipFile is one
        raise CommandError(f"{path}: {error.strerror or error}") from None


ROWS = 262_144


def parquet_chunks(
    path: Path, wanted: Sequence[str], advance: Advance, *, with_content: bool = False
) -> Iterator[Chunk]:
    """Yield the wanted columns of `path`; ``attributes.celsius`` is a field of a column of structures."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - texts need not wait for it

    try:
        with path.open("rb") as raw:
            if not raw.seekable():
                raise CommandError(f"{path}: Parquet cannot be read from a pipe")
            with ParquetFile(raw) as file:
                yield from _chunks(path, file, wanted, advance, with_content)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CommandError(f"{path}: {error}") from None


def _chunks(
    path: Path, file: ParquetFile, wanted: Sequence[str], advance: Advance, with_content: bool
) -> Iterator[Chunk]:
    schema, names = file.schema_arrow, file.schema_arrow.names
    for name in wanted:
        if names.count(name) > 1:
            raise CommandError(f"{path}: the schema names {name!r} twice")
    present = [name for name in wanted if name in names or _is_inside(schema, name)]
    total, first = max(file.metadata.num_rows, 1), 1
    yield _chunk(schema.empty_table(), present, first, names)
    for batch in file.iter_batches(ROWS, columns=None if with_content and "id" not in names else present):
        yield _chunk(pa.Table.from_batches([batch]), present, first, names)
        first += batch.num_rows
        advance((first - 1) / total)


def _chunk(table: pa.Table, present: Sequence[str], first: int, names: Sequence[str]) -> Chunk:
    columns = {name: _column(table, name) for name in present}
    row = np.arange(first, first + table.num_rows, dtype=np.int64)

    def content(without: Sequence[str]) -> list[str]:
        kept = [name for name in table.column_names if name not in without]
        return [repr(each) for each in table.select(kept).to_pylist()]

    return Chunk(columns, row, row, names, content)


def _column(table: pa.Table, name: str) -> pa.Array:
    if name in table.column_names:
        return table.column(name).combine_chunks()
    root, *path = name.split(".")
    return pc.struct_field(table.column(root).combine_chunks(), path)


def _is_inside(schema: pa.Schema, name: str) -> bool:
    """Whether `name` is a path such as ``attributes.celsius`` into a column of structures."""
    root, *path = name.split(".")
    if not path or root not in schema.names:
        return False
    kind = schema.field(root).type
    for step in path:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return False
        kind = kind.field(step).type
    return True
