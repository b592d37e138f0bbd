"""Runs over history: `python -m spark_jobs.history run --query FILE|ID --from T --to T ...`, `compare` and `serve`."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from kafka.errors import KafkaError

from coincide.fusion.control.limits import Limits
from coincide.queries import AnyQuery
from services.common.access.component_access import ComponentAccess
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.clients import create_consumer
from services.common.kafka.kafka_log_reader import KafkaLogReader
from services.common.log.faults import LogError
from services.common.log.log import MOST_BYTES
from services.common.program.asgi_server import ServerThread
from services.common.program.skeleton import exit_status, parser_of, settings_of
from services.common.program.stop_signals import stop_event
from services.common.settings import SettingsError, Streams, load_settings, load_streams
from services.history.archiving.folders import Archive
from services.history.idle_work import yield_to_live_work
from services.history.replaying.past import Past
from services.history.replaying.request import SOURCES, AnyRequest, RunError, RunRequest, parsed_time
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.replaying.staff import Others, Processes
from services.history.rows.topic_records import TopicRecords, Topics
from services.history.runs.comparing import compared
from services.history.runs.doing import do_run
from services.history.runs.learning_run import Proposed
from services.history.runs.run import Run
from services.history.runs.run_queue import Kept, RunQueue
from services.history.runs.run_server import create_app
from services.history.runs.run_service import query_named, read_query, run_service, usual_source
from spark_jobs.calibrating.proposing import propose
from spark_jobs.settings import HistorySettings
from spark_jobs.spark_staff import SparkStaff

CANCELLED = 130  # as a shell says of what Ctrl-C has ended
STOP_TIMEOUT_S = 10.0
LOOK_S = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or after one sentence on standard error another status."""
    given = _parser().parse_args(arguments)
    commands = {"run": _run, "compare": _compare, "serve": _serve}
    return exit_status(
        "history", lambda: commands[given.command](given, settings_of(HistorySettings, given)), RunError, LogError
    )


def _run(given: argparse.Namespace, settings: HistorySettings) -> int:
    is_file = Path(given.query).is_file()
    query = _query_in(Path(given.query)) if is_file else query_named(given.query, topics_of(settings))
    if given.master is not None and given.as_live:
        raise RunError("--master is for complete runs: a run as live takes the frames one after the other")
    source = given.source or usual_source(settings.archive_path, as_live=given.as_live)
    asked = (parsed_time(given.from_), parsed_time(given.to), source, given.as_live)
    follows = given.as_live and not is_file
    more = given.min_threshold, given.warm_up, not given.count_only, follows, given.slides
    request = RunRequest(query, *asked, *more)
    stopping = stop_event()
    folder = RunFolder(given.out or settings.runs_path / request.id)
    reporter = Reporter(folder, request, stopping.is_set, _show)
    summary = Run(request, past_of(settings), load_streams(settings.streams_path), reporter).execute()
    _print({**summary, "folder": str(folder.path)})
    return CANCELLED if summary["state"] == "cancelled" else 0


def _compare(given: argparse.Namespace, settings: HistorySettings) -> int:
    other = None if given.other == "live" else _folder(given.other, settings)
    _print(compared(_folder(given.run, settings), other, topics_of(settings)))
    return 0


def _serve(_given: argparse.Namespace, settings: HistorySettings) -> int:
    streams, stopping = load_streams(settings.streams_path), stop_event()
    queue = history_queue(settings, streams, partial(propose, settings))
    service = run_service(queue, topics_of(settings), settings.archive_path)
    access = ComponentAccess("history", settings, service.registry)
    server = ServerThread(create_app(service, access.audit), settings, access)
    queue.start()
    server.start()
    while not stopping.wait(LOOK_S):  # a signal right before a wait is heeded after it
        pass
    server.stop()
    if not queue.stop(STOP_TIMEOUT_S):
        # The run at work gets no core to see that it shall end. Its processes end with us, and the next one does it.
        os._exit(0)
    return 0


