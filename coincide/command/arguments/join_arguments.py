"""The command line of ``coincide join``, and what the user asks for with it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from coincide.arrays.instants import TimeUnit
from coincide.command.arguments.options import (
    Commands,
    ReadOptions,
    add_command,
    add_echo_option,
    add_file_options,
    add_places_option,
    filled,
    input_path,
    read_once,
    real,
)
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window
from coincide.errors import WindowError
from coincide.queries import Query

DESCRIPTION = """\
Tell which events of A and B happened together, although every time is uncertain. Two events a and b are a pair if the
probability that b happened within the window around a reaches the threshold. Without B, A is joined with itself.

Files are CSV (.csv, .tsv), NDJSON (.ndjson, .jsonl), both also with .gz, or Parquet (.parquet); - is standard input,
CSV or NDJSON. Columns used:
  detected_at        when it was reported: RFC 3339 with its offset (1987-02-23T07:35:35Z) or a number since 1970: of
                     microseconds, or see --time-unit; detected_at_us is the same; --time names another column
  id                 shown in the answer; without it the number of the row, from 1
  sensor             who reported: chooses the template of this name, and see --sensors
  template           the name of a template in the templates file, instead of the sensor's
  sigma_s            this event's own uncertainty: a Gaussian error of so many seconds, in 8 buckets (see below)
  earliest, latest   or: it happened between these times
  area               what may be joined with what

The event itself says how uncertain its time is, else its template, else its sensor's, else --uncertainty. If nothing
says it at all, times are exact.
"""

EPILOG = """\
With --query any number of files is joined as a query document says, the JSON object of PUT /v1/queries/{id}: its roles,
windows, thresholds, at_least, equal and filters. A file holds detections of the stream in its column stream, else of
--stream, else of the only stream that the query names, else of the stream with the name of the file. Filters and equal
read columns attributes.NAME; in NDJSON and Parquet also the field NAME inside attributes. What CSV holds there is text,
so that equal tells 007 from 7; a filter of numbers takes a text as the number that it writes. The answer has these
columns for each role, and the probability that the query has a threshold for. Its rows come in any order.

A query may ask where sensors are. Rows say it in lat, lon and height_m, or x_m, y_m and z_m; else --places does.

If the files are long beside the windows, the command says how many matches chance alone would give.

The templates file is JSON: distributions of (when it happened - when it was reported), in seconds, by name:
  {"imb": {"uniform": [-0.05, 0.05]},            every time between is equally likely
   "gps": {"normal": {"sigma_s": 1.5, "buckets": 64}},   a Gaussian error; by default in 8 buckets
   "late": {"latency": [[0, 10, 0.6], [10, 20, 0.4]]},   reports late: [shortest, longest, probability]
   "exact": {"point": true},
   "any": {"edges_s": [-40, -20, 0], "mass": [0.3, 0.7]}}
Or it is YAML with templates and the sensors that have them, as coincide learn writes it and config/sensors.yaml is.

A Gaussian error is cut into equal buckets over 4 sigma either way, evenly filled. The standard deviation of 8 buckets
is 1.08 sigma, and a probability may be off by up to 0.05; of 16 buckets 1.02 sigma and 0.015, of 64 buckets 1.001 sigma
and 0.001. More buckets make the join slower.

The answer has, for each pair, id (or row), detected_at and sensor of both, offset_s (b - a, as reported) and the
probability. Pairs come in the order of A's area and time.

examples:
  coincide join imb.csv baksan.csv --window 10 --threshold 0.3 \\
    --uncertainty-a uniform:-0.05,0.05 --uncertainty-b uniform:-54,2 --out pairs.csv
  coincide join --query burst.json kamiokande.csv imb.csv baksan.csv --templates clocks.json --out bursts.csv

