"""The alerting application, put together from its parts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from services.alerting.api.dead_letters import dead_letters_router
from services.alerting.api.descriptions import describe_all_bodies
from services.alerting.api.episodes import episodes_router
from services.alerting.api.live import live_router
from services.alerting.api.matches import matches_router
from services.alerting.api.queries import queries_router
from services.alerting.kafka.follower import Follower, Listeners
from services.alerting.kafka.follower_progress import Progress
from services.alerting.kafka.kafka_session import KafkaSession
from services.alerting.kafka.projection import Seed
from services.alerting.kafka.query_publisher import Publisher
from services.alerting.kafka.records import Topics
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics, RequestTimes
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.queries.query_documents import load_queries
from services.alerting.settings import Settings
from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.expiry import Expiry
from services.alerting.store.sequence import Stored, newest_sequence
from services.common.declared_streams import Streams, load_streams
from services.common.operations import operations_router
from services.common.problem import install_problem_handlers


def create_app(settings: Settings, registry: CollectorRegistry | None = None, topics: Topics | None = None) -> FastAPI:
    """Return the application; it connects to Kafka, and brings its database up to date, when it starts.

    `app.state.end_live_streams` ends the live streams, which would otherwise keep the server from stopping.

    Raises
    ------
    services.common.settings.SettingsError
        The declared streams or the queries to seed cannot be used.
    ValueError
        The database URL cannot be used.
    """
    parts = _assemble(settings, registry or CollectorRegistry(), topics or Topics())
    app = FastAPI(
        title="Coincide alerting",
        description="Queries, matches, episodes and dead letters; matches and episodes as a live stream.",
        version="1",
        lifespan=parts.lifespan,
        # The pages of documentation that FastAPI brings load scripts from elsewhere; /openapi.json stays.
        docs_url=None,
        redoc_url=None,
    )
    install_problem_handlers(app)
    app.add_middleware(RequestTimes, metrics=parts.metrics)
    app.include_router(matches_router(parts.engine, settings))
    app.include_router(episodes_router(parts.engine, settings))
    app.include_router(dead_letters_router(parts.engine, settings))
    app.include_router(queries_router(parts.engine, parts.changes, parts.streams))
    app.include_router(live_router(parts.engine, parts.hub, parts.metrics, settings))
    app.include_router(operations_router(parts.metrics.registry, parts.progress.not_ready_because))
    describe_all_bodies(app)
    app.state.end_live_streams = parts.hub.close
    return app


@dataclass(frozen=True)
class _Parts:
    streams: Streams
    engine: Engine
    metrics: Metrics
    progress: Progress
    hub: LiveHub
    publisher: Publisher
    changes: QueryChanges
    make_follower: Callable[[Listeners], Follower]

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(migrate, self.engine)
        with self.engine.connect() as connection:
            self.hub.newest_sequence = newest_sequence(connection)
        follower = self.make_follower(self._listeners(asyncio.get_running_loop()))
        follower.start()
        yield
        self.hub.close()
        await run_in_threadpool(follower.stop)
        await run_in_threadpool(self.publisher.close)
        self.engine.dispose()

    def _listeners(self, loop: asyncio.AbstractEventLoop) -> Listeners:
        def stored(told: Sequence[Stored]) -> None:
            loop.call_soon_threadsafe(self.hub.publish, told)

        def queries_offset(offset: int) -> None:
            loop.call_soon_threadsafe(self.progress.reached, offset)

        return Listeners(stored, queries_offset)


def _assemble(settings: Settings, registry: CollectorRegistry, topics: Topics) -> _Parts:
    streams = load_streams(settings.streams_path)
    queries = load_queries(settings.queries_path, streams)
    engine = open_engine(settings.database_url)
    metrics = Metrics(registry)
    progress = Progress(settings.kafka_silence_s)
    publisher = Publisher(settings.kafka_bootstrap, topics.queries, settings.kafka_timeout_s)
    changes = QueryChanges(
        engine,
        publisher,
        progress,
        metrics,
        timeout_s=settings.kafka_timeout_s,
        queries_max=settings.queries_max,
    )
    kept_s = (settings.matches_kept_s, settings.dead_letters_kept_s)
    expiry = Expiry(engine, metrics, kept_s, settings.retention_chunk_rows, settings.retention_every_s)
    seed = Seed(queries, publisher, engine)

    def connect() -> KafkaSession:
        return KafkaSession(settings.kafka_bootstrap, settings.kafka_group, topics.names(), settings.batch_records)

    def make_follower(listeners: Listeners) -> Follower:
        return Follower(connect, engine, topics, metrics, progress, expiry, listeners, seed)

    hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches)
    return _Parts(streams, engine, metrics, progress, hub, publisher, changes, make_follower)
