"""The process: a log, and on it ingest, the engine, alerting and the console, started and stopped in order."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool

from coincide.fusion.batches.cores import FusionCores
from services.alerting.server import build_app as build_alerting
from services.common.access.asgi import Application, Guarded
from services.common.access.component_access import ComponentAccess
from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.worker_deaths import WorkerDeaths
from services.common.http.bounded_protocol import BoundedHttpProtocol
from services.common.local_log.local_log import LocalLog
from services.common.operations import install_operations
from services.common.program.asgi_server import AsgiServer
from services.common.settings import ComponentSettings, load_streams
from services.common.topics.line_topics import topics_of_line
from services.common.topics.log_clients import LogClients
from services.common.topics.topic_names import TopicNames
from services.common.topics.topics_file import load_topics
from services.console.settings import LONGEST_MESSAGE_BYTES
from services.ingest.server import build_app as build_ingest
from services.line.console_app import console_app
from services.line.dispatch import Dispatch
from services.line.first_sensors import append_first_sensors
from services.line.forwarding.forward_metrics import ForwardMetrics
from services.line.forwarding.forward_settings import ForwardSettings
from services.line.forwarding.forward_thread import ForwardThread
from services.line.forwarding.upward_poster import UpwardPoster
from services.line.fusion_thread import FusionThread
from services.line.heavy_process import HeavyProcess
from services.line.past.history_app import history_app
from services.line.settings import LineSettings

GRACE_S = 5
#: How soon a thread that waits gets Python's lock from one that works: a detection passes through four threads, and
#: each of them waits for the lock again after each statement of a database. By default they wait ten times as long.
SWITCH_INTERVAL_S = 0.0005


def build_app(settings: LineSettings, log: LocalLog) -> Dispatch:
    """Return the application of all components."""
    names, ingest = settings.ingest.topic_names, settings.ingest
    log.create_topics(topics_of_line(load_topics(settings.topics_path, names), names))
    append_first_sensors(log, ingest)
    clients = LogClients(log, names)
    cores = FusionCores(load_streams(ingest.streams_path), settings.limits, clock_s=time.thread_time)
    status, heavy = StatusMetrics(), HeavyProcess()
    registry = CollectorRegistry()
    registry.register(status)
    fusion = FusionThread(log, names, cores, WorkerDeaths(settings.folder / "at-work"), status)
    alerting = build_alerting(settings.alerting, log, heavy)
    components: dict[str, Application] = {
        "fusion": thread_app("fusion", fusion, ingest, clients, registry),
        "history": history_app(settings, log, clients),
        "alerting": alerting,
        "ingest": build_ingest(ingest, log),
        "console": console_app(settings.console),
    }
    if (forward := settings.own.forward) is not None:
        registry = CollectorRegistry()
        thread = forward_thread(forward, log, names, registry)
        components["forwarding"] = thread_app("forwarding", thread, ingest, clients, registry)
    owners = {first: name for name in ("alerting", "ingest") for first in firsts_of(components[name])} | {
        "": "alerting"
    }
    assert isinstance(alerting.application, FastAPI)  # noqa: S101 - `build_alerting` does
    return Dispatch(
        components,
        owners,
        last="console",
        end_streams=alerting.application.state.end_live_streams,
        at_end=heavy.close,
    )


class TellingThread(Protocol):
    """A thread that says whether it does its work."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End; blocks for a bounded time."""

    def why_not_ready(self) -> str | None:
        """Return why it does not; None where all goes well."""


def forward_thread(
    settings: ForwardSettings, log: LocalLog, names: TopicNames, registry: CollectorRegistry
) -> ForwardThread:
    """Return what forwards."""
    poster = UpwardPoster(settings, settings.key_text(os.environ))
    return ForwardThread(log, names, settings, poster, ForwardMetrics(registry))


def thread_app(
    name: str, thread: TellingThread, settings: ComponentSettings, clients: LogClients, registry: CollectorRegistry
) -> Guarded:
    """Return the component that tells of a thread, and runs it."""
    access = ComponentAccess(name, settings, registry, clients=clients)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        access.start()
        thread.start()
        yield
        await run_in_threadpool(thread.stop)
        await run_in_threadpool(access.stop)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    install_operations(app, registry, lambda: [why] if (why := thread.why_not_ready()) else [])
    return Guarded(app, access.guard)


def firsts_of(component: Application) -> set[str]:
    """Return the first parts behind ``/v1/`` of the paths of a component."""
    assert isinstance(component, Guarded)  # noqa: S101 - all but the console are
    return {path.split("/")[2] for path in component.routes.templates() if path.startswith("/v1/")}


def build_server(settings: LineSettings, log: LocalLog) -> AsgiServer:
    """Return the server."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    app = build_app(settings, log)
    server = AsgiServer(
        app,
        settings.ingest,
        BoundedHttpProtocol,
        loop="uvloop",
        ws="auto",
        ws_max_size=LONGEST_MESSAGE_BYTES,
        timeout_graceful_shutdown=GRACE_S,
    )
    server.when_stopping = app.end_streams
    return server