def history_queue(
    settings: HistorySettings, streams: Streams, proposed: Proposed, give_way: Callable[[], None] = yield_to_live_work
) -> RunQueue:
    """Return the queue of `serve`; `proposed` takes the templates that a run which learns proposes.

    `give_way` is called in the thread of each run, before it.
    """
    past = past_of(settings)

    def execute(request: AnyRequest, reporter: Reporter) -> None:
        give_way()
        do_run(request, past, streams, reporter, proposed)

    def archive_state(request: AnyRequest) -> str | None:
        if settings.archive_path is None or request.source != "archive":
            return None
        with suppress(SettingsError, OverflowError):  # the run says what is wrong
            return Archive.opened(settings.archive_path).state_of(request.from_us, request.to_us)
        return None

    kept = Kept(settings.runs_kept, settings.runs_kept_mb * 1e6)
    return RunQueue(settings.runs_path, execute, kept, archive_state)


def past_of(settings: HistorySettings) -> Past:
    """Return what runs stand on: topics of Kafka, and a cluster or processes of this machine."""
    others: Callable[[Path], AbstractContextManager[Others]] | None = None
    if settings.master is not None:
        others = partial(SparkStaff, settings)
    elif settings.processes > 1:
        others = partial(_processes, settings.processes)
    return Past(settings, topics_of(settings), lambda: _limits(settings), others)


def topics_of(settings: HistorySettings) -> Topics:
    """Return what opens topics of Kafka; a run that is long outlives a broker that starts again."""
    patience_s = 3 * settings.kafka_timeout_s

    def opened(name: str) -> TopicRecords:
        timeout_ms = round(settings.kafka_timeout_s * 1_000)
        try:
            consumer = create_consumer(settings.kafka, request_timeout_ms=timeout_ms, auto_offset_reset="none")
        except KafkaError as error:
            raise LogError(f"Kafka cannot be asked: {error}", is_retriable=True) from error
        return TopicRecords(
            KafkaLogReader(consumer, MOST_BYTES, timeout_s=patience_s), settings.topic(name), patience_s
        )

    return opened


def _processes(count: int, _parts: Path) -> Processes:
    return Processes(count)


def _limits(settings: HistorySettings) -> Limits:
    return load_settings(FusionSettings, settings.fusion_config, os.environ).limits


def _folder(run: str, settings: HistorySettings) -> RunFolder:
    """Return the folder of a run, given its id or the folder itself."""
    return RunFolder(Path(run) if Path(run).is_dir() else settings.runs_path / run)


def _query_in(path: Path) -> AnyQuery:
    """Return the query of a file; without an id it is called as the file is."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}") from None
    return read_query(str(path), {"id": path.stem, **document} if isinstance(document, dict) else document)


def _show(share: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{100 * share:5.1f} %")
        sys.stderr.flush()


def _print(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("spark_jobs.history", "Ask a query of the past.", Path("config/history.yaml"))
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="answer a query over a range of time")
    run.add_argument("--query", required=True, metavar="FILE|ID", help="a query document, or the id of a query")
    run.add_argument("--from", dest="from_", required=True, metavar="T", help="RFC 3339, or microseconds; included")
    run.add_argument("--to", required=True, metavar="T", help="the same; not included")
    source = "where detections are read (archive; topic with --as-live, and where there is no archive)"
    run.add_argument("--source", choices=SOURCES, help=source)
    run.add_argument("--as-live", action="store_true", help="answer as the live job did, over the frames of the topic")
    run.add_argument("--count-only", action="store_true", help="write no matches: the curve alone, much faster")
    run.add_argument("--min-threshold", type=float, metavar="P", help="where the curve begins, below the threshold")
    run.add_argument("--slides", type=int, metavar="N", help="count what chance gives, too, by so many time slides")
    warm_up = "with --as-live: begin so long before T; by default where the topic begins"
    run.add_argument("--warm-up", type=float, metavar="S", help=warm_up)
    run.add_argument(
        "--archive",
        dest="archive_path",
        type=Path,
        metavar="DIR",
        help="the archive; wins over the setting archive_path",
    )
    run.add_argument("--master", metavar="URL", help="the Spark master that does it; wins over the setting master")
    run.add_argument("--out", type=Path, metavar="DIR", help="folder of the results (runs_path and the run's id)")
    other = commands.add_parser("compare", help="tell which matches of a run are added, gone and changed")
    other.add_argument("run", metavar="RUN", help="id or folder of a run")
    other.add_argument("other", metavar="RUN|live", nargs="?", default="live", help="another run, or what is live")
    commands.add_parser("serve", help="do runs that are asked for over HTTP, one at a time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
