"""Answers as files, and what a person sees while they are made.

Cells of text or Parquet go to a file that appears when it is whole, or to standard output. Progress bars are shown on a
terminal, unless the answer itself goes there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.command.faults import CommandError
from coincide.command.input.chunks import Advance
from coincide.command.input.formats import Format, format_of

PROBABILITY_DIGITS = 6
_BARE = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)  # what JSON writes without quotes


class CsvFormat:
    """RFC 4180, with line ends as Unix has them."""

    opening, ending = "", "\n"

    def header(self, names: list[str]) -> str:
        """Return the line of names."""
        return ",".join(self.cells("", pa.array(names, pa.large_string())).to_pylist()) + "\n"

    def cells(self, name: str, values: pa.Array) -> pa.Array:  # noqa: ARG002 - NDJSON needs it
        """Quote the texts that need it."""
        texts = _as_text(values)
        to_quote = pc.match_substring_regex(texts, '[",\r\n]')
        if not pc.any(to_quote).as_py():
            return texts
        quoted = concatenated('"', pc.replace_substring(texts, '"', '""'), '"')
        return pc.if_else(to_quote, quoted, texts)


class NdjsonFormat:
    """One JSON object a line."""

    opening, ending = "{", "}\n"

    def header(self, names: list[str]) -> str:  # noqa: ARG002 - CSV needs them
        """Return nothing: every line names its fields."""
        return ""

    def cells(self, name: str, values: pa.Array) -> pa.Array:
        """Return ``"name":value``."""
        texts = _as_text(values)
        if not any(is_bare(values.type) for is_bare in _BARE):
            texts = _json_strings(texts)
        return concatenated(f"{json.dumps(name)}:", texts.fill_null("null"))


TextFormat = CsvFormat | NdjsonFormat
"""How a row is written: opening, cells with a comma between, ending."""


def concatenated(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    """Put texts together row by row; a str stands in every row."""
    scalars = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, separator)]
    return pc.binary_join_element_wise(*scalars)


def _as_text(values: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(values.type):
        return values.cast(pa.string()).cast(pa.large_string())
    without_zone = values.cast(pa.timestamp("us"))  # all are in UTC; a cast with the zone takes thirty times as long
    texts = without_zone.cast(pa.string()).cast(pa.large_string())
    return concatenated(pc.replace_substring(texts, " ", "T", max_replacements=1), "Z")


def _json_strings(texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        quoted = [None if text is None else json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()]
        return pa.array(quoted, pa.large_string())
    return concatenated('"', texts, '"')


def bytes_of(texts: pa.Array) -> memoryview:
    """All texts, one after the other, as they lie in the array's own buffer."""
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(content)[ends[0] : ends[-1]] if content is not None else memoryview(b"")


ROWS_OF_A_GROUP = 1_000_000


class TextAnswer:
    """Rows of text: a table becomes cells once, however often its rows are taken."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema, form: TextFormat) -> None:
        self._sink, self._form = sink, form
        sink.write(form.header(schema.names).encode())

    def part(self, table: pa.Table) -> pa.Array:
        """Return what `write` takes for the columns of `table`, row by row."""
        columns = zip(table.column_names, table.columns, strict=True)
        cells = [self._form.cells(name, values.combine_chunks()).fill_null("") for name, values in columns]
        return concatenated(*cells, separator=",")

    def write(self, *parts: pa.Array) -> None:
        """Append rows whose parts stand beside each other."""
        with_commas = [text for part in parts for text in (",", part)]
        self._sink.write(bytes_of(concatenated(self._form.opening, *with_commas[1:], self._form.ending)))

    def close(self) -> None:
        """Hand over what is still held back."""
        self._sink.flush()


class ParquetAnswer:
    """Row groups of about a million."""

    def __init__(self, sink: IO[bytes], schema: pa.Schema) -> None:
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - few answers need it, and each start would wait for it

        self._schema = schema
        self._writer = ParquetWriter(sink, schema)
        self._blocks: list[pa.Table] = []

    def part(self, table: pa.Table) -> pa.Table:
        """Return what `write` takes for the columns of `table`, row by row."""
        return table

    def write(self, *parts: pa.Table) -> None:
        """Append rows whose parts stand beside each other."""
        columns = [column for part in parts for column in part.columns]
        self._blocks.append(pa.Table.from_arrays(columns, schema=self._schema))
        if sum(block.num_rows for block in self._blocks) >= ROWS_OF_A_GROUP:
            self._write_group()

    def close(self) -> None:
        """Write what is still held back, and the footer."""
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._blocks:
            self._writer.write_table(pa.concat_tables(self._blocks))
            self._blocks.clear()


def format_of_answer(out: Path | None) -> Format:
    """Return the format that the name of `out` says; CSV for standard output."""
    if out is not None and out.suffix.lower() == ".gz":
        raise CommandError(f"{out}: the answer is not compressed: leave out .gz, or pipe it through gzip")
    return "csv" if out is None else format_of(out)


def check_paths(out: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a name of an answer that says no format or cannot be written, or that is the name of an input."""
    format_of_answer(out)
    check_place(out, inputs)


