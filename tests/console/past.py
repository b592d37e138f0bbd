"""The history process over what a line has taken: a real archive, and real runs over it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from prometheus_client import CollectorRegistry

from coincide import Histogram
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import AnyQuery, query_from_json
from coincide.wire.declarations.template_proposal import PROPOSALS, TemplateProposal
from services.common.access.component_access import ComponentAccess
from services.common.kafka.connection import KafkaConnection
from services.common.program.asgi_server import ServerThread
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.replaying.request import RunError, RunRequest, parsed_time
from services.history.replaying.run_folder import ComparedMatch
from services.history.runs.comparing import compare, is_within
from services.history.runs.run_queue import RunQueue
from services.history.runs.run_server import RunService, create_app, read_request
from services.history.runs.run_service import run_metrics
from spark_jobs.history import history_queue
from spark_jobs.settings import HistorySettings
from tests.coincide.fusion.inputs import Row, frame
from tests.console.line import STREAMS, Line
from tests.patience import keep_priority
from tests.services.history.replaying.test_answers import table_of

NOISY = {"from": "1986-02-01T00:00:00Z", "to": "1986-02-01T01:00:00Z"}
NOISY_S = parsed_time(NOISY["from"]) / 1e6


@contextmanager
def running_past(line: Line, folder: Path, older: Sequence[InputRecord] = ()) -> Iterator[None]:
    """Archive what the line has taken so far, and older frames; do runs over it where alerting looks for them."""
    archive = Archive.opened(folder / "archive", 2)
    taken = [InputRecord("detections", 0, nth, key, value) for nth, (key, value) in enumerate(line.frames)]
    frames = [*taken, *(each._replace(offset=len(taken) + nth) for nth, each in enumerate(older))]
    table, templates = table_of(frames)
    archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
    archive.write(table, batch_file(0, 0, 0))
    settings = HistorySettings(
        archive_path=archive.path,
        runs_path=folder / "runs",
        kafka=KafkaConnection(servers="127.0.0.1:1"),
        port=line.ports["history"],
    )
    queue = history_queue(settings, STREAMS, partial(_propose, line), give_way=keep_priority)
    service = RunService(
        queue, run_metrics(queue), lambda asked: _request(line, asked), partial(_compared, line, queue)
    )
    access = ComponentAccess("history", settings, CollectorRegistry(), publisher=line.keys)
    access.ring = access.guard._ring = line.ring  # as the other components of the line
    server = ServerThread(create_app(service, access.audit), settings, access)
    queue.start()
    server.start()
    try:
        yield
    finally:
        server.stop()
        queue.stop(10)


def noisy_hour() -> list[InputRecord]:
    """Return what three detectors reported at random in an hour of 1986, in an area of their own."""
    rng, sensors = np.random.default_rng(1), ("deep", "deeper", "deepest")
    rows = [
        Row(f"n{nth}", at_s, Histogram.uniform(-1, 1), "neutrino", str(rng.choice(sensors)))
        for nth, at_s in enumerate(np.sort(rng.uniform(NOISY_S, NOISY_S + 3_600, 150)).tolist())
    ]
    return [frame(0, rows[first : first + 50], "mine", received_at_s=NOISY_S + 7_200) for first in range(0, 150, 50)]


def _request(line: Line, asked: Mapping[str, Any]) -> RunRequest:
    """Read what somebody asks; a query that is named is the one that alerting has, as Kafka would have it."""

    def query_of(given: Any) -> AnyQuery:
        if not isinstance(given, str):
            return query_from_json(given)
        found = line.call("GET", "alerting", f"/v1/queries/{given}", headers=line.headers)
        if not found.is_success:
            raise RunError(f"there is no file {given}, and no query with that id")
        return query_from_json(found.json()["query"])

    return read_request(asked, query_of, "archive")


def _compared(line: Line, queue: RunQueue, run: str, other: str) -> dict[str, Any]:
    """Compare a run with another, or with the live matches, which alerting has as Kafka would."""
    folder = queue.folder(run)
    request = RunRequest.from_json(folder.summary()["request"])
    before = _live(line, request) if other == "live" else queue.folder(other).matches()
    return {"run": run, "with": other, **compare(folder.matches(), before).to_json()}


def _propose(line: Line, proposals: Sequence[TemplateProposal]) -> None:
    """Propose what a run has learnt, as Kafka would carry it to ingest."""
    for each in proposals:
        line.follow(PROPOSALS, each.key, each.to_record())


def _live(line: Line, request: RunRequest) -> Iterator[ComparedMatch]:
    asked = {"query": request.query.id, "limit": 1000}
    items = line.call("GET", "alerting", "/v1/matches", params=asked).json()["items"]
    return (each for each in msgspec.convert(items, list[ComparedMatch]) if is_within(each, request))
