"""Clients of alerting without a network in between: of its API, with a list for Kafka, and of its live stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry
from starlette.types import Message

from coincide import Stream
from services.alerting.app import create_app
from services.alerting.following.projection import Progress
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import LiveFilter, LiveHub
from services.alerting.queries.acts import Acts
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.settings import AlertingSettings
from services.alerting.store.live_rows import StoredRow
from services.common.access.component_access import ComponentAccess, trust_context
from services.common.http.shares import NoPlaceError
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.faults import LogError
from services.common.log.records import Record
from services.common.topics.record_publisher import RecordPublisher
from tests.services.alerting.sample_records import NAMES, RECEIVED_AT_MS, Database, match_record
from tests.services.kept_records import KeptRecords

STREAMS = {name: Stream(name) for name in ("seismic", "acoustic")}
SETTINGS = AlertingSettings(page_items=3, page_items_max=50, queries_max=3)


class ListPublisher(RecordPublisher):
    """Kafka as a list of what was published: `is_away` acknowledges nothing, without `is_read` nobody reads it."""

    loop: asyncio.AbstractEventLoop

    def __init__(self, database: Database, progress: Progress) -> None:
        super().__init__(KafkaLog(KafkaConnection(servers="nowhere:1")), 1.0, NAMES)
        self._database = database
        self._progress = progress
        self.topic: list[Record] = []
        self.is_away = False
        self.is_read = True

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        if self.is_away:
            raise LogError("not acknowledged")
        offset = len(self.topic)
        self.topic.append(Record(NAMES.full(topic), 0, offset, RECEIVED_AT_MS, key, value))
        if self.is_read:
            self._database.store(self.topic[-1:])
            self.loop.call_soon_threadsafe(self._progress.reached, topic, offset + 1)
        return offset


@dataclass
class Api:
    """The API over a database, its Kafka, and a client."""

    client: TestClient
    kafka: ListPublisher
    progress: Progress
    database: Database
    sensors: RegisteredSensors
    access: ComponentAccess
    records: KeptRecords

    def store(self, *records: Record) -> list[StoredRow]:
        """Store `records` as the follower does."""
        return self.database.store(records)

    def items(self, path: str, **filters: str) -> list[dict[str, Any]]:
        """Return the items of one page."""
        return list(self.client.get(path, params=filters).json()["items"])

    def pages(self, path: str, **filters: str) -> Iterator[list[dict[str, Any]]]:
        """Return the items of each page, read when the one before was used."""
        page = self.client.get(path, params=filters).json()
        yield page["items"]
        while page["next_cursor"] is not None:
            page = self.client.get(path, params={**filters, "cursor": page["next_cursor"]}).json()
            yield page["items"]


#: To read the certificates that this machine trusts is a seventh of making an app, of which hundreds are made.
trust_context_once = cache(trust_context)


@contextmanager
def running_api(database: Database, settings: AlertingSettings = SETTINGS) -> Iterator[Api]:
    """Run the API; Kafka answers and the queries have caught up."""
    progress = Progress(silence_s=60.0)
    progress.heard()
    progress.caught_up()
    kafka = ListPublisher(database, progress)
    engine, metrics = database.engine, database.metrics
    records = KeptRecords()
    access = ComponentAccess("alerting", SETTINGS, CollectorRegistry(), publisher=records)
    records.follow_with(access.ring)
    changes = QueryChanges(engine, kafka, progress, metrics, access.audit, 0.2, SETTINGS.queries_max)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        kafka.loop = asyncio.get_running_loop()
        yield

    hub = LiveHub(metrics, SETTINGS.live_readers_max, SETTINGS.live_queue_matches)
    sensors = RegisteredSensors()
    acts = Acts(kafka, progress, access.audit, 0.2)
    receivers = database.receivers
    parts = settings, STREAMS, engine, metrics, progress, changes, hub, sensors
    with patch("services.alerting.api.history_proxy.trust_context", trust_context_once):
        app = create_app(*parts, receivers=receivers, acts=acts, access=access, lifespan=lifespan)
    with TestClient(app) as client:
        yield Api(client, kafka, progress, database, sensors, access, records)


DEADLINE_S = 60.0


class Event(NamedTuple):
    """A server-sent event; `id` is None where it leaves the reader's last id as it is."""

    kind: str
    id: int | None
    data: dict[str, Any]


class Client:
    """What a browser does with a live stream, without a network in between; `all_events` has those that came whole."""

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream
        self._left, self.reads = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self.text, self._cut_off = "", ""
        self.all_events: list[Event] = []
        self.status = 0
        self.completed = False
        self._arrived = asyncio.Condition()

    async def run(self) -> None:
        try:
            await self._stream({"type": "http", "method": "GET"}, self._receive, self._send)
        except NoPlaceError as why:  # an application answers it
            await self._send({"type": "http.response.start", "status": why.status})
            await self._send({"type": "http.response.body"})

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        async with self._arrived:
            self.status = message.get("status", self.status)
            self._take(bytes(message.get("body", b"")).decode())
            self.completed = message["type"] == "http.response.body" and not message.get("more_body", False)
            self._arrived.notify_all()

    def _take(self, text: str) -> None:
        self.text += text
        *blocks, self._cut_off = (self._cut_off + text).split("\n\n")
        for block in blocks:
            lines = (line.partition(": ") for line in block.splitlines())
            fields = {name: value for name, _, value in lines if name}
            if "data" in fields:
                id_ = int(fields["id"]) if "id" in fields else None
                self.all_events.append(Event(fields["event"], id_, json.loads(fields["data"])))

    async def until(self, condition: Callable[["Client"], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S), self._arrived:
            await self._arrived.wait_for(lambda: condition(self))

    def leave(self) -> None:
        self._left.set()

    @property
    def ids(self) -> list[str]:
        """The id of each event of type `match`."""
        return [event.data["id"] for event in self.all_events if event.kind == "match"]

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(event.kind, event.data["id"]) for event in self.all_events]


class Live:
    """A live stream over a database: what is stored is handed to its hub as the follower's thread does."""

    def __init__(self, database: Database, hub: LiveHub) -> None:
        self.database = database
        self.hub = hub
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()

    def client(self, after: int | None = None, filter_: LiveFilter | None = None, **limits_s: float) -> Client:
        limits_s = {"heartbeat_s": 60.0, "send_timeout_s": 60.0, **limits_s}
        engine, metrics = self.database.engine, self.database.metrics
        client = Client(LiveStream(filter_ or LiveFilter(), after, self.hub, engine, metrics, **limits_s))
        self._tasks.append(asyncio.create_task(client.run()))
        return client

    def store(self, *records: Record | str, query: str = "q") -> list[StoredRow]:
        """Store records, or matches with these ids, and hand over, as the follower's thread does."""
        stored = self.database.store([match_record(e, query=query) if isinstance(e, str) else e for e in records])
        if stored:
            self._loop.call_soon_threadsafe(self.hub.publish, stored)
        return stored

    async def ended(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*self._tasks)


async def is_open(client: Client) -> Client:
    await client.until(lambda c: ": open" in c.text)
    return client


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - a metric is not an event
            await asyncio.sleep(0.01)


def applied(events: list[Event], view: dict[str, Any], last_id: int) -> int:
    """Do to `view` what the events say, as a page does; return the reader's last id."""
    for event in events:
        if event.kind in ("match", "episode"):
            view[event.data["id"]] = event.data
        else:
            view.pop(event.data["id"], None)
        last_id = last_id if event.id is None else event.id
    return last_id
