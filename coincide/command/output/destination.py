"""Where the answer goes: a file that appears when it is whole, or standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, TypeVar

from coincide.command.faults import CommandError
from coincide.command.input.formats import Format, format_of

Block_contra = TypeVar("Block_contra", contravariant=True)
Block = TypeVar("Block")


class AnswerFile(Protocol[Block_contra]):
    """Takes the rows in blocks."""

    def write(self, block: Block_contra) -> None:
        """Append the rows of `block`."""
        ...

    def close(self) -> None:
        """Write what is still held back."""
        ...


def format_of_answer(out: Path | None) -> Format:
    """Return the format that the name of `out` says; CSV for standard output."""
    if out is not None and out.suffix.lower() == ".gz":
        raise CommandError(f"{out}: the answer is not compressed: leave out .gz, or pipe it through gzip")
    return "csv" if out is None else format_of(out)


def check_paths(out: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a name of an answer that says no format or cannot be written, or that is the name of an input."""
    format_of_answer(out)
    if out is None:
        return
    if not out.parent.is_dir():
        raise CommandError(f"{out}: there is no folder {out.parent}")
    if out.is_dir():
        raise CommandError(f"{out}: is a folder")
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise CommandError(f"{out} is read and cannot be written as well: give --out another name")


def is_terminal(out: Path | None) -> bool:
    """Whether the answer goes where a person reads it; `out` None is standard output."""
    if out is None:
        return sys.stdout is not None and sys.stdout.isatty()
    if not out.is_char_device():
        return False
    with out.open("wb", buffering=0) as device:
        return device.isatty()


@contextmanager
def opened_answer(
    out: Path | None, answer_in: Callable[[Format, IO[bytes]], AnswerFile[Block]]
) -> Iterator[AnswerFile[Block]]:
    """Yield the file that takes the answer, made by `answer_in` of a format and where its bytes go.

    A file gets its name when all is written: there is never half an answer.
    """
    with _sink(out) as sink:
        answer = answer_in(format_of_answer(out), sink)
        yield answer
        answer.close()


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
