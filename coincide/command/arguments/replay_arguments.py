"""The command line of ``coincide replay``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.command.arguments.options import (
    LONGEST_S,
    STDIN,
    Commands,
    ReadOptions,
    add_command,
    add_file_options,
    add_places_option,
    add_stream_options,
    input_path,
    real,
)

DESCRIPTION = """\
Answer queries over detections as the running system would, without Kafka: in the order in which they arrived.

--query names a query as PUT /v1/queries/{id} takes it, .json or .sql. One without an id is called as its file is. Given
several times, all queries are answered at once, and none changes the answer of another.

The files hold the detections, as for coincide join: CSV, NDJSON or Parquet; - is standard input, CSV or NDJSON. Each is
in the order of arrival. Several are merged by received_at. Columns used are those of coincide join, and
  stream             which stream it is of; see --stream
  received_at        when it came in (when it was detected): a fast clock then cannot make others late
  lat, lon, height_m where its sensor was, for queries that ask for it; or x_m, y_m, z_m; see --places
  attributes.NAME    what filters and equal of a query read; in NDJSON and Parquet the field NAME inside attributes

A detection is late, and left out, if it happened more than --max-delay before the newest one of its area. How many were
late is said at the end.
"""

EPILOG = """\
The answer is NDJSON, a line for each match as soon as its last detection is in:
  {"query":"bang","change":"match","probability":0.62,"members":[{"role":"a","id":"n1",...},{"role":"b",...}]}
The probability is the one that the query has a threshold for: that all windows hold at once with joint_threshold, else
that of its least probable edge. With at_least a match may grow. Then a line with "change":"superseded" and the members
of the smaller one says that it no longer counts.

examples:
  coincide replay detections.ndjson --query bang.json --templates templates.json
  tail -f gateway.ndjson | coincide replay - --query bang.json --query thunder.json --uncertainty normal:0.5

"""

USUAL_DELAY_S, USUAL_LENGTH_S = 120.0, 300.0


@dataclass(frozen=True)
class ReplayRequest:
    """What the user asks ``coincide replay`` for; `longest_s` is how long an uncertainty may be."""

    queries: Sequence[Path]
    inputs: Sequence[Path]
    reading: ReadOptions
    max_delay_s: float
    longest_s: float
    out: Path | None
    places: Sequence[Path] = ()


def add_replay(commands: Commands) -> argparse.ArgumentParser:
    """Add ``replay`` to the commands; return its parser."""
    summary = "answer queries over detections in their order of arrival"
    replay = add_command(commands, "replay", summary, DESCRIPTION, EPILOG)
    replay.add_argument(
        "files", type=input_path, nargs="+", metavar="FILE", help="detections in their order of arrival"
    )
    asked = "a query (.json or .sql); give it again for several queries"
    replay.add_argument("--query", type=Path, action="append", required=True, metavar="QUERY", help=asked)
    add_stream_options(replay)
    delay = f"how late a detection may be, in seconds ({USUAL_DELAY_S:g})"
    replay.add_argument("--max-delay", type=_duration_s, default=USUAL_DELAY_S, metavar="S", help=delay)
    longest = f"the longest that an event may be uncertain, in seconds ({USUAL_LENGTH_S:g}, or that of the templates)"
    replay.add_argument("--longest-uncertainty", type=_duration_s, default=USUAL_LENGTH_S, metavar="S", help=longest)
    add_places_option(replay)
    add_file_options(replay, "where to: a name that ends in .ndjson or .jsonl, or a pipe (standard output)")
    return replay


def replay_request(options: argparse.Namespace, replay: argparse.ArgumentParser) -> ReplayRequest:
    """Return what the user asks for; refuse, as argparse does, what is missing."""
    if STDIN in options.files and len(options.files) > 1:
        replay.error("argument FILE: - stands for all detections: they cannot be merged with those of files")
    limits = (options.max_delay, options.longest_uncertainty)
    return ReplayRequest(options.query, options.files, ReadOptions.of(options), *limits, options.out, options.places)


def _duration_s(text: str) -> float:
    seconds = real(text)
    if not 0 <= seconds <= LONGEST_DURATION_S:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, from 0 to {LONGEST_DURATION_S:g}")
    return seconds


LONGEST_DURATION_S = min(LONGEST_S, 1e8)  # as far as a stream's delay may reach