"""


@dataclass(frozen=True)
class InputFile:
    """One of the files: its path, its time column (None: the usual ones) and its uncertainty as the user wrote it."""

    path: Path
    time_column: str | None
    uncertainty: str | None


@dataclass(frozen=True)
class JoinRequest:
    """What the user asks for; one input is joined with itself."""

    inputs: Sequence[InputFile]
    window: Window
    threshold: float
    sensors: SensorRule
    templates: Path | None
    out: Path | None
    skip_bad: bool
    assume_utc: bool
    unit: TimeUnit
    echo_us: int | None = None  # so long after a report of its sensor another one is an echo of it


@dataclass(frozen=True)
class QueryJoinRequest:
    """What the user asks for with a query document; `reading` is for all inputs, or for each."""

    query: Path | Query
    inputs: Sequence[Path]
    reading: ReadOptions | Sequence[ReadOptions]
    out: Path | None
    places: Sequence[Path] = ()


def add_join(commands: Commands) -> argparse.ArgumentParser:
    """Add ``join`` to the commands; return its parser."""
    join = add_command(commands, "join", "join two files of events, or one with itself", DESCRIPTION, EPILOG)
    files = "A, and B; left out: A with itself. With --query any number"
    join.add_argument("files", type=input_path, nargs="+", metavar="FILE", help=files)
    _add_question(join)
    forms = "for events that have none: a name in FILE, uniform:LO,HI, normal:SIGMA, normal:SIGMA,BUCKETS or point"
    for option, what in (("time", "the column with the times"), ("uncertainty", forms)):
        metavar = "COLUMN" if option == "time" else "U"
        join.add_argument(f"--{option}", type=filled, metavar=metavar, help=what)
        for side in "ab":
            only = f"the same for {side.upper()} only"
            join.add_argument(f"--{option}-{side}", type=filled, metavar=metavar, help=only)
    stream = "with --query: the stream of events that name none"
    join.add_argument("--stream", type=filled, metavar="NAME", help=stream)
    add_echo_option(join)
    add_places_option(join)
    add_file_options(join)
    return join


def _add_question(join: argparse.ArgumentParser) -> None:
    join.add_argument(
        "--query", type=Path, metavar="QUERY", help="the question (.json or .sql), in place of the next three"
    )
    window = "seconds: 5 is 5 s either way; -1:9 is from 1 s before a to 9 s after; 2: is 2 s after or later"
    join.add_argument("--window", type=window_of, metavar="S", help=window)
    least = "least probability, above 0, at most 1"
    join.add_argument("--threshold", type=threshold_of, metavar="P", help=least)
    rules = get_args(SensorRule)
    join.add_argument("--sensors", choices=rules, help="which sensors may make a pair (different)")
    join.add_argument("--templates", type=Path, metavar="FILE", help="templates by name, JSON or YAML (see below)")


def join_request(options: argparse.Namespace, join: argparse.ArgumentParser) -> JoinRequest | QueryJoinRequest:
    """Return what the user asks for; refuse, as argparse does, what does not fit together."""
    missing = [f"--{name}" for name in ("window", "threshold") if getattr(options, name) is None]
    if options.query is None and missing:
        join.error(f"the following arguments are required: {', '.join(missing)}; or --query")
    read_once(options.files, join)
    for option, why in _misfits(options):
        join.error(f"argument {option}: {why}")
    if options.query is not None:
        return QueryJoinRequest(options.query, options.files, ReadOptions.of(options), options.out, options.places)
    inputs = [_input_file(options, path, side) for path, side in zip(options.files, "ab", strict=False)]
    choices = (options.templates, options.out, options.skip_bad, options.assume_utc, options.time_unit, options.echo)
    return JoinRequest(inputs, options.window, options.threshold, options.sensors or "different", *choices)


def _misfits(options: argparse.Namespace) -> list[tuple[str, str]]:
    of_sides = [f"{name}_{side}" for side in "ab" for name in ("time", "uncertainty")]
    if options.query is not None:
        given = [name for name in ("window", "threshold", "sensors", *of_sides) if getattr(options, name) is not None]
        return [(_option(name), "the files and --query say it") for name in given]
    lacks_b = [name for name in of_sides[2:] if len(options.files) == 1 and getattr(options, name) is not None]
    return [
        *((_option(name), "there is no file B") for name in lacks_b),
        *((("FILE", "two at most without --query"),) if len(options.files) > len("ab") else ()),
        *((("--places", "of --query, which is not given"),) if options.places else ()),
        *((("--stream", "of --query, which is not given"),) if options.stream is not None else ()),
    ]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _input_file(options: argparse.Namespace, path: Path, side: str) -> InputFile:
    named = (getattr(options, f"{name}_{side}") or getattr(options, name) for name in ("time", "uncertainty"))
    return InputFile(path, *named)


def with_joined_windows(argv: Sequence[str]) -> list[str]:
    """Join ``--window -1:9`` or ``--within -1:9`` to one word: argparse would take -1:9 or -inf:9 for an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in {"--window", "--within"} and re.match(r"-([\d.]|[^-]+:|inf|nan)", word):
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def window_of(text: str) -> Window:
    """Return the window that ``5``, ``-1:9``, ``2:`` or ``:9`` says."""
    lo, colon, hi = text.partition(":")
    try:
        if not colon:
            return Window(float(lo))
        if not lo or not hi:
            return Window.delay(float(lo)) if lo else Window.deadline(float(hi))
        return Window(lo_s=float(lo), hi_s=float(hi))
    except WindowError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, such as 5 or -1:9") from None


def threshold_of(text: str) -> float:
    """Return a probability above 0, at most 1."""
    threshold = real(text)
    if not 0 < threshold <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a probability above 0, at most 1")
    return threshold
