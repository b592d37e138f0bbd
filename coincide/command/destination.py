"""Where the answer goes: a file that appears when it is whole, or standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import pyarrow as pa

from coincide.command.answer import PairBlock
from coincide.command.errors import CommandError
from coincide.command.formats import Format, format_of
from coincide.command.parquet_answer import ParquetAnswer
from coincide.command.text_answer import CsvFormat, NdjsonFormat, TextAnswer


class Answer(Protocol):
    """Takes the pairs in blocks."""

    def write(self, block: PairBlock) -> None:
        """Append the pairs of `block`."""
        ...

    def close(self) -> None:
        """Write what is still held back."""
        ...


def format_of_answer(out: Path | None) -> Format:
    """Return the format that the name of `out` says; CSV for standard output.

    Raises
    ------
    CommandError
        A name that says none.
    """
    if out is not None and out.suffix.lower() == ".gz":
        raise CommandError(f"{out}: the answer is not compressed: leave out .gz, or pipe it through gzip")
    return "csv" if out is None else format_of(out)


def check_destination(out: Path | None) -> None:
    """Refuse an answer's name that says no format, a folder, or a name in a folder that is not there.

    Raises
    ------
    CommandError
    """
    format_of_answer(out)
    if out is not None and not out.parent.is_dir():
        raise CommandError(f"{out}: there is no folder {out.parent}")
    if out is not None and out.is_dir():
        raise CommandError(f"{out}: is a folder")


def is_terminal(out: Path | None) -> bool:
    """Whether the answer goes where a person reads it; `out` None is standard output."""
    if out is None:
        return sys.stdout is not None and sys.stdout.isatty()
    if not out.is_char_device():
        return False
    with out.open("wb", buffering=0) as device:
        return device.isatty()


@contextmanager
def opened_answer(out: Path | None, sides: tuple[pa.Table, pa.Table]) -> Iterator[Answer]:
    """Yield what takes the answer. A file gets its name when all is written: there is never half an answer."""
    form = format_of_answer(out)
    with _sink(out) as sink:
        answer = _answer(form, sink, sides)
        yield answer
        answer.close()


def _answer(form: Format, sink: IO[bytes], sides: tuple[pa.Table, pa.Table]) -> Answer:
    if form == "parquet":
        return ParquetAnswer(sink, sides)
    return TextAnswer(sink, sides, CsvFormat() if form == "csv" else NdjsonFormat())


@contextmanager
def _sink(out: Path | None) -> Iterator[IO[bytes]]:
    if out is None:
        yield _standard_output()
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


def _standard_output() -> IO[bytes]:
    if sys.stdout is None:
        raise CommandError("standard output is closed: --out names a file")
    return sys.stdout.buffer
