"""The command line of ``coincide join``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from coincide.command.requests import Commands, InputFile, JoinRequest, filled, out_path
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window
from coincide.errors import WindowError

DESCRIPTION = """\
Tell which events of A and B happened together, although every time is uncertain: a and b are a pair if the
probability that b happened within the window around a reaches the threshold. Without B, A is joined with itself.

Files are CSV (.csv, .tsv), NDJSON (.ndjson, .jsonl), both also with .gz, or Parquet (.parquet). Columns used:
  detected_at        when it was reported: RFC 3339 with its offset (1987-02-23T07:35:35Z) or epoch microseconds;
                     detected_at_us is the same; --time names another
  id                 shown in the answer; without it the number of the row, from 1
  sensor             who reported: chooses the template of this name, and see --sensors
  template           the name of a template in the templates file, instead of the sensor's
  sigma_s            this event's own uncertainty: a Gaussian error of so many seconds, in 8 buckets (see below)
  earliest, latest   or: it happened between these times
  area               what may be joined with what

How uncertain a time is, is said by the event itself, else its template, else its sensor's, else --uncertainty; if
nothing says it at all, times are exact.
"""

EPILOG = """\
The templates file is JSON: distributions of (when it happened - when it was reported), in seconds, by name:
  {"imb": {"uniform": [-0.05, 0.05]},            every time between is equally likely
   "gps": {"normal": {"sigma_s": 1.5, "buckets": 64}},   a Gaussian error; left out, buckets are 8
   "late": {"latency": [[0, 10, 0.6], [10, 20, 0.4]]},   reports late: [shortest, longest, probability]
   "exact": {"point": true},
   "any": {"edges_s": [-40, -20, 0], "mass": [0.3, 0.7]}}

A Gaussian error is cut into equal buckets over 4 sigma either way, evenly filled. Of 8 the standard deviation is 1.08
sigma, and a probability may be off by up to 0.05; of 16 1.02 and 0.015, of 64 1.001 and 0.001, but joins take longer.

The answer has, for each pair, id (or row), detected_at and sensor of both, offset_s (b - a, as reported) and the
probability. Pairs come in the order of A's area and time.

example:
  coincide join imb.csv baksan.csv --window 10 --threshold 0.3 \\
    --uncertainty-a uniform:-0.05,0.05 --uncertainty-b uniform:-54,2 --out pairs.csv

exit status: 0 done; 1 a file cannot be used or written; 2 wrong usage; 130 interrupted; 141 the reader went away;
143 terminated
"""


class JoinArguments(argparse.Namespace):
    """What the user wrote after ``join``."""

    a: Path
    b: Path | None
    window: Window
    threshold: float
    sensors: SensorRule
    templates: Path | None
    uncertainty: str | None
    uncertainty_a: str | None
    uncertainty_b: str | None
    time: str | None
    time_a: str | None
    time_b: str | None
    out: Path | None
    skip_bad: bool
    assume_utc: bool

    def request(self) -> JoinRequest:
        """Return the same as the join takes it."""
        inputs = [InputFile(self.a, self.time_a or self.time, self.uncertainty_a or self.uncertainty)]
        if self.b is not None:
            inputs.append(InputFile(self.b, self.time_b or self.time, self.uncertainty_b or self.uncertainty))
        choices = (self.templates, self.out, self.skip_bad, self.assume_utc)
        return JoinRequest(inputs, self.window, self.threshold, self.sensors, *choices)


def add_join(commands: Commands) -> argparse.ArgumentParser:
    """Add ``join`` to the commands; return its parser."""
    join = commands.add_parser(
        "join",
        help="join two files of events, or one with itself",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    join.add_argument("a", type=Path, metavar="A", help="the first file")
    join.add_argument("b", type=Path, metavar="B", nargs="?", help="the second file; left out: A with itself")
    _add_question(join)
    _add_columns(join)
    return join


def check_join(arguments: JoinArguments, join: argparse.ArgumentParser) -> None:
    """Refuse, as argparse does, what is said of a file that is not given."""
    for option in ("uncertainty_b", "time_b"):
        if arguments.b is None and getattr(arguments, option) is not None:
            join.error(f"argument --{option.replace('_', '-')}: there is no file B")


def _add_question(join: argparse.ArgumentParser) -> None:
    join.add_argument(
        "--window",
        type=_window,
        required=True,
        metavar="S",
        help="seconds: 5 is 5 s either way; -1:9 is from 1 s before a to 9 s after; 2: is 2 s after or later",
    )
    join.add_argument(
        "--threshold", type=_threshold, required=True, metavar="P", help="least probability, above 0, at most 1"
    )
    rules = get_args(SensorRule)
    join.add_argument("--sensors", choices=rules, default=rules[0], help="which sensors may make a pair (different)")
    join.add_argument("--templates", type=Path, metavar="FILE", help="templates by name, JSON (see below)")
    forms = "for events that have none: a name in FILE, uniform:LO,HI, normal:SIGMA, normal:SIGMA,BUCKETS or point"
    join.add_argument("--uncertainty", type=filled, metavar="U", help=forms)
    join.add_argument("--uncertainty-a", type=filled, metavar="U", help="the same for A only")
    join.add_argument("--uncertainty-b", type=filled, metavar="U", help="the same for B only")
    join.add_argument(
        "--out", type=out_path, metavar="FILE", help="where to: its suffix is its format (standard output: CSV)"
    )


def _add_columns(join: argparse.ArgumentParser) -> None:
    join.add_argument("--time", type=filled, metavar="COLUMN", help="the column with the times")
    join.add_argument("--time-a", type=filled, metavar="COLUMN", help="the same for A only")
    join.add_argument("--time-b", type=filled, metavar="COLUMN", help="the same for B only")
    join.add_argument("--assume-utc", action="store_true", help="take times without an offset as UTC")
    join.add_argument("--skip-bad", action="store_true", help="leave out lines that cannot be used, and count them")


def with_joined_windows(argv: Sequence[str]) -> list[str]:
    """Join ``--window -1:9`` to one word: argparse would take -1:9 or -inf:9 for an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] == "--window" and re.match(r"-([\d.]|[^-]+:|inf|nan)", word):
            words[-1] = f"--window={word}"
        else:
            words.append(word)
    return words


def _window(text: str) -> Window:
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


def _threshold(text: str) -> float:
    try:
        threshold = float(text)
    except ValueError:
        threshold = 0.0
    if not 0 < threshold <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a probability above 0, at most 1")
    return threshold
