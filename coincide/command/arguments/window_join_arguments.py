"""The command line of ``coincide window-join``, which asks of several files what a query document would."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from coincide.command.arguments.join_arguments import QueryJoinRequest, threshold_of, window_of
from coincide.command.arguments.options import (
    Commands,
    ReadOptions,
    add_command,
    add_echo_option,
    add_file_options,
    filled,
    input_path,
)
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window
from coincide.errors import QueryError
from coincide.queries import Query

DESCRIPTION = """\
Tell which events of several files happened together, although every time is uncertain. A match has one event of each
file, and every two of its events (or every two that follow each other, with --form path) are within the window.

Each file plays a role, ROLE=FILE; without ROLE= it is called as the file is, up to the first dot. A file that plays two
roles is joined with itself. Files and columns are those of coincide join; - is standard input. What coincide join
--query can do beyond this, filters and equal, needs a query document.
"""

EPILOG = """\
The answer has, for each role, id (or row), detected_at and sensor, and the probability: with --joint that all windows
hold at once, else that of the least probable edge. With --at-least some roles are empty. Rows come in any order.

--edge A,B,WINDOW or A,B,WINDOW,P, once for each edge, says other windows, of B minus A, and thresholds for each.

examples:
  coincide window-join k=kamiokande.csv imb.csv baksan.csv --window 10 --threshold 0.1 --templates clocks.json
  coincide window-join gate.csv bridge.csv tower.csv --form path --window 0:60 --threshold 0.9 --uncertainty normal:1
  coincide window-join a=x.csv b=x.csv c=y.csv --edge a,b,5,0.5 --edge b,c,-1:9 --joint 0.4 --uncertainty normal:1

"""

_is_role = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII).fullmatch


def add_window_join(commands: Commands) -> argparse.ArgumentParser:
    """Add ``window-join`` to the commands; return its parser."""
    command = add_command(commands, "window-join", "join any number of files of events", DESCRIPTION, EPILOG)
    command.add_argument("files", type=_role_and_path, nargs="+", metavar="ROLE=FILE", help="two files or more")
    window = "seconds, as for coincide join: 5 is 5 s either way, 0:60 is up to 60 s after"
    command.add_argument("--window", type=window_of, metavar="S", help=window)
    each = "least probability of every edge, above 0, at most 1"
    command.add_argument("--threshold", type=threshold_of, metavar="P", help=each)
    joint = "least probability that all windows hold at once"
    command.add_argument("--joint", type=threshold_of, metavar="P", help=joint)
    forms = "which two events a window holds between: every two, or those of files that follow each other (clique)"
    command.add_argument("--form", choices=("clique", "path"), default="clique", help=forms)
    edge = "in place of --window, --threshold and --form"
    command.add_argument("--edge", type=_edge, action="append", default=[], metavar="A,B,S[,P]", help=edge)
    command.add_argument("--at-least", type=int, metavar="M", help="so many members of a clique are enough")
    rules = get_args(SensorRule)
    command.add_argument("--sensors", choices=rules, default="different", help="which sensors may match (different)")
    command.add_argument("--time", type=filled, metavar="COLUMN", help="the column with the times")
    forms_of = (
        "for events that have none: a name in the templates, uniform:LO,HI, normal:SIGMA, normal:SIGMA,N or point"
    )
    command.add_argument("--uncertainty", type=filled, metavar="U", help=forms_of)
    named = "templates by name or sensor, JSON or YAML: see coincide join --help"
    command.add_argument("--templates", type=Path, metavar="FILE", help=named)
    add_echo_option(command)
    add_file_options(command)
    return command


def window_join_request(options: argparse.Namespace, command: argparse.ArgumentParser) -> QueryJoinRequest:
    """Return what the user asks for as a query; refuse, as argparse does, what does not fit together."""
    for option, why in _misfits(options):
        command.error(f"argument {option}: {why}")
    paths = dict.fromkeys(path for _, path in options.files)
    stream_of = {path: f"file-{number}" for number, path in enumerate(paths)}
    roles = {role: stream_of[path] for role, path in options.files}
    try:
        query = Query.from_json(_document(options, roles))
    except QueryError as error:
        command.error(str(error))
    reading = ReadOptions.of(argparse.Namespace(**vars(options), stream=None))
    readings = [replace(reading, stream=stream, has_streams=False) for stream in stream_of.values()]
    return QueryJoinRequest(query, list(paths), readings, options.out)


def _misfits(options: argparse.Namespace) -> list[tuple[str, str]]:
    roles = [role for role, _ in options.files]
    twice = sorted({role for role in roles if roles.count(role) > 1})
    unsaid = options.threshold is None and options.joint is None
    return [
        *((("ROLE=FILE", f"two files play {twice[0]}: name one of them, such as other={twice[0]}"),) if twice else ()),
        *((("ROLE=FILE", "a match is of two roles or more"),) if len(roles) < 2 else ()),
        *((("--edge", "has its own window: leave --window out"),) if options.edge and options.window else ()),
        *((("--window", "required, or an --edge for each window"),) if not options.edge and not options.window else ()),
        *((("--threshold", "required, or --joint"),) if not options.edge and unsaid else ()),
    ]


def _document(options: argparse.Namespace, roles: dict[str, str]) -> dict[str, Any]:
    asked: dict[str, Any] = {"id": "window-join", "from": roles, "sensors": options.sensors}
    if options.edge:
        asked["within"] = [_within(window, threshold, [a, b]) for a, b, window, threshold in options.edge]
    elif len(roles) == 2:
        asked["within"] = [_within(options.window, options.threshold, list(roles))]
    else:
        asked |= {"form": options.form, "within": [_within(options.window, options.threshold)]}
    asked |= {} if options.joint is None else {"joint_threshold": options.joint}
    return asked if options.at_least is None else {**asked, "at_least": options.at_least}


def _within(window: Window, threshold: float | None, between: Sequence[str] | None = None) -> dict[str, Any]:
    bounds = {"window_s": window.hi_s} if window.is_symmetric else {"lo_s": window.lo_s, "hi_s": window.hi_s}
    given = {"between": between, **bounds, "threshold": threshold}
    return {name: value for name, value in given.items() if value is not None}


def _role_and_path(text: str) -> tuple[str, Path]:
    role, equals, name = text.partition("=")
    if equals and name and _is_role(role):
        return role, input_path(name)
    role = Path(text).name.split(".")[0]
    if not _is_role(role):
        raise argparse.ArgumentTypeError(f"{text!r}: a role begins with a letter: write role={text}")
    return role, input_path(text)


def _edge(text: str) -> tuple[str, str, Window, float | None]:
    parts = text.split(",")
    if not 3 <= len(parts) <= 4:
        raise argparse.ArgumentTypeError(f"{text!r}: A,B,WINDOW or A,B,WINDOW,P, such as a,b,5,0.5")
    a, b, window, *threshold = parts
    return a, b, window_of(window), threshold_of(threshold[0]) if threshold else None
