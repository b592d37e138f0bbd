"""The process: settings to a running server, with the thread that follows Kafka started and stopped in order."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from types import FrameType

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool

from services.alerting.app import create_app
from services.alerting.kafka.follower import Follower, Listeners
from services.alerting.kafka.kafka_session import KafkaSession
from services.alerting.kafka.projection import Progress, Seed
from services.alerting.kafka.query_publisher import QueryPublisher
from services.alerting.kafka.records import TOPICS
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics
from services.alerting.queries.edits import load_queries
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.queries.registered_sensors import RegisteredSensors, SensorsFollower
from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.episode_rows import newest_sequence
from services.alerting.store.expiry import Expiry, Room
from services.common.kafka import create_consumer
from services.common.settings import load_streams

GRACE_S = 5


def build_app(settings: AlertingSettings) -> FastAPI:
    """Return the application, which connects when it starts; a `SettingsError` or `ValueError` says what is wrong."""
    streams = load_streams(settings.streams_path)
    queries = load_queries(settings.queries_path, streams)
    engine = open_engine(settings.database_url)
    metrics = Metrics(CollectorRegistry())
    progress = Progress(settings.kafka_silence_s)
    publisher = QueryPublisher(settings.kafka_bootstrap, settings.kafka_timeout_s)
    changes = QueryChanges(
        engine, publisher, progress, metrics, timeout_s=settings.kafka_timeout_s, queries_max=settings.queries_max
    )
    hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches)
    kept_s = (settings.matches_kept_s, settings.dead_letters_kept_s)
    room = Room(settings.matches_most_rows, settings.matches_most_bytes)
    expiry = Expiry(engine, metrics, kept_s, room, settings.retention_chunk_rows, settings.retention_every_s)
    seed = Seed(queries, publisher, engine)

    sensors = RegisteredSensors()

    def connect() -> KafkaSession:
        return KafkaSession(settings.kafka_bootstrap, settings.kafka_group, TOPICS.names(), settings.batch_records)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(migrate, engine)
        with engine.connect() as connection:
            hub.newest_sequence = newest_sequence(connection)
        soon = asyncio.get_running_loop().call_soon_threadsafe
        listeners = Listeners(lambda rows: soon(hub.publish, rows), lambda offset: soon(progress.reached, offset))
        follower = Follower(connect, engine, metrics, progress, expiry, listeners, seed)
        follower.start()
        of_sensors = SensorsFollower(sensors, lambda: create_consumer(settings.kafka_bootstrap))
        of_sensors.start()
        yield
        hub.close()
        await run_in_threadpool(of_sensors.stop)
        await run_in_threadpool(follower.stop)
        await run_in_threadpool(publisher.close)
        engine.dispose()

    return create_app(settings, streams, engine, metrics, progress, changes, hub, sensors, lifespan=lifespan)


class Server(uvicorn.Server):
    """uvicorn waits for every response before it stops; this server also ends the live streams, which never end."""

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Begin to stop; called as a signal handler, in the midst of whatever the event loop does."""
        app = self.config.app
        assert isinstance(app, FastAPI)  # noqa: S101 - `serve` gives it one
        with contextlib.suppress(RuntimeError):  # no loop runs yet, or any more
            asyncio.get_running_loop().call_soon_threadsafe(app.state.end_live_streams)
        # Not the base class's way, which raises the signal again at the end: a stop in order is no failure.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def serve(app: FastAPI, settings: AlertingSettings) -> None:
    """Serve until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app, settings.host, settings.port, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_S
    )
    Server(config).run()
