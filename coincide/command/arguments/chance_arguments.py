"""The command line of ``coincide chance``, and what the user asks for with it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from coincide.command.arguments.join_arguments import InputFile, JoinRequest, threshold_of, window_of
from coincide.command.arguments.options import (
    Commands,
    add_command,
    add_echo_option,
    add_file_options,
    filled,
    input_path,
    read_once,
    real,
)
from coincide.constraints.conditions import SensorRule

DESCRIPTION = """\
Tell how many matches chance alone would give, if nothing belonged together: a match of a threshold that chance reaches
often means little. The rates are those of the events in A and B, read as coincide join reads them; without B, A meets
itself. Or say the rates yourself, without files: --rate-a and --uncertainty-a, and the same for b.
"""

EPILOG = """\
The answer has a row for each threshold: chance_rate_hz, matches a second; a_day; and in_the_files, how many to expect
in the files. Rates are those of the time in which something was recorded: pauses do not count, in which nobody reports
for 20 times the mean time between reports of the busiest sensor; a note says how long they are. It is right where
reports are spread evenly over that time. Events that do belong together are counted in the rates like all others, so it
is rather too high. Time slides measure it: coincide slides.

examples:
  coincide chance imb.csv baksan.csv --window 10 --uncertainty-a uniform:-0.05,0.05 --uncertainty-b uniform:-54,2
  coincide chance --window 0.5 --rate-a 0.003 --uncertainty-a point --rate-b 0.01 --uncertainty-b normal:2

"""

USUAL_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SIDES = "ab"


@dataclass(frozen=True)
class GivenRate:
    """How often a sensor reports, and how uncertain its times are, as the user wrote it."""

    rate_hz: float
    uncertainty: str


@dataclass(frozen=True)
class ChanceRequest:
    """What the user asks ``coincide chance`` for: of the files of `join`, or of `rates` if there are some."""

    join: JoinRequest
    thresholds: Sequence[float]
    rates: Sequence[GivenRate]


def add_chance(commands: Commands) -> argparse.ArgumentParser:
    """Add ``chance`` to the commands; return its parser."""
    command = add_command(commands, "chance", "tell how many matches chance alone would give", DESCRIPTION, EPILOG)
    command.add_argument("files", type=input_path, nargs="*", metavar="FILE", help="A, and B; left out: see --rate-a")
    window = "seconds, as for coincide join: 5 is 5 s either way"
    command.add_argument("--window", type=window_of, metavar="S", required=True, help=window)
    several = "only for this threshold; may be repeated (0.05 to 0.99)"
    command.add_argument("--threshold", type=threshold_of, action="append", metavar="P", help=several)
    rules = get_args(SensorRule)
    command.add_argument("--sensors", choices=rules, default="different", help="which sensors may match (different)")
    command.add_argument("--templates", type=Path, metavar="FILE", help="templates by name: see coincide join --help")
    forms = "for events that have none: a name in FILE, uniform:LO,HI, normal:SIGMA, normal:SIGMA,BUCKETS or point"
    for option, metavar, what in (("time", "COLUMN", "the column with the times"), ("uncertainty", "U", forms)):
        command.add_argument(f"--{option}", type=filled, metavar=metavar, help=what)
        for side in SIDES:
            command.add_argument(
                f"--{option}-{side}", type=filled, metavar=metavar, help=f"the same for {side.upper()}"
            )
    for side in SIDES:
        rate = f"without files: how many events {side.upper()} reports a second"
        command.add_argument(f"--rate-{side}", type=_rate_hz, metavar="HZ", help=rate)
    add_echo_option(command)
    add_file_options(command)
    return command


def chance_request(options: argparse.Namespace, command: argparse.ArgumentParser) -> ChanceRequest:
    """Return what the user asks for; refuse, as argparse does, what does not fit together."""
    read_once(options.files, command)
    for option, why in _misfits(options):
        command.error(f"argument {option}: {why}")
    inputs = [
        InputFile(
            path, *(getattr(options, f"{name}_{side}") or getattr(options, name) for name in ("time", "uncertainty"))
        )
        for path, side in zip(options.files, SIDES, strict=False)
    ]
    thresholds = options.threshold or USUAL_THRESHOLDS
    choices = (options.templates, options.out, options.skip_bad, options.assume_utc, options.time_unit, options.echo)
    join = JoinRequest(inputs, options.window, thresholds[0], options.sensors, *choices)
    given = [(getattr(options, f"rate_{side}"), _uncertainty(options, side)) for side in SIDES]
    return ChanceRequest(join, thresholds, [GivenRate(rate, how) for rate, how in given if rate is not None and how])


def _misfits(options: argparse.Namespace) -> list[tuple[str, str]]:
    rated = [side for side in SIDES if getattr(options, f"rate_{side}") is not None]
    unsaid = [side for side in rated if _uncertainty(options, side) is None]
    return [
        *((("FILE", "two at most"),) if len(options.files) > len(SIDES) else ()),
        *((("FILE", "left out, --rate-a and --uncertainty-a are needed"),) if not options.files and not rated else ()),
        *((("--rate-" + rated[0], "the files say it"),) if options.files and rated else ()),
        *((("--rate-a", "left out, and --rate-b is given"),) if rated == ["b"] else ()),
        *((("--uncertainty-" + unsaid[0], f"needed beside --rate-{unsaid[0]}"),) if unsaid else ()),
        *((("--window", "has no end, and so chance matches have none"),) if options.window.is_open else ()),
    ]


def _uncertainty(options: argparse.Namespace, side: str) -> str | None:
    how: str | None = getattr(options, f"uncertainty_{side}") or options.uncertainty
    return how


def _rate_hz(text: str) -> float:
    rate_hz = real(text)
    if not 0 <= rate_hz < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: events a second, at least 0")
    return rate_hz
