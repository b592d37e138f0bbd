"""The process: settings to a running server, with the thread that follows Kafka started and stopped in order."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from functools import partial
from ssl import SSLContext
from types import FrameType

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool

from services.alerting.alerts.acts import Acts
from services.alerting.alerts.raising import OutboxLimits, Raising
from services.alerting.alerts.sensor_conditions import SensorConditions
from services.alerting.alerts.system_conditions import SystemConditions
from services.alerting.app import create_app
from services.alerting.kafka.follower import Follower, Listeners
from services.alerting.kafka.kafka_session import KafkaSession
from services.alerting.kafka.projection import Progress, Seed
from services.alerting.kafka.records import DETECTIONS, TOPICS
from services.alerting.kafka.storing import Storage
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics
from services.alerting.queries.edits import load_queries
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.queries.registered_sensors import SENSORS, RegisteredSensors
from services.alerting.receivers.receiver import Receivers, load_receivers
from services.alerting.receivers.sending import Sending
from services.alerting.settings import AlertingSettings
from services.alerting.store.alert_rows import StoredAlert
from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.expiry import Expiry, Room
from services.alerting.store.live_rows import StoredRow, newest_sequence
from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.compacted_topic import TopicFollower, TopicView
from services.common.declared_streams import DeclaredStreams
from services.common.kafka import create_consumer
from services.common.record_publisher import RecordPublisher
from services.common.sensor_health import TOPIC as HEALTH
from services.common.sensor_health import HealthFeed
from services.common.settings import load_streams

GRACE_S = 5


def build_app(settings: AlertingSettings) -> Guarded:
    """Return the application, which connects when it starts; a `SettingsError` or `ValueError` says what is wrong."""
    streams = DeclaredStreams(load_streams(settings.streams_path), follows=True)
    queries = load_queries(settings.queries_path, streams)
    engine = open_engine(settings.database_url)
    metrics = Metrics(CollectorRegistry())
    access = ComponentAccess("alerting", settings, metrics.registry)
    progress = Progress(settings.kafka_silence_s, lambda: streams.is_caught_up)
    records = RecordPublisher(settings.kafka_bootstrap, settings.kafka_timeout_s)
    changes = QueryChanges(
        engine,
        records,
        progress,
        metrics,
        access.audit,
        timeout_s=settings.kafka_timeout_s,
        queries_max=settings.queries_max,
    )
    hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches)
    room = Room(settings.matches_most_rows, settings.matches_most_bytes)
    expiry = Expiry(engine, metrics, settings.kept_s, room, settings.retention_chunk_rows, settings.retention_every_s)
    seed = Seed(queries, records, access.audit, engine)

    receivers = Receivers(load_receivers(settings.receivers_path))
    raising = Raising(receivers, OutboxLimits(settings.deliver_within_s, settings.outbox_max))
    sensors, heard = RegisteredSensors(), HealthFeed()
    of_sensors = SensorConditions(sensors, heard, settings.sensor_limits)
    storage = Storage(engine, metrics, raising, SystemConditions(settings.condition_limits, of_sensors))
    outcomes = RecordPublisher(settings.kafka_bootstrap, settings.kafka_timeout_s)
    sending = Sending(
        receivers,
        engine,
        outcomes,
        metrics,
        deliver_within_s=settings.deliver_within_s,
        may_be_private=settings.receivers_may_be_private,
        tells=settings.tells_receivers,
    )
    read = partial(create_consumer, settings.kafka_bootstrap)
    views: dict[str, TopicView] = {SENSORS: sensors, f"coincide.{HEALTH}": heard, TOPICS.queries: streams}
    followers = [TopicFollower(topic, view, read) for topic, view in views.items()]

    def connect() -> KafkaSession:
        return KafkaSession(
            settings.kafka_bootstrap, settings.kafka_group, TOPICS.names(), DETECTIONS, settings.batch_records
        )

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(migrate, engine)
        with engine.connect() as connection:
            hub.newest_sequence = newest_sequence(connection)
        soon = asyncio.get_running_loop().call_soon_threadsafe

        def stored(rows: Sequence[StoredRow]) -> None:
            soon(hub.publish, rows)
            if any(isinstance(each, StoredAlert) for each in rows):
                sending.wake()

        def reached(topic: str, next_offset: int) -> None:
            soon(progress.reached, topic, next_offset)
            if topic == TOPICS.alert_controls:
                sending.wake()

        listeners = Listeners(stored, reached, sending.begin)
        follower = Follower(connect, engine, metrics, progress, expiry, listeners, seed, storage)
        follower.start()
        for each in followers:
            each.start()
        access.start()
        yield
        hub.close()
        stops = (
            access.stop,
            *(each.stop for each in followers),
            follower.stop,
            sending.stop,
            outcomes.close,
            records.close,
        )
        for stop in stops:
            await run_in_threadpool(stop)
        engine.dispose()

    acts = Acts(records, progress, access.audit, settings.kafka_timeout_s)
    parts = settings, streams, engine, metrics, progress, changes, hub, sensors
    app = create_app(*parts, receivers=receivers, acts=acts, access=access, lifespan=lifespan)
    return Guarded(app, access.guard)


class Server(uvicorn.Server):
    """uvicorn waits for every response before it stops; this server also ends the live streams, which never end."""

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Begin to stop; called as a signal handler, in the midst of whatever the event loop does."""
        app = self.config.app
        assert isinstance(app, Guarded)  # noqa: S101 - `serve` gives it one
        assert isinstance(app.application, FastAPI)  # noqa: S101 - `build_app` does
        with contextlib.suppress(RuntimeError):  # no loop runs yet, or any more
            asyncio.get_running_loop().call_soon_threadsafe(app.application.state.end_live_streams)
        # Not the base class's way, which raises the signal again at the end: a stop in order is no failure.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def serve(app: Guarded, settings: AlertingSettings, tls: SSLContext | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the audit trail has addresses that nobody can make up
        timeout_graceful_shutdown=GRACE_S,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    Server(config).run()
