"""The command line of ``coincide coalesce``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.arrays.instants import TimeUnit
from coincide.coalescing.equivalences import NUMBERED_EQUIVALENCES, PLAIN_EQUIVALENCES, Equal, Equivalence
from coincide.command.arguments.options import (
    Commands,
    add_command,
    add_file_options,
    filled,
    input_path,
    lasting_us,
    number,
    tolerance_us,
)
from coincide.errors import CoalescingError
from coincide.queries.readings.reading_fields import HYSTERESIS
from coincide.sliding.value_limits import ValueLimits

DESCRIPTION = """\
Turn rows into runs: the longest intervals in which nothing that matters changed.

Without --start and --end each row is a reading: what the value was at one time. It holds until the next reading of the
same --by columns, with --hold at most that long. Neighbours whose values are equal (see --equivalence) make one run.
Where a group has several readings at one time, the one with the smallest id counts (as text); without ids, the first.

With --start and --end each row is a fact: its value held from start to end. Facts of one group and one value that
overlap or touch make one run. An empty end, or one of the year 9999, means that the fact still holds.

With --skip-bad a reading whose value cannot be used, such as unknown or an empty one, still ends the one before it. A
fact of that kind is left out.

--query asks what a query document over readings with a window asks (PUT /v1/queries/{id}): its by, value, where,
equivalence and hold_s. Attributes are columns of their name, such as attributes.celsius. If there is a column stream,
only readings of the query's stream count. If there is a column area, each area has its own groups, as it does live.
With lasting_s only runs that last so long are written. The query's window is left out: it cuts runs live, but not those
of a file. A query without a window tells spells, and a run over history answers it: python -m spark_jobs.history run
--query.

--until-below Y gives --above X a second limit: a run begins with a value above X and lasts until one is below Y. So a
value that swings about X makes one run, not many. --until-above is the same of --below.

--gap S lets a run go on over a break of up to S seconds: silence, other values, or what --above and --below leave out.
With a second limit the next value that reaches that goes on with the run.

Files are CSV (.csv, .tsv), NDJSON (.ndjson, .jsonl), both also with .gz, or Parquet (.parquet); - is standard input,
CSV or NDJSON. Times are RFC 3339 with their offset (1987-02-23T07:35:35Z) or numbers, which count microseconds since
1970 unless --time-unit says otherwise. With --assume-utc a date alone is its midnight. Values are numbers if the first
one is, else texts. 007 and 12E3 are texts, as they rather name something, unless what you ask is about numbers. In
NDJSON and Parquet attributes.celsius is the field celsius inside attributes.
"""

EPILOG = """\
The answer has a row for each run: the --by columns, value (of its first row), start, end, duration_s, count (of its
rows) and open. A run holds from start up to, not including, end. It is open if it may go on: its last reading is the
newest of its group, or one of its facts still holds. Runs are sorted by the text of their group, then by start.

equivalences: which value goes on from the one before it
  equal             the same (default)
  any               any: --above 100 then gives how long it was hot, whatever the degrees
  bounded:E         not more than E away from the one before
  relative:R        not more than R times the one before away from it: relative:0.05 is within 5 %
  increasing        larger than the one before
  decreasing        smaller than the one before
  quantised:STEP    in the same step, from k STEP up to (k + 1) STEP
Values, E, R and STEP count as the decimals that are written: from 0.3 to 0.4 is 0.1.

examples:
  coincide coalesce readings.csv --by sensor --value celsius --gap 5
  coincide coalesce readings.parquet --by site --by sensor --value celsius --hold 60 --above 100 --equivalence any
  coincide coalesce --query hot.json readings.ndjson --out hot.csv
  coincide coalesce staff.csv --by name --value salary --start from --end to --out salaries.ndjson

