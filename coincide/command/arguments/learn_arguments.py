"""The command line of ``coincide learn``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from coincide.command.arguments.options import (
    Commands,
    ReadOptions,
    add_command,
    add_echo_option,
    add_file_options,
    add_stream_options,
    filled,
    input_path,
    read_once,
    real,
)
from coincide.constraints.window import Window
from coincide.errors import WindowError

DESCRIPTION = """\
Learn a template for each sensor and stream of a log: how (true time - reported time) is distributed.

The true time comes from a file of known times (--reference), from a stream of the log that can be trusted
(--reference-stream), or from what at least two other sensors of the area say together (--consensus). Files are as for
coincide join. Columns of the log:
  detected_at        when it was reported; --time names another column
  sensor             who reported; needed
  stream             on which stream; see --stream
  area               only references of the same area count; see --area
  model              the sensor's model: its sensors help each other out
A file of known times has detected_at, and area if only detections of that area are meant.

A detection counts if exactly one reference lies in its window (--within), and no other detection of its sensor claims
that reference. The others are counted. Some references will be wrong nevertheless. What does not stand out of the level
that the emptiest half of the window shows is left out, so make the window at least twice as long as errors spread.
"""

EPILOG = """\
A sensor with fewer than 30 errors gets the template of all sensors of its model, else of all on its stream.

The answer is YAML that config/sensors.yaml takes as it is. Comments say what each template was learnt from. A table
says how well it does: it is learnt from the earlier half of the errors, and the later half judges it.
  errors        errors that were found; ambiguous, unmatched and blurred detections were left out
  wrong         estimated share of wrong references among them
  distance      of the P-P plot from its diagonal; a match probability is off by at most twice as much
  score         mean logarithm of the density at later errors; present: the same with the present template
With --templates or --uncertainty the present templates are compared. --consensus needs them.

examples:
  coincide learn door-log.csv --reference true-times.csv --within 10 --out learnt.yaml --picture learnt.svg
  coincide learn harbour.ndjson --consensus --templates clocks.json --within 5

"""

USUAL_WITHIN_S = 60.0
USUAL_BUCKETS = 8


@dataclass(frozen=True)
class LearnRequest:
    """What the user asks for: a reference file, a reference stream, or with neither the consensus."""

    logs: tuple[Path, ...]
    reference: Path | None
    reference_time: str | None
    reference_stream: str | None
    within: Window
    buckets: int
    area: str | None
    picture: Path | None
    reading: ReadOptions
    out: Path | None


def add_learn(commands: Commands) -> argparse.ArgumentParser:
    """Add ``learn`` to the commands; return its parser."""
    learn = add_command(commands, "learn", "learn templates from a log", DESCRIPTION, EPILOG)
    learn.add_argument("logs", type=input_path, nargs="+", metavar="LOG", help="detections of the sensors")
    truth = learn.add_mutually_exclusive_group(required=True)
    truth.add_argument("--reference", type=input_path, metavar="FILE", help="times at which something happened")
    truth.add_argument("--reference-stream", type=filled, metavar="NAME", help="a stream of the log that is right")
    truth.add_argument("--consensus", action="store_true", help="what the other sensors say together")
    learn.add_argument("--reference-time", type=filled, metavar="COLUMN", help="the column with the known times")
    within = f"errors to look for, s: 5 is 5 s either way; -10:1 is from 10 s late to 1 s early ({USUAL_WITHIN_S:g})"
    learn.add_argument("--within", type=_within, default=Window(USUAL_WITHIN_S), metavar="S", help=within)
    most = f"at most so many in a template, from 1 to 64 ({USUAL_BUCKETS})"
    learn.add_argument("--buckets", type=_buckets, default=USUAL_BUCKETS, metavar="N", help=most)
    learn.add_argument("--area", type=filled, metavar="NAME", help="the area of sensors whose rows name none")
    learn.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the P-P plots of the later halves")
    add_stream_options(learn)
    add_echo_option(learn)
    add_file_options(learn, "where to: a name that ends in .yaml or .yml (standard output)")
    return learn


def learn_request(options: argparse.Namespace, learn: argparse.ArgumentParser) -> LearnRequest:
    """Return what the user asks for; refuse, as argparse does, what does not fit together."""
    read_once([path for path in (*options.logs, options.reference) if path is not None], learn)
    if options.reference_time is not None and options.reference is None:
        learn.error("argument --reference-time: of --reference, which is not given")
    if options.consensus and options.templates is None and options.uncertainty is None:
        learn.error("argument --consensus: needs the present templates: --templates or --uncertainty")
    for option, path, suffixes in (
        ("--out", options.out, (".yaml", ".yml")),
        ("--picture", options.picture, (".svg",)),
    ):
        if path is not None and path.suffix.lower() not in suffixes:
            learn.error(f"argument {option}: {path}: its name should end in {' or '.join(suffixes)}")
    return LearnRequest(
        tuple(options.logs),
        options.reference,
        options.reference_time,
        options.reference_stream,
        options.within,
        options.buckets,
        options.area,
        options.picture,
        ReadOptions.of(options),
        options.out,
    )


def _within(text: str) -> Window:
    lo, colon, hi = text.partition(":")
    try:
        window = Window(lo_s=float(lo), hi_s=float(hi)) if colon else Window(float(lo))
    except WindowError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, such as 5 or -10:1") from None
    if window.hi_us <= window.lo_us:
        raise argparse.ArgumentTypeError(f"{text!r}: longer than 0 s")
    return window


def _buckets(text: str) -> int:
    buckets = real(text)
    if not 1 <= buckets <= 64 or not buckets.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to 64")
    return int(buckets)
