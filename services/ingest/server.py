"""The process: settings to a running server, with its threads started and stopped in order."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from coincide.wire.sensor_health import HEALTH
from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.compacted_topic import TopicFollower
from services.common.declared_streams import DeclaredStreams
from services.common.kafka.clients import create_producer, is_refused_everywhere
from services.common.log_clients import KafkaClients, LogClients
from services.common.program.asgi_server import AsgiServer
from services.common.settings import load_streams
from services.ingest.app import create_app
from services.ingest.http.request_limits import IngestHttpProtocol
from services.ingest.kafka.producer import RememberingPartitioner
from services.ingest.kafka.publisher import KafkaPublisher
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.health_topic import HealthView
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplates
from services.ingest.registry.sensors_topic import SENSORS, RegistryView
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.stream_changes import QUERIES
from services.ingest.settings import IngestSettings
from services.ingest.templates.proposals_topic import read_proposals

LONGEST_BLOCK_MS = 500  # of send() on the event loop, should a topic's metadata have got lost


def build_app(
    settings: IngestSettings,
    clients: LogClients | None = None,
    publisher_of: Callable[[IngestMetrics], KafkaPublisher] | None = None,
) -> Guarded:
    """Return the application wired to Kafka, unless others are given.

    Raises SettingsError when config/streams.yaml cannot be used.
    """
    metrics = IngestMetrics(CollectorRegistry())
    clients = clients or KafkaClients.of(settings)
    access = ComponentAccess("ingest", settings, metrics.registry, clients=clients)
    streams = DeclaredStreams(load_streams(settings.streams_path), follows=True)
    templates = NamedTemplates(follows=True)
    registry = Registry(streams, templates)
    publisher = (publisher_of or partial(_publisher, settings))(metrics)
    names, read = settings.topic_names, clients.reader
    follower = TopicFollower(names.full(SENSORS), RegistryView(registry, metrics), read)
    streams_follower = TopicFollower(names.full(QUERIES), streams, read)
    others = [
        TopicFollower(names.full(TEMPLATES), templates, read),
        TopicFollower(names.full(HEALTH), HealthView(registry, metrics), read),
    ]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        publisher.start()
        streams_follower.start()
        follower.start()
        access.start()
        for each in others:
            each.start()
        gc.collect()
        gc.freeze()  # what stands now stays: a full collection that walks it costs 20 ms
        every_s = settings.heartbeat_s
        running = [asyncio.create_task(app.state.finish_templates(), name="templates")]
        if every_s:
            running.append(asyncio.create_task(publisher.send_heartbeats(every_s), name="heartbeats"))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        await asyncio.to_thread(publisher.stop)
        await asyncio.to_thread(follower.stop)
        await asyncio.to_thread(access.stop)
        for each in (*others, streams_follower):
            await asyncio.to_thread(each.stop)

    app = create_app(
        settings,
        registry,
        publisher,
        metrics,
        audit=access.audit,
        read_proposals=lambda: read_proposals(read, names),
        kafka_answers=lambda: follower.kafka_answers,
        lifespan=lifespan,
    )
    return Guarded(app, access.guard, settings.max_open_per_peer)


def _publisher(settings: IngestSettings, metrics: IngestMetrics) -> KafkaPublisher:
    connect = partial(
        create_producer,
        settings.kafka,
        delivery_timeout_ms=int(settings.kafka_timeout_s * 1000),
        max_block_ms=LONGEST_BLOCK_MS,
        linger_ms=settings.kafka_linger_ms,
        partitioner=RememberingPartitioner(),
        metrics_enabled=False,  # nobody reads them, and they cost a tenth of sending a frame
    )
    is_gone = partial(is_refused_everywhere, settings.kafka)
    limits = settings.kafka_timeout_s, settings.max_in_flight_bytes
    return KafkaPublisher(connect, metrics, *limits, names=settings.topic_names, is_gone=is_gone)


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
