"""The command line of ``coincide coalesce``."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Quantised
from coincide.command.requests import CoalesceRequest, Commands, filled, lasting_us, number, out_path, tolerance_us

DESCRIPTION = """\
Turn rows into runs: the longest intervals in which nothing that matters changed.

Without --start and --end each row is a reading: what the value was at one time. It holds until the next reading of the
same --by columns, with --hold at most that long. Neighbours whose values are equal (see --equivalence) make one run.
Of readings of one group at one time that with the smallest id counts, by its text; without ids the first row.

With --start and --end each row is a fact: its value held from start to end. Facts of one group and one value that
overlap or touch make one run. An empty end: it still holds.

--gap S lets a run go on over a break of up to S seconds: silence, other values, or what --above and --below leave out.

Files are CSV (.csv, .tsv), NDJSON (.ndjson, .jsonl), both also with .gz, or Parquet (.parquet). Times are RFC 3339 with
their offset (1987-02-23T07:35:35Z) or epoch microseconds. Values are numbers if the first one is, else texts. In NDJSON
and Parquet attributes.celsius is the field celsius inside attributes.
"""

EPILOG = """\
The answer has a row for each run: the --by columns, value (of its first row), start, end, duration_s, count (of its
rows) and open. A run holds from start up to, not including, end. It is open if it may go on: it has the newest reading
of its group and ends there so far, or a fact that still holds. Runs come by group, in the order of their text, then by
start.

equivalences: which value goes on from the one before it
  equal             the same (default)
  any               any: --above 100 then gives how long it was hot, whatever the degrees
  bounded:E         not more than E away from the one before
  increasing        larger than the one before
  decreasing        smaller than the one before
  quantised:STEP    in the same step, from k STEP up to (k + 1) STEP

examples:
  coincide coalesce readings.csv --by sensor --value celsius --gap 5
  coincide coalesce readings.parquet --by site --by sensor --value celsius --hold 60 --above 100 --equivalence any
  coincide coalesce staff.csv --by name --value salary --start from --end to --out salaries.ndjson

