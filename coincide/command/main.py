"""The console command ``coincide``: from the command line to an exit status.

0: the answer is written. 1: the files cannot be used, or the answer not written. 2: the command line is wrong, or the
extra is missing. 130: interrupted. 141: whoever read the answer stopped reading. 143: told to end (SIGTERM).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from coincide import __version__
from coincide.command.added_commands import AddedCommand, added_commands
from coincide.command.arguments.chance_arguments import ChanceRequest, add_chance, chance_request
from coincide.command.arguments.coalesce_arguments import CoalesceRequest, add_coalesce, coalesce_request
from coincide.command.arguments.explain_arguments import ExplainRequest, add_explain, explain_request
from coincide.command.arguments.export_arguments import ExportRequest, add_export, export_request
from coincide.command.arguments.join_arguments import (
    JoinRequest,
    QueryJoinRequest,
    add_join,
    join_request,
    with_joined_windows,
)
from coincide.command.arguments.learn_arguments import LearnRequest, add_learn, learn_request
from coincide.command.arguments.replay_arguments import ReplayRequest, add_replay, replay_request
from coincide.command.arguments.slides_arguments import SlidesRequest, add_slides, slides_request
from coincide.command.arguments.stations_arguments import StationsRequest, add_stations, stations_request
from coincide.command.arguments.window_join_arguments import add_window_join, window_join_request
from coincide.command.faults import CommandError
from coincide.command.standard_input import interruptible_stdin
from coincide.errors import CoincideError

QuickRequest = (
    JoinRequest
    | QueryJoinRequest
    | CoalesceRequest
    | ExplainRequest
    | ChanceRequest
    | SlidesRequest
    | LearnRequest
    | StationsRequest
    | ExportRequest
)
Request = QuickRequest | ReplayRequest


COMMANDS: Mapping[str, tuple[Callable[..., ArgumentParser], Callable[[Namespace, ArgumentParser], Request]]] = {
    "join": (add_join, join_request),
    "window-join": (add_window_join, window_join_request),
    "coalesce": (add_coalesce, coalesce_request),
    "replay": (add_replay, replay_request),
    "explain": (add_explain, explain_request),
    "chance": (add_chance, chance_request),
    "slides": (add_slides, slides_request),
    "learn": (add_learn, learn_request),
    "stations": (add_stations, stations_request),
    "export": (add_export, export_request),
}


def request_of(argv: Sequence[str]) -> Request | AddedRequest:
    """Return what the user asks for; print help, the version or what is wrong, and exit, as argparse does."""
    parser = ArgumentParser(prog="coincide", description="Which things happened together, and for how long.")
    parser.add_argument("--version", action="version", version=f"coincide {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    parsers = {name: add(commands) for name, (add, _) in COMMANDS.items()}
    added = {} if argv and argv[0] in COMMANDS else added_commands()  # to look for them takes longer than all else here
    for each in added.values():
        each.add(commands)
    options = parser.parse_args(with_joined_windows(argv))
    if options.command in added:
        return AddedRequest(added[options.command], options)
    _, request = COMMANDS[options.command]
    return request(options, parsers[options.command])


@dataclass(frozen=True)
class AddedRequest:
    """What the user asks of a command that another package adds."""

    command: AddedCommand
    options: Namespace


EXTRA = ("msgspec", "pyarrow", "rich")
DONE, FAILED, MISUSED, INTERRUPTED, UNREAD, TERMINATED = 0, 1, 2, 130, 141, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    request = request_of(sys.argv[1:] if argv is None else argv)
    return request.command.run(request.options) if isinstance(request, AddedRequest) else _answer(request)


def _answer(request: Request) -> int:
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        return _fail(f"the command needs {' and '.join(missing)}: pip install 'coincide[cli]'", MISUSED)
    try:
        with _ended_by_sigterm():
            _run(request)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (CommandError, CoincideError) as error:
        return _fail(str(error), FAILED)
    except KeyboardInterrupt as interrupt:
        return _fail("interrupted", TERMINATED if isinstance(interrupt, _Terminated) else INTERRUPTED)
    except BrokenPipeError:
        _give_up_stdout()
        return UNREAD
    except OSError as error:
        _give_up_stdout()
        where = f"{error.filename} " if error.filename else ""
        return _fail(f"the answer cannot be written: {where}{error.strerror or error}", FAILED)
    return DONE


def _run(request: Request) -> None:
    """Answer the request; a replay may go on for ever, so it alone collects garbage, once it has begun."""
    if isinstance(request, ReplayRequest):
        with _no_garbage_collection():
            from coincide.command.playback.replay import run_replay  # noqa: PLC0415 - needs the extra, as those below do

        run_replay(request)
        return
    with _no_garbage_collection():
        _run_at_once(request)


def _run_at_once(request: QuickRequest) -> None:
    if isinstance(request, JoinRequest):
        from coincide.command.join import run_join  # noqa: PLC0415

        run_join(request)
    elif isinstance(request, QueryJoinRequest):
        from coincide.command.query_join import run_query_join  # noqa: PLC0415

        run_query_join(request)
    elif isinstance(request, CoalesceRequest):
        from coincide.command.coalesce import run_coalesce  # noqa: PLC0415

        run_coalesce(request)
    elif isinstance(request, ExplainRequest):
        from coincide.command.explain import run_explain  # noqa: PLC0415

        run_explain(request)
    elif isinstance(request, ChanceRequest):
        from coincide.command.chance.chance_table import run_chance  # noqa: PLC0415

        run_chance(request)
    elif isinstance(request, SlidesRequest):
        from coincide.command.chance.slide_counts import run_slides  # noqa: PLC0415

        run_slides(request)
    elif isinstance(request, StationsRequest):
        from coincide.command.stations.station_import import run_stations  # noqa: PLC0415

        run_stations(request)
    elif isinstance(request, ExportRequest):
        from coincide.command.export import run_export  # noqa: PLC0415

        run_export(request)
    else:
        from coincide.command.learn import run_learn  # noqa: PLC0415

        run_learn(request)


class _Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does, so that no unfinished answer stays behind; both end a wait for input."""
    if threading.current_thread() is not threading.main_thread():  # only there may handlers be set
        yield
        return

    def end(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        with interruptible_stdin():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause it: reading makes millions of small lists without cycles, and looking for some would double its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _fail(why: str, status: int) -> int:
    sys.stderr.write(f"coincide: {why}\n")
    return status


def _give_up_stdout() -> None:
    """Let the interpreter's last flush find nobody to complain to."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
