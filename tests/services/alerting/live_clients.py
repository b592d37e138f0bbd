"""A live stream and its readers, without a network in between."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from sqlalchemy import Engine
from starlette.types import Message

from services.alerting.kafka.storing import Intake
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.store.sequence import Stored
from tests.services.alerting.records import Record, match_record

DEADLINE_S = 20.0

OpenLive = Callable[..., AbstractAsyncContextManager["Live"]]


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
    def __init__(self, engine: Engine, intake: Intake, metrics: Metrics, readers_max: int, queue_matches: int) -> None:
        self.hub = LiveHub(metrics, readers_max, queue_matches)
        self.metrics = metrics
        self._engine = engine
        self._intake = intake
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()

    def client(
        self,
        after: int | None = None,
        wanted: LiveFilter | None = None,
        heartbeat_s: float = 60.0,
        send_timeout_s: float = 60.0,
    ) -> Client:
        stream = LiveStream(
            wanted or LiveFilter(),
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

    def store(self, *ids: str, query: str = "q") -> list[Stored]:
        return self.store_records([match_record(id_, query=query) for id_ in ids])

    def store_records(self, records: list[Record]) -> list[Stored]:
        """Store and hand over, as the follower's thread does."""
        stored = self._intake.store(records, [])
        if stored:
            self._loop.call_soon_threadsafe(self.hub.publish, stored)
        return stored

    async def ended(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*self._tasks)

    def sample(self, name: str) -> float:
        return self.metrics.registry.get_sample_value(f"coincide_alerting_{name}") or 0.0


async def is_open(client: Client) -> Client:
    await client.until(lambda c: ": open" in c.text)
    return client


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - a metric is not an event
            await asyncio.sleep(0.01)


def ids(client: Client) -> list[str]:
    return [id_ for _, id_ in client.events]
