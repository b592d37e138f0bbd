"""The command line of ``coincide explain``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.command.arguments.options import (
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

DESCRIPTION = """\
Say what a query can find before it runs: for each edge the most that its probability can be, whatever is reported,
and how many pairs of sensors can reach its threshold; how many matches chance alone gives; and how much work it is.

QUERY is a query as PUT /v1/queries/{id} takes it: JSON, or SQL in a file whose name ends in .sql. The other files hold
detections, as for coincide replay. They tell which sensors there are, with which uncertainties and rates. Without them
the sensors are those of --templates, if it declares any. Else every template is a sensor of the stream of its name, or
of all streams if no stream has its name. Rates are not known then.
"""

EPILOG = """\
The answer is text, a figure or two a line. With --out NAME.json it is the figures as JSON, "sentences" among them.

--chance-per-day N asks the other way round: which threshold lets chance give at most N matches a day?

examples:
  coincide explain burst.json --templates clocks.json
  coincide explain bang.json detections.ndjson --templates learnt.yaml --chance-per-day 1

"""


@dataclass(frozen=True)
class ExplainRequest:
    """What the user asks ``coincide explain`` for; `chance_per_day` is None where no threshold is to be chosen."""

    query: Path
    inputs: Sequence[Path]
    reading: ReadOptions
    chance_per_day: float | None
    out: Path | None


def add_explain(commands: Commands) -> argparse.ArgumentParser:
    """Add ``explain`` to the commands; return its parser."""
    summary = "say what a query can find, and what chance gives"
    explain = add_command(commands, "explain", summary, DESCRIPTION, EPILOG)
    explain.add_argument("query", type=Path, metavar="QUERY", help="the query (.json or .sql)")
    explain.add_argument(
        "files", type=input_path, nargs="*", metavar="FILE", help="detections; - is NDJSON on standard input"
    )
    add_stream_options(explain)
    add_echo_option(explain)
    chance = "ask for the threshold that gives at most N matches a day by chance"
    explain.add_argument("--chance-per-day", type=_matches, metavar="N", help=chance)
    add_file_options(explain, "where to: a name that ends in .json has figures, any other text (standard output)")
    return explain


def explain_request(options: argparse.Namespace, explain: argparse.ArgumentParser) -> ExplainRequest:
    """Return what the user asks for; refuse, as argparse does, what is missing."""
    if not options.files and options.templates is None and options.uncertainty is None:
        explain.error("the following arguments are required: FILE, --templates or --uncertainty")
    read_once(options.files, explain)
    reading = ReadOptions.of(options)
    return ExplainRequest(options.query, options.files, reading, options.chance_per_day, options.out)


def _matches(text: str) -> float:
    matches = real(text)
    if not 0 < matches < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: a number of matches above 0")
    return matches
