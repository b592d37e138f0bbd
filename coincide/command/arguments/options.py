"""Options that several commands share, and the values that options take."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from coincide.arrays.instants import TIME_UNITS, TimeUnit


@dataclass(frozen=True)
class ReadOptions:
    """How events of a query are read; `stream` is that of events which name none."""

    stream: str | None
    time_column: str | None
    uncertainty: str | None
    templates: Path | None
    skip_bad: bool
    assume_utc: bool
    unit: TimeUnit = "us"
    has_streams: bool = True  # False: the column stream means nothing
    echo_us: int | None = None  # so long after a report of its sensor another one is an echo of it

    @classmethod
    def of(cls, options: argparse.Namespace) -> ReadOptions:
        """Return what the user says."""
        named = (options.stream, options.time, options.uncertainty, options.templates)
        echo_us = getattr(options, "echo", None)  # of commands that have it
        return cls(*named, options.skip_bad, options.assume_utc, options.time_unit, echo_us=echo_us)


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

EXIT_STATUS = """\
exit status: 0 done; 1 a file cannot be used or written; 2 wrong usage; 130 interrupted; 141 the reader went away;
143 terminated
"""

STDIN = Path("standard input")  # what - stands for; no name of a file, as it has no suffix

LONGEST_S = 1e9  # as far as a template's edges may reach; 31 years


def filled(text: str) -> str:
    """Return `text`, refused if empty."""
    if not text:
        raise argparse.ArgumentTypeError("empty")
    return text


def input_path(text: str) -> Path:
    """Return the path of a file that is read."""
    return STDIN if text == "-" else Path(text)


def read_once(paths: Sequence[Path], command: argparse.ArgumentParser) -> None:
    """Refuse, as argparse does, standard input where it stands for more than one file."""
    if list(paths).count(STDIN) > 1:
        command.error("argument FILE: - twice: standard input can be read once")


def out_path(text: str) -> Path | None:
    """Return the path; None is standard output."""
    return None if text == "-" else Path(text)


def real(text: str) -> float:
    """Return a number; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number(text: str) -> float:
    """Return a finite number."""
    value = real(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r}: a finite number")
    return value


def tolerance_us(text: str) -> int:
    """Return seconds, 0 or more, as whole microseconds."""
    return _microseconds(text, 0, f"seconds, from 0 to {LONGEST_S:g}")


def lasting_us(text: str) -> int:
    """Return seconds, at least a microsecond, as whole microseconds."""
    return _microseconds(text, 1, f"seconds, from 1e-6 to {LONGEST_S:g}")


def _microseconds(text: str, least: int, allowed: str) -> int:
    seconds = real(text)
    if not 0 <= seconds <= LONGEST_S or round(seconds * 1e6) < least:
        raise argparse.ArgumentTypeError(f"{text!r}: {allowed}")
    return round(seconds * 1e6)


def add_command(commands: Commands, name: str, summary: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Add a command with its help texts; return its parser."""
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog + EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_stream_options(command: argparse.ArgumentParser) -> None:
    """Add what says of which stream events are, when they were and how uncertain that is."""
    stream = "the stream of events that name none (the only one of the queries, or the name of the file)"
    command.add_argument("--stream", type=filled, metavar="NAME", help=stream)
    command.add_argument("--time", type=filled, metavar="COLUMN", help="the column with the times")
    forms = "for events that have none: a name in the templates, uniform:LO,HI, normal:SIGMA, normal:SIGMA,N or point"
    command.add_argument("--uncertainty", type=filled, metavar="U", help=forms)
    named = "templates by name or sensor, JSON or YAML: see coincide join --help"
    command.add_argument("--templates", type=Path, metavar="FILE", help=named)


def add_places_option(command: argparse.ArgumentParser) -> None:
    """Add what says where sensors are."""
    stations = "where sensors are, for rows that do not say it: a file as coincide stations reads it; may be repeated"
    command.add_argument("--places", type=Path, action="append", default=[], metavar="FILE", help=stations)


def add_echo_option(command: argparse.ArgumentParser) -> None:
    """Add what says that a sensor reports one event more than once."""
    echo = "seconds: a report that a sensor makes at most so long after another one is its echo, and does not count"
    command.add_argument("--echo", type=tolerance_us, metavar="S", help=echo)


def add_file_options(
    command: argparse.ArgumentParser, out: str = "where to: its suffix is its format (standard output: CSV)"
) -> None:
    """Add what every command that reads rows and writes an answer takes."""
    command.add_argument("--out", type=out_path, metavar="FILE", help=out)
    command.add_argument("--assume-utc", action="store_true", help="take times and dates without an offset as UTC")
    units = "what numbers in columns of times count, since 1970 (us); those of s and ms may have a fraction"
    command.add_argument("--time-unit", choices=TIME_UNITS, default="us", help=units)
    command.add_argument("--skip-bad", action="store_true", help="leave out lines that cannot be used, and count them")
