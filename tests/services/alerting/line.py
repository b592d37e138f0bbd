"""The alerting API over a database, with a list for Kafka: what is published is stored at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import Engine

from coincide import Stream
from services.alerting.api.dead_letters import dead_letters_router
from services.alerting.api.descriptions import describe_all_bodies
from services.alerting.api.episodes import episodes_router
from services.alerting.api.matches import matches_router
from services.alerting.api.queries import queries_router
from services.alerting.kafka.follower_progress import Progress
from services.alerting.kafka.query_publisher import KafkaAwayError, Publisher, encode
from services.alerting.kafka.records import QueryChange
from services.alerting.kafka.storing import Intake
from services.alerting.metrics import Metrics
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.settings import Settings
from services.common.declared_streams import Streams
from services.common.problem import install_problem_handlers
from tests.services.alerting.records import RECEIVED_AT_MS, TOPICS, Record

STREAMS = Streams({name: Stream(name) for name in ("seismic", "acoustic")})
SETTINGS = Settings(page_items=3, page_items_max=50, queries_max=3)


class ListPublisher(Publisher):
    """Kafka's queries topic as a list; `is_away` acknowledges nothing, `delivers` None lets the record get lost."""

    def __init__(self, intake: Intake, progress: Progress, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__("nowhere:1", TOPICS.queries, 1.0)
        self._intake = intake
        self._progress = progress
        self._loop = loop
        self.topic: list[Record] = []
        self.is_away = False
        self.is_read = True

    def publish(self, change: QueryChange) -> int:
        if self.is_away:
            raise KafkaAwayError("not acknowledged")
        offset = len(self.topic)
        self.topic.append(Record(TOPICS.queries, 0, offset, RECEIVED_AT_MS, change.id.encode(), encode(change)))
        if self.is_read:
            self._intake.store(self.topic[-1:], [])
            self._loop.call_soon_threadsafe(self._progress.reached, offset + 1)
        return offset


@dataclass
class Line:
    """The API, its Kafka, and a client."""

    client: AsyncClient
    kafka: ListPublisher
    progress: Progress
    app: FastAPI = field(repr=False)


@asynccontextmanager
async def line(engine: Engine, intake: Intake, metrics: Metrics) -> AsyncIterator[Line]:
    """Run the API; Kafka answers and the queries have caught up."""
    progress = Progress(silence_s=60.0)
    progress.heard()
    progress.caught_up()
    kafka = ListPublisher(intake, progress, asyncio.get_running_loop())
    changes = QueryChanges(engine, kafka, progress, metrics, timeout_s=0.2, queries_max=SETTINGS.queries_max)
    app = FastAPI()
    install_problem_handlers(app)
    app.include_router(matches_router(engine, SETTINGS))
    app.include_router(episodes_router(engine, SETTINGS))
    app.include_router(dead_letters_router(engine, SETTINGS))
    app.include_router(queries_router(engine, changes, STREAMS))
    describe_all_bodies(app)
    async with AsyncClient(transport=ASGITransport(app), base_url="http://alerting") as client:
        yield Line(client, kafka, progress, app)
