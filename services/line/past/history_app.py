"""What the line has of its past: routes, the queue of runs, and the thread that has the archive written."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.log.log import Log
from services.common.settings import SettingsError
from services.common.topics.log_clients import LogClients
from services.history.archiving.layout import ArchiveFolder
from services.history.replaying.request import AnyRequest
from services.history.rows.topic_records import TopicRecords
from services.history.runs.run_queue import Kept, RunQueue
from services.history.runs.run_server import create_app
from services.history.runs.run_service import run_service
from services.line.fusion_thread import DETECTIONS
from services.line.past.archive_thread import ArchiveThread
from services.line.past.run_in_process import RunInProcess
from services.line.past.second_process import SecondProcess
from services.line.past.task import Task
from services.line.settings import LineSettings

log = logging.getLogger(__name__)

PATIENCE_S = 30.0  # for a record that is there
STOP_TIMEOUT_S = 10.0
NO_PYARROW = (
    "there is no archive, and no run over history: they need pyarrow, which `pip install 'coincide[parquet]'` brings"
)


def history_app(settings: LineSettings, records: Log, clients: LogClients) -> Guarded:
    """Return the component; without pyarrow it says so, and the rest of the line goes on."""
    missing = None if find_spec("pyarrow") else NO_PYARROW
    process, task, names = SecondProcess(), task_of(settings), settings.ingest.topic_names
    archiving = ArchiveThread(task, names.full(DETECTIONS), records, process)
    queue = run_queue(settings, RunInProcess(task, process, missing))

    def opened(name: str) -> TopicRecords:
        return TopicRecords(records.reader(), names.full(name), PATIENCE_S)

    def why_not_ready() -> list[str]:
        return [why] if (why := missing or archiving.why_not_ready()) else []

    service = run_service(queue, opened, settings.runs.archive_path, why_not_ready)
    access = ComponentAccess("history", settings.ingest, service.registry, clients=clients)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        access.start()
        queue.start()
        if missing is None:
            archiving.start()
        else:
            log.info("%s", missing)  # whoever wants runs is told on /readyz, too
        yield
        await run_in_threadpool(archiving.stop)
        await run_in_threadpool(queue.stop, STOP_TIMEOUT_S)
        await run_in_threadpool(access.stop)

    return Guarded(create_app(service, access.audit, lifespan), access.guard)


def task_of(settings: LineSettings) -> Task:
    """Return what a second process is told; the archive alone is to be written."""
    return Task(
        str(settings.log_path),
        settings.ingest.topic_prefix,
        str(settings.ingest.streams_path),
        settings.runs.model_dump(mode="json"),
        settings.archiving.model_dump(mode="json", include={*type(settings.archiving).model_fields}),
        asdict(settings.limits),
    )


def run_queue(settings: LineSettings, execute: RunInProcess) -> RunQueue:
    """Return the queue of runs."""

    def archive_state(request: AnyRequest) -> str | None:
        path = settings.runs.archive_path
        if path is not None and request.source == "archive":
            with suppress(SettingsError, OverflowError):  # the run says what is wrong
                return ArchiveFolder.opened(path).state_of(request.from_us, request.to_us)
        return None

    kept = Kept(settings.runs.runs_kept, settings.runs.runs_kept_mb * 1e6)
    return RunQueue(settings.runs.runs_path, execute, kept, archive_state)