"""

EQUIVALENCE_FORMS = "equal, any, bounded:E, relative:R, increasing, decreasing or quantised:STEP"
ANSWER_COLUMNS = ("value", "start", "end", "duration_s", "count", "open")


@dataclass(frozen=True)
class CoalesceRequest:
    """What the user asks ``coincide coalesce`` for.

    `facts` names the columns of starts and ends, None where rows are readings; `equivalence` None: any value goes on
    from any other; values count within `limits`, None: all do. A `query` is still to be read, and says all of that; it
    may also name a `stream`, which others are left out beside, and how long a run lasts at least.
    """

    path: Path
    by: Sequence[str]
    value_column: str | None
    time_column: str | None
    facts: tuple[str, str] | None
    gap_us: int
    hold_us: int | None
    equivalence: Equivalence | None
    limits: ValueLimits | None
    values_are_texts: bool
    out: Path | None
    skip_bad: bool
    assume_utc: bool
    unit: TimeUnit
    query: Path | None = None
    stream: str | None = None
    lasting_us: int = 0

    @property
    def needs_numbers(self) -> bool:
        """Whether it makes no sense of texts."""
        by_equivalence = self.equivalence is not None and self.equivalence.needs_numbers
        return by_equivalence or self.limits is not None


def add_coalesce(commands: Commands) -> argparse.ArgumentParser:
    """Add ``coalesce`` to the commands; return its parser."""
    summary = "turn a file of readings or facts into runs: from when to when what held"
    coalesce = add_command(commands, "coalesce", summary, DESCRIPTION, EPILOG)
    coalesce.add_argument("file", type=input_path, metavar="FILE", help="the readings or facts, in any order")
    _add_question(coalesce)
    _add_columns(coalesce)
    add_file_options(coalesce)
    return coalesce


def _add_question(coalesce: argparse.ArgumentParser) -> None:
    coalesce.add_argument(
        "--query", type=Path, metavar="QUERY", help="the question (.json or .sql), in place of the next nine"
    )
    whose = "whose row it is; several columns together make a group"
    coalesce.add_argument("--by", type=filled, action="append", default=[], metavar="COLUMN", help=whose)
    values = "the column with the values; left out: nothing but time ends a run"
    coalesce.add_argument("--value", type=filled, metavar="COLUMN", help=values)
    gap = "longest break, in seconds, over which a run goes on (0)"
    coalesce.add_argument("--gap", type=tolerance_us, default=0, metavar="S", help=gap)
    hold = "how long a reading holds at most, in seconds (until the next one)"
    coalesce.add_argument("--hold", type=lasting_us, metavar="S", help=hold)
    above = "only values above X; others still end the one before"
    coalesce.add_argument("--above", type=number, metavar="X", help=above)
    coalesce.add_argument("--below", type=number, metavar="X", help="only values below X; the same")
    until = "a run that began {} lasts until a value is {} X; at {} that"
    until_below = until.format("above --above", "below", "most")
    coalesce.add_argument("--until-below", type=number, metavar="X", help=until_below)
    until_above = until.format("below --below", "above", "least")
    coalesce.add_argument("--until-above", type=number, metavar="X", help=until_above)
    forms = f"{EQUIVALENCE_FORMS} (equal; see below)"
    coalesce.add_argument("--equivalence", type=_equivalence, default=Equal(), metavar="HOW", help=forms)


def _add_columns(coalesce: argparse.ArgumentParser) -> None:
    time = "the column with the times of readings (detected_at, or else detected_at_us)"
    coalesce.add_argument("--time", type=filled, metavar="COLUMN", help=time)
    coalesce.add_argument("--start", type=filled, metavar="COLUMN", help="rows are facts: the column with their starts")
    coalesce.add_argument("--end", type=filled, metavar="COLUMN", help="the column with their ends")
    coalesce.add_argument("--text", action="store_true", help="values are texts, even those that look like numbers")


def coalesce_request(options: argparse.Namespace, coalesce: argparse.ArgumentParser) -> CoalesceRequest:
    """Return what the user asks for; refuse, as argparse does, what does not fit together."""
    for option, why in _misfits(options):
        coalesce.error(f"argument --{option}: {why}")
    facts = None if options.start is None or options.end is None else (options.start, options.end)
    equivalence = None if options.value is None else options.equivalence
    columns = (options.file, options.by, options.value, options.time, facts)
    given = {name: getattr(options, name) for name in ("above", "below", *HYSTERESIS)}
    limits = None if given["above"] is None and given["below"] is None else ValueLimits(**given)
    choices = (options.text, options.out, options.skip_bad, options.assume_utc, options.time_unit)
    return CoalesceRequest(*columns, options.gap, options.hold, equivalence, limits, *choices, options.query)


def _misfits(options: argparse.Namespace) -> list[tuple[str, str]]:
    if options.query is not None:
        usual = {"by": [], "gap": 0, "equivalence": Equal(), "text": False}
        names = ("by", "value", "gap", "hold", "above", "below", *HYSTERESIS, "equivalence", "start", "end", "text")
        said = [name for name in names if getattr(options, name) != usual.get(name)]
        return [(name.replace("_", "-"), "--query says it") for name in said]
    is_facts = options.start is not None
    numbers = options.equivalence is not None and options.equivalence.needs_numbers
    checks = [
        ("start", options.start is not None and options.end is None, "facts need --end as well"),
        ("end", options.end is not None and options.start is None, "facts need --start as well"),
        ("time", is_facts and options.time is not None, "of readings; facts have --start and --end"),
        ("hold", is_facts and options.hold is not None, "of readings; facts bring their own end"),
        ("above", options.value is None and options.above is not None, "of --value, which is not given"),
        ("below", options.value is None and options.below is not None, "of --value, which is not given"),
        ("text", options.value is None and options.text, "of --value, which is not given"),
        ("above", options.text and options.above is not None, "of numbers, not of --text"),
        ("below", options.text and options.below is not None, "of numbers, not of --text"),
        ("equivalence", options.value is None and options.equivalence != Equal(), "of --value, which is not given"),
        ("equivalence", options.text and numbers, "of numbers, not of --text"),
        ("by", len(set(options.by)) < len(options.by), "a column is named twice"),
    ]
    taken = [("by", f"{name!r}: the answer has a column of that name") for name in options.by if name in ANSWER_COLUMNS]
    return [(option, why) for option, is_wrong, why in [*checks, *_of_ends(options)] if is_wrong] + taken


def _of_ends(options: argparse.Namespace) -> list[tuple[str, bool, str]]:
    """Return what does not fit of the values that end a run, apart from those that begin it."""
    above, below, until_below, until_above = options.above, options.below, options.until_below, options.until_above
    of_facts = "of readings; no fact comes before another"
    too_high = None not in (above, until_below) and until_below > above
    too_low = None not in (below, until_above) and until_above < below
    return [
        ("until-below", until_below is not None and above is None, "of --above, which is not given"),
        ("until-below", too_high, f"{until_below}: at most {above}, which --above says"),
        ("until-below", until_below is not None and options.start is not None, of_facts),
        ("until-above", until_above is not None and below is None, "of --below, which is not given"),
        ("until-above", too_low, f"{until_above}: at least {below}, which --below says"),
        ("until-above", until_above is not None and options.start is not None, of_facts),
    ]


def _equivalence(text: str) -> Equivalence | None:
    """Return the equivalence; None is any value."""
    kind, colon, parameter = text.partition(":")
    if not colon and kind in PLAIN_EQUIVALENCES:
        return PLAIN_EQUIVALENCES[kind]
    if not colon or kind not in NUMBERED_EQUIVALENCES:
        raise argparse.ArgumentTypeError(f"{text!r}: {EQUIVALENCE_FORMS}")
    try:
        return NUMBERED_EQUIVALENCES[kind](number(parameter))
    except CoalescingError:
        bound = {"bounded": "E at least", "relative": "R at least", "quantised": "STEP above"}[kind]
        raise argparse.ArgumentTypeError(f"{text!r}: {bound} 0") from None
