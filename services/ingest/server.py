"""The process: settings to a running server, with its threads started and stopped in order."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from coincide.wire.sensor_health import HEALTH
from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.declared_streams import DeclaredStreams
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.append_queue import MOST_WAITING_BYTES
from services.common.log.log import Log
from services.common.program.asgi_server import AsgiServer
from services.common.settings import load_streams
from services.common.topics.compacted_topic import TopicFollower
from services.common.topics.log_clients import LogClients
from services.ingest.app import create_app
from services.ingest.http.request_limits import IngestHttpProtocol
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import DEAD_LETTERS, DETECTIONS, Publisher
from services.ingest.registry.health_topic import HealthView
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplates
from services.ingest.registry.registered_clocks import CLOCKS, RegisteredClocks
from services.ingest.registry.sensors_topic import SENSORS, RegistryView
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.stream_changes import QUERIES
from services.ingest.settings import IngestSettings
from services.ingest.templates.proposals_topic import read_proposals

REQUESTS_AT_ONCE = 5  # to Kafka: detections need no order, as what is waited for is in the log before what comes next


def build_app(settings: IngestSettings, log: Log | None = None) -> Guarded:
    """Return the application wired to a log, which whoever gives it closes; to Kafka, where none is given.

    Raises SettingsError when config/streams.yaml cannot be used.
    """
    metrics = IngestMetrics(CollectorRegistry())
    own_log = None
    if log is None:
        log = own_log = _kafka_log(settings, metrics)
    clients = LogClients(log, settings.topic_names)
    access = ComponentAccess("ingest", settings, metrics.registry, clients=clients)
    streams = DeclaredStreams(load_streams(settings.streams_path), follows=True)
    templates = NamedTemplates(follows=True)
    clocks = RegisteredClocks(follows=True)
    registry = Registry(streams, templates, clocks)
    limits = settings.kafka_timeout_s, settings.max_in_flight_bytes
    publisher = Publisher(log, metrics, *limits, names=settings.topic_names)
    names, read = settings.topic_names, clients.reader
    follower = TopicFollower(names.full(SENSORS), RegistryView(registry, metrics), read)
    streams_follower = TopicFollower(names.full(QUERIES), streams, read)
    others = [
        TopicFollower(names.full(TEMPLATES), templates, read),
        TopicFollower(names.full(CLOCKS), clocks, read),
        TopicFollower(names.full(HEALTH), HealthView(registry, metrics), read),
    ]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if own_log is not None:
            own_log.connect()
        publisher.start()
        streams_follower.start()
        follower.start()
        access.start()
        for each in others:
            each.start()
        gc.collect()
        gc.freeze()  # what stands now stays: a full collection that walks it costs 20 ms
        every_s = settings.heartbeat_s
        running = [asyncio.create_task(finish(), name="unfinished changes") for finish in app.state.unfinished]
        if every_s:
            running.append(asyncio.create_task(publisher.send_heartbeats(every_s), name="heartbeats"))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        await asyncio.to_thread(follower.stop)
        await asyncio.to_thread(access.stop)
        for each in (*others, streams_follower):
            await asyncio.to_thread(each.stop)
        if own_log is not None:
            await asyncio.to_thread(own_log.close)

    app = create_app(
        settings,
        registry,
        publisher,
        metrics,
        audit=access.audit,
        read_proposals=lambda: read_proposals(read, names),
        log_answers=lambda: follower.log_answers,
        lifespan=lifespan,
    )
    return Guarded(app, access.guard, settings.max_open_per_peer)


def _kafka_log(settings: IngestSettings, metrics: IngestMetrics) -> KafkaLog:
    """Return the log in Kafka, which is no use as long as it does not know its topics."""
    return KafkaLog(
        settings.kafka,
        settings.topic_names,
        timeout_s=settings.kafka_timeout_s,
        most_waiting_bytes=settings.max_in_flight_bytes + MOST_WAITING_BYTES,
        linger_ms=settings.kafka_linger_ms,
        requests_at_once=REQUESTS_AT_ONCE,
        topics=list(map(settings.topic_names.full, (DEAD_LETTERS, DETECTIONS))),
        on_connected=metrics.producer_starts.inc,
    )


def build_server(settings: IngestSettings) -> AsgiServer:
    """Return the server, which finishes POSTs in work before it ends; raises SettingsError."""
    return AsgiServer(
        build_app(settings),
        settings,
        IngestHttpProtocol,
        loop="uvloop",
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=settings.graceful_shutdown_s,
    )