def check_place(out: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a name that cannot be written, or that is the name of an input."""
    if out is None:
        return
    if not out.parent.is_dir():
        raise CommandError(f"{out}: there is no folder {out.parent}")
    if out.is_dir():
        raise CommandError(f"{out}: is a folder")
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise CommandError(f"{out} is read and cannot be written as well: give --out another name")


def write_sentences(out: Path | None, figures: Mapping[str, Any]) -> None:
    """Write figures, their sentences among them: as JSON where the name ends so, else the sentences alone as text."""
    if out is not None and out.suffix.lower() == ".json":
        text = json.dumps(figures, indent=2) + "\n"
    else:
        text = "".join(f"{sentence}\n" for sentence in figures["sentences"])
    with opened_sink(out) as sink:
        sink.write(text.encode())


@contextmanager
def opened_answer(out: Path | None, schema: pa.Schema) -> Iterator[TextAnswer | ParquetAnswer]:
    """Yield the file of the answer; it gets its name when all is written: there is never half an answer."""
    with opened_sink(out) as sink:
        form = format_of_answer(out)
        text = CsvFormat() if form == "csv" else NdjsonFormat()
        answer = ParquetAnswer(sink, schema) if form == "parquet" else TextAnswer(sink, schema, text)
        yield answer
        answer.close()


@contextmanager
def opened_sink(out: Path | None) -> Iterator[IO[bytes]]:
    """Yield where the bytes of an answer go: standard output, a pipe, or a file that has its name when all is there."""
    if out is None:
        if sys.stdout is None:
            raise CommandError("standard output is closed: --out names a file")
        yield sys.stdout.buffer
        return
    if out.exists() and not out.is_file():  # a pipe or a device is written to, not replaced
        with out.open("wb") as sink:
            yield sink
        return
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        with unfinished.open("wb") as sink:
            yield sink
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


Stages = Callable[[str], Advance]
"""Starts a stage of the work; returns what is to be called with its share that is done."""


@contextmanager
def shown_stages(out: Path | None) -> Iterator[Stages | None]:
    """Yield what shows a bar for each stage until the block ends; None if nobody would see it.

    A bar takes back the lines above it whenever it moves, so it would draw over an answer `out` on a terminal.
    """
    if _is_terminal(out) or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - a start without bars would wait for it half as long as for numpy
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def stage(description: str) -> Advance:
            task = progress.add_task(description, total=1.0)
            return lambda share: progress.update(task, completed=share)

        yield stage


def advance_of(stages: Stages | None, description: str) -> Advance:
    """Start a stage; return what is to be called with its share that is done."""
    return (lambda _share: None) if stages is None else stages(description)


def _is_terminal(out: Path | None) -> bool:
    """Whether the answer goes where a person reads it; `out` None is standard output."""
    if out is None:
        return sys.stdout is not None and sys.stdout.isatty()
    if not out.is_char_device():
        return False
    with out.open("wb", buffering=0) as device:
        return device.isatty()
