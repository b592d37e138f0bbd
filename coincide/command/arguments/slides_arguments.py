"""The command line of ``coincide slides``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.command.arguments.options import (
    LONGEST_S,
    Commands,
    ReadOptions,
    add_command,
    add_echo_option,
    add_file_options,
    add_stream_options,
    input_path,
    read_once,
    real,
)
from coincide.slides.sliding import MOST_SLIDES, USUAL_SLIDES

DESCRIPTION = """\
Count how many matches chance alone gives. The sensors of each area are shifted against each other by more than a match
reaches, the query is answered again, and what it then finds is chance. That is done 100 times.

QUERY is a query as PUT /v1/queries/{id} takes it: JSON, or SQL in a file whose name ends in .sql. The files hold
detections, read as coincide join --query reads them.
"""

EPILOG = """\
The answer is text: matches by chance a day of recorded time, with an interval of 90 %; beside it what the formula of
coincide chance says, and what the query finds. With --out NAME.json it is the figures as JSON, the matches of each
slide among them.

Shifts go round within the recorded time: what would pass its end goes on at its beginning, and pauses are passed over.
So no report is lost. Reports of one sensor stay together. The same files always give the same shifts.

Unlike the formula this supposes nothing of how reports come: bursts and echoes count as they are, and rates that rise
and fall together for longer than the shifts. Sensors are shifted by ten times the reach of a match at least, or by less
where the files are short. --least-step S says by how much: by more than one event goes on, so that its own reports do
not meet each other.

The interval is that of a Poisson count, by the gamma distribution, and wider if matches come in clumps. It takes the
slides as independent of each other. Where the files are short for so many slides they are not, which is said.

examples:
  coincide slides detections.ndjson --query bang.json --templates learnt.yaml
  coincide slides a.csv b.csv --query bang.json --slides 1000 --out chance.json

"""


@dataclass(frozen=True)
class SlidesRequest:
    """What the user asks ``coincide slides`` for."""

    query: Path
    inputs: Sequence[Path]
    reading: ReadOptions
    slides: int
    least_step_s: float | None
    out: Path | None


def add_slides(commands: Commands) -> argparse.ArgumentParser:
    """Add ``slides`` to the commands; return its parser."""
    summary = "count what chance gives, by shifting sensors against each other"
    slides = add_command(commands, "slides", summary, DESCRIPTION, EPILOG)
    files = "detections; - is NDJSON on standard input"
    slides.add_argument("files", type=input_path, nargs="+", metavar="FILE", help=files)
    slides.add_argument("--query", type=Path, metavar="QUERY", required=True, help="the query (.json or .sql)")
    how_many = f"how many slides; each is as much work as the join ({USUAL_SLIDES})"
    slides.add_argument("--slides", type=_slides, metavar="N", default=USUAL_SLIDES, help=how_many)
    least = "seconds by which sensors are shifted at least beyond the reach of a match (nine times the reach)"
    slides.add_argument("--least-step", type=_least_step_s, metavar="S", help=least)
    add_stream_options(slides)
    add_echo_option(slides)
    add_file_options(slides, "where to: a name that ends in .json has figures, any other text (standard output)")
    return slides


def slides_request(options: argparse.Namespace, slides: argparse.ArgumentParser) -> SlidesRequest:
    """Return what the user asks for."""
    read_once(options.files, slides)
    asked = (options.slides, options.least_step, options.out)
    return SlidesRequest(options.query, options.files, ReadOptions.of(options), *asked)


def _slides(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_SLIDES:
        raise argparse.ArgumentTypeError(f"{text!r}: how many, 1 to {MOST_SLIDES}")
    return int(text)


def _least_step_s(text: str) -> float:
    seconds = real(text)
    if not 0 <= seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, from 0 to {LONGEST_S:g}")
    return seconds
