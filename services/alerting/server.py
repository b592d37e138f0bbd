"""The process: settings to a running server, with the thread that follows the log started and stopped in order."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from coincide.wire.sensor_health import HEALTH
from services.alerting.alerts.raising import OutboxLimits, Raising
from services.alerting.alerts.sensor_conditions import SensorConditions
from services.alerting.alerts.system_conditions import SystemConditions
from services.alerting.app import create_app
from services.alerting.following.follower import Follower, Pace
from services.alerting.following.handing_over import HandingOver, Listeners
from services.alerting.following.projection import DATABASE_LOST, Progress, Seed
from services.alerting.following.standby import Standby
from services.alerting.following.storing import Storage
from services.alerting.leadership.lease import Lease
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics
from services.alerting.queries.acts import Acts
from services.alerting.queries.edits import load_queries
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.receivers.sending import Telling
from services.alerting.records.receiver import Receivers, load_receivers
from services.alerting.records.records import TOPICS
from services.alerting.records.registered_sensors import SENSORS, RegisteredSensors
from services.alerting.settings import AlertingSettings
from services.alerting.store.alert_rows import StoredAlert
from services.alerting.store.database_file import DatabaseFile, refuse_damaged
from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.expiry import Expiry
from services.alerting.store.live_rows import StoredRow, newest_sequence
from services.common.access.asgi import Guarded
from services.common.access.component_access import ComponentAccess
from services.common.declared_streams import DeclaredStreams
from services.common.health_board import HealthFeed
from services.common.heavy_work import HeavyWork
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.log import Log
from services.common.program.asgi_server import AsgiServer
from services.common.settings import SettingsError, load_streams
from services.common.topics.compacted_topic import TopicFollower, TopicView
from services.common.topics.log_clients import LogClients

GRACE_S = 5
LOST = os.EX_IOERR  # exit status 74: whoever supervises the process starts it anew, and it fills a new database

logger = logging.getLogger(__name__)


def build_app(settings: AlertingSettings, log: Log | None = None, heavy: HeavyWork | None = None) -> Guarded:
    """Return the application on a log, which whoever gives it closes; on Kafka, where none is given.

    What is `heavy` is done in a thread, unless something else is given.

    A `SettingsError` or `ValueError` says what is wrong.
    """
    streams = DeclaredStreams(load_streams(settings.streams_path), follows=True)
    queries = load_queries(settings.queries_path, streams)
    engine = open_engine(settings.database_url)
    refuse_damaged(engine)
    file = DatabaseFile(engine)
    metrics = Metrics(CollectorRegistry())
    metrics.database_lost_at.set(file.lost_at_s())  # whoever noticed ended within a second: nobody may have asked it
    own_log = None
    if log is None:
        log = own_log = KafkaLog(settings.kafka, settings.topic_names, timeout_s=settings.kafka_timeout_s)
    clients = LogClients(log, settings.topic_names)
    access = ComponentAccess("alerting", settings, metrics.registry, clients=clients)
    progress = Progress(
        settings.kafka_silence_s,
        log.name,
        streams_are_known=lambda: streams.is_caught_up,
        database_is_lost=file.is_lost,
    )
    records = clients.records(settings.kafka_timeout_s)
    changes = QueryChanges(
        engine,
        records,
        progress,
        metrics,
        access.audit,
        timeout_s=settings.kafka_timeout_s,
        queries_max=settings.queries_max,
    )
    hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches, settings.live_replays_max)
    receivers = Receivers(load_receivers(settings.receivers_path))
    sensors, heard = RegisteredSensors(), HealthFeed()
    views: dict[str, TopicView] = {SENSORS: sensors, HEALTH: heard, TOPICS.queries: streams}
    topics = [TopicFollower(settings.topic_names.full(name), view, clients.reader) for name, view in views.items()]

    def log_answers() -> bool:
        return all(each.log_answers for each in topics)

    lease = Lease(engine)
    follow = _follows(
        settings,
        log,
        lease,
        metrics,
        progress,
        Seed(queries, records, access.audit, engine),
        Raising(receivers, OutboxLimits(settings.deliver_within_s, settings.outbox_max)),
        SystemConditions(settings.condition_limits, SensorConditions(sensors, heard, settings.sensor_limits)),
    )
    metrics.writes.set_function(lambda: lease.term is not None)
    telling = Telling(settings, engine, receivers, records, metrics, lease)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(migrate, engine)
        file.opened()
        with engine.connect() as connection:
            hub.newest_sequence = newest_sequence(connection)
        handing_over = HandingOver(engine, _listeners(hub, progress, telling), hub.newest_sequence)
        follower = follow(
            Standby(engine, handing_over, receivers, progress, metrics, log_answers, settings.topic_names, log.name)
        )
        begun: list[Lease | Follower | TopicFollower | ComponentAccess] = [lease, follower, *topics, access]
        for each in begun:
            each.start()
        yield
        hub.close()
        ended: list[Lease | Follower | TopicFollower | ComponentAccess | Telling]
        ended = [access, *topics, follower, telling, lease]  # who writes and tells ends before another may
        for stop in [each.stop for each in ended]:
            await run_in_threadpool(stop)
        if own_log is not None:
            await run_in_threadpool(own_log.close)
        engine.dispose()

    app = create_app(
        settings,
        streams,
        engine,
        metrics,
        progress,
        changes,
        hub,
        sensors,
        receivers=receivers,
        acts=Acts(records, progress, access.audit, settings.kafka_timeout_s),
        access=access,
        heavy=heavy,
        writes=lambda: lease.term is not None,
        lifespan=lifespan,
    )
    app.state.database_file = file
    return Guarded(app, access.guard, settings.max_open_per_peer)


def _follows(
    settings: AlertingSettings,
    log: Log,
    lease: Lease,
    metrics: Metrics,
    progress: Progress,
    seed: Seed,
    raising: Raising,
    conditions: SystemConditions,
) -> Callable[[Standby], Follower]:
    """Return what makes the thread that follows the log and writes the database, or stands by."""
    names = settings.topic_names
    retention = settings.room, settings.retention_chunk_rows, settings.retention_every_s
    expiry = Expiry(lease.writer, metrics, settings.kept_s, *retention)
    storage = Storage(lease.writer, metrics, names, raising, conditions)

    connect = partial(log.reader, settings.batch_records, group=settings.group)
    pace = Pace(settings.transactions_per_s)

    def follower(standby: Standby) -> Follower:
        return Follower(connect, lease, metrics, progress, expiry, standby, seed, storage, pace=pace, log_name=log.name)

    return follower


def _listeners(hub: LiveHub, progress: Progress, telling: Telling) -> Listeners:
    """Return who hears, on the loop that runs now, of what the follower has stored."""
    soon = asyncio.get_running_loop().call_soon_threadsafe

    def stored(rows: Sequence[StoredRow]) -> None:
        soon(hub.publish, rows)
        if any(isinstance(each, StoredAlert) for each in rows):
            telling.wake()

    def reached(topic: str, next_offset: int) -> None:
        soon(progress.reached, topic, next_offset)
        if topic == TOPICS.alert_controls:
            telling.wake()

    return Listeners(stored, reached, telling.begin, telling.pause)


class AlertingServer(AsgiServer):
    """uvicorn waits for every response before it stops; this server also ends the live streams, which never end.

    It stops, too, with the exit status `LOST`, when the database's file is lost.
    """

    def __init__(self, app: Guarded, settings: AlertingSettings) -> None:
        super().__init__(app, settings, timeout_graceful_shutdown=GRACE_S)
        assert isinstance(app.application, FastAPI)  # noqa: S101 - `build_app` does
        self._parts = app.application.state
        self.when_stopping = self._parts.end_live_streams

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, whether to stop."""
        if not self.should_exit and self._parts.database_file.is_lost():
            logger.error(DATABASE_LOST)
            self._parts.database_file.note_loss()
            self.should_exit, self.status = True, LOST
        return await super().on_tick(counter)


def build_server(settings: AlertingSettings) -> AlertingServer:
    """Return the server; raises SettingsError."""
    try:
        return AlertingServer(build_app(settings), settings)
    except (SQLAlchemyError, ValueError, OSError) as error:
        raise SettingsError(str(error)) from error