exit status: 0 done; 1 a file cannot be used or written; 2 wrong usage; 130 interrupted; 141 the reader went away;
143 terminated
"""

PLAIN = {"equal": Equal(), "increasing": Increasing(), "decreasing": Decreasing()}
ANSWER_COLUMNS = ("value", "start", "end", "duration_s", "count", "open")


class CoalesceArguments(argparse.Namespace):
    """What the user wrote after ``coalesce``."""

    file: Path
    by: list[str]
    value: str | None
    gap: int
    hold: int | None
    above: float | None
    below: float | None
    equivalence: Equivalence | None
    time: str | None
    start: str | None
    end: str | None
    text: bool
    out: Path | None
    skip_bad: bool
    assume_utc: bool

    def request(self) -> CoalesceRequest:
        """Return the same as coalescing takes it."""
        facts = None if self.start is None or self.end is None else (self.start, self.end)
        equivalence = None if self.value is None else self.equivalence
        columns = (self.file, self.by, self.value, self.time, facts)
        limits = (-math.inf if self.above is None else self.above, math.inf if self.below is None else self.below)
        choices = (self.out, self.skip_bad, self.assume_utc, self.text)
        return CoalesceRequest(*columns, self.gap, self.hold, equivalence, limits, *choices)


def add_coalesce(commands: Commands) -> argparse.ArgumentParser:
    """Add ``coalesce`` to the commands; return its parser."""
    coalesce = commands.add_parser(
        "coalesce",
        help="turn a file of readings or facts into runs: from when to when what held",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    coalesce.add_argument("file", type=Path, metavar="FILE", help="the readings or facts, in any order")
    _add_question(coalesce)
    _add_columns(coalesce)
    return coalesce


def _add_question(coalesce: argparse.ArgumentParser) -> None:
    coalesce.add_argument(
        "--by", type=filled, action="append", default=[], metavar="COLUMN",
        help="whose row it is; more than once: all of them together make a group",
    )  # fmt: skip
    values = "the column with the values; left out: nothing but time ends a run"
    coalesce.add_argument("--value", type=filled, metavar="COLUMN", help=values)
    gap = "longest break, in seconds, over which a run goes on (0)"
    coalesce.add_argument("--gap", type=tolerance_us, default=0, metavar="S", help=gap)
    hold = "how long a reading holds at most, in seconds (until the next one)"
    coalesce.add_argument("--hold", type=lasting_us, metavar="S", help=hold)
    coalesce.add_argument(
        "--above", type=number, metavar="X", help="only values above X; others still end the one before"
    )
    coalesce.add_argument("--below", type=number, metavar="X", help="only values below X; the same")
    forms = "equal, any, bounded:E, increasing, decreasing or quantised:STEP (equal; see below)"
    coalesce.add_argument("--equivalence", type=_equivalence, default=Equal(), metavar="HOW", help=forms)


def _add_columns(coalesce: argparse.ArgumentParser) -> None:
    time = "the column with the times of readings (detected_at, or else detected_at_us)"
    coalesce.add_argument("--time", type=filled, metavar="COLUMN", help=time)
    coalesce.add_argument("--start", type=filled, metavar="COLUMN", help="rows are facts: the column with their starts")
    coalesce.add_argument("--end", type=filled, metavar="COLUMN", help="the column with their ends")
    coalesce.add_argument("--text", action="store_true", help="values are texts, even those that look like numbers")
    out = "where to: its suffix is its format (standard output: CSV)"
    coalesce.add_argument("--out", type=out_path, metavar="FILE", help=out)
    coalesce.add_argument("--assume-utc", action="store_true", help="take times without an offset as UTC")
    coalesce.add_argument("--skip-bad", action="store_true", help="leave out lines that cannot be used, and count them")


def check_coalesce(arguments: CoalesceArguments, coalesce: argparse.ArgumentParser) -> None:
    """Refuse, as argparse does, what does not fit together."""
    for option, why in _misfits(arguments):
        coalesce.error(f"argument --{option}: {why}")


def _misfits(given: CoalesceArguments) -> list[tuple[str, str]]:
    is_facts = given.start is not None
    numbers = given.equivalence is not None and given.equivalence.needs_numbers
    checks = [
        ("start", given.start is not None and given.end is None, "facts need --end as well"),
        ("end", given.end is not None and given.start is None, "facts need --start as well"),
        ("time", is_facts and given.time is not None, "of readings; facts have --start and --end"),
        ("hold", is_facts and given.hold is not None, "of readings; facts bring their own end"),
        ("above", given.value is None and given.above is not None, "of --value, which is not given"),
        ("below", given.value is None and given.below is not None, "of --value, which is not given"),
        ("text", given.value is None and given.text, "of --value, which is not given"),
        ("above", given.text and given.above is not None, "of numbers, not of --text"),
        ("below", given.text and given.below is not None, "of numbers, not of --text"),
        ("equivalence", given.value is None and given.equivalence != Equal(), "of --value, which is not given"),
        ("equivalence", given.text and numbers, "of numbers, not of --text"),
        ("by", len(set(given.by)) < len(given.by), "a column is named twice"),
    ]
    taken = [("by", f"{name!r}: the answer has a column of that name") for name in given.by if name in ANSWER_COLUMNS]
    return [(option, why) for option, is_wrong, why in checks if is_wrong] + taken


def _equivalence(text: str) -> Equivalence | None:
    """Return the equivalence; None is any value."""
    kind, colon, parameter = text.partition(":")
    if not colon and kind == "any":
        return None
    if not colon and kind in PLAIN:
        return PLAIN[kind]
    if colon and kind in {"bounded", "quantised"}:
        return _with_parameter(kind, text, parameter)
    raise argparse.ArgumentTypeError(f"{text!r}: equal, any, bounded:E, increasing, decreasing or quantised:STEP")


def _with_parameter(kind: str, text: str, parameter: str) -> Equivalence:
    value = number(parameter)
    if kind == "bounded" and value >= 0:
        return Bounded(value)
    if kind == "quantised" and value > 0:
        return Quantised(value)
    raise argparse.ArgumentTypeError(f"{text!r}: {'E at least' if kind == 'bounded' else 'STEP above'} 0")
