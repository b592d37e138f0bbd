"""Clients of alerting without a network in between: of its API, with a list for Kafka, and of its live stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine
from starlette.types import Message

from coincide import Stream
from services.alerting.app import create_app
from services.alerting.kafka.follower_progress import Progress
from services.alerting.kafka.query_publisher import KafkaAwayError, QueryPublisher, encode
from services.alerting.kafka.records import QueryChange
from services.alerting.kafka.storing import Storage
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.settings import Settings
from services.alerting.store.sequence import StoredRow
from tests.services.alerting.records import RECEIVED_AT_MS, TOPICS, Record, counted, match_record

STREAMS = {name: Stream(name) for name in ("seismic", "acoustic")}
SETTINGS = Settings(page_items=3, page_items_max=50, queries_max=3)


class ListPublisher(QueryPublisher):
    """Kafka's queries topic as a list: `is_away` acknowledges nothing, without `is_read` the follower lags behind."""

    loop: asyncio.AbstractEventLoop

    def __init__(self, storage: Storage, progress: Progress) -> None:
        super().__init__("nowhere:1", 1.0)
        self._storage = storage
        self._progress = progress
        self.topic: list[Record] = []
        self.is_away = False
        self.is_read = True

    def publish(self, change: QueryChange) -> int:
        if self.is_away:
            raise KafkaAwayError("not acknowledged")
        offset = len(self.topic)
        self.topic.append(Record(TOPICS.queries, 0, offset, RECEIVED_AT_MS, change.id.encode(), encode(change)))
        if self.is_read:
            self._storage.store(self.topic[-1:], [])
            self.loop.call_soon_threadsafe(self._progress.reached, offset + 1)
        return offset


@dataclass
class Api:
    """The API over a database, its Kafka, and a client."""

    client: TestClient
    kafka: ListPublisher
    progress: Progress
    storage: Storage

    def store(self, *records: Record) -> list[StoredRow]:
        """Store `records` as the follower does."""
        return self.storage.store(records, [])

    def items(self, path: str, **filters: str) -> list[dict[str, Any]]:
        """Return the items of one page."""
        items: list[dict[str, Any]] = self.client.get(path, params=filters).json()["items"]
        return items


@contextmanager
def running_api(engine: Engine, storage: Storage, metrics: Metrics) -> Iterator[Api]:
    """Run the API; Kafka answers and the queries have caught up."""
    progress = Progress(silence_s=60.0)
    progress.heard()
    progress.caught_up()
    kafka = ListPublisher(storage, progress)
    changes = QueryChanges(engine, kafka, progress, metrics, timeout_s=0.2, queries_max=SETTINGS.queries_max)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        kafka.loop = asyncio.get_running_loop()
        yield

    hub = LiveHub(metrics, SETTINGS.live_readers_max, SETTINGS.live_queue_matches)
    app = create_app(SETTINGS, STREAMS, engine, metrics, progress, changes, hub, lifespan=lifespan)
    with TestClient(app) as client:
        yield Api(client, kafka, progress, storage)


DEADLINE_S = 20.0


class Event(NamedTuple):
    """A server-sent event; `id` is None where it leaves the reader's last id as it is."""

    kind: str
    id: int | None
    data: dict[str, Any]


class Client:
    """What a browser does with a live stream, without a network in between."""

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream
        self._left = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.text = ""
        self.status = 0
        self.completed = False
        self._arrived = asyncio.Condition()

    async def run(self) -> None:
        await self._stream({"type": "http", "method": "GET"}, self._receive, self._send)

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        async with self._arrived:
            self.status = message.get("status", self.status)
            self.text += bytes(message.get("body", b"")).decode()
            self.completed = message["type"] == "http.response.body" and not message.get("more_body", False)
            self._arrived.notify_all()

    async def until(self, condition: Callable[["Client"], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S), self._arrived:
            await self._arrived.wait_for(lambda: condition(self))

    def leave(self) -> None:
        self._left.set()

    @property
    def events(self) -> list[tuple[int, str]]:
        """Sequence and match id of each event of type `match`."""
        return [(event.id or 0, event.data["id"]) for event in self.all_events if event.kind == "match"]

    @property
    def all_events(self) -> list[Event]:
        """Every event that has arrived whole."""
        blocks = [dict(_fields(block)) for block in self.text.split("\n\n")[:-1]]
        return [
            Event(block["event"], int(block["id"]) if "id" in block else None, json.loads(block["data"]))
            for block in blocks
            if "data" in block
        ]


def _fields(block: str) -> list[tuple[str, str]]:
    lines = [line.partition(": ") for line in block.splitlines()]
    return [(name, value) for name, _, value in lines if name]


class Live:
    def __init__(
        self, engine: Engine, storage: Storage, metrics: Metrics, readers_max: int, queue_matches: int
    ) -> None:
        self.hub = LiveHub(metrics, readers_max, queue_matches)
        self.metrics = metrics
        self._engine = engine
        self._storage = storage
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()

    def client(
        self,
        after: int | None = None,
        filter_: LiveFilter | None = None,
        heartbeat_s: float = 60.0,
        send_timeout_s: float = 60.0,
    ) -> Client:
        stream = LiveStream(
            filter_ or LiveFilter(),
            after,
            self.hub,
            self._engine,
            self.metrics,
            heartbeat_s=heartbeat_s,
            send_timeout_s=send_timeout_s,
        )
        client = Client(stream)
        self._tasks.append(asyncio.create_task(client.run()))
        return client

    def store(self, *ids: str, query: str = "q") -> list[StoredRow]:
        return self.store_records([match_record(id_, query=query) for id_ in ids])

    def store_records(self, records: list[Record]) -> list[StoredRow]:
        """Store and hand over, as the follower's thread does."""
        stored = self._storage.store(records, [])
        if stored:
            self._loop.call_soon_threadsafe(self.hub.publish, stored)
        return stored

    async def ended(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*self._tasks)

    def sample(self, name: str) -> float:
        return counted(self.metrics, name)


async def is_open(client: Client) -> Client:
    await client.until(lambda c: ": open" in c.text)
    return client


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - a metric is not an event
            await asyncio.sleep(0.01)


def ids(client: Client) -> list[str]:
    return [id_ for _, id_ in client.events]


def said(client: Client) -> list[tuple[str, str]]:
    return [(event.kind, event.data["id"]) for event in client.all_events]
