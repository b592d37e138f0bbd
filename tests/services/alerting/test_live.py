import asyncio
import random
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from sqlalchemy import Engine
from starlette.types import Message

from services.alerting.intake import Intake
from services.alerting.live import LiveFilter, LiveHub
from services.alerting.live_stream import LiveStream
from services.alerting.metrics import Metrics
from services.alerting.store.match_rows import StoredMatch
from tests.services.alerting.records import match_record

DEADLINE_S = 20.0

OpenLive = Callable[..., AbstractAsyncContextManager["Live"]]


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
        """Sequence and match id of each event."""
        blocks = [dict(_fields(block)) for block in self.text.split("\n\n")]
        return [(int(block["id"]), _match_id(block["data"])) for block in blocks if "data" in block]


def _fields(block: str) -> list[tuple[str, str]]:
    lines = [line.partition(": ") for line in block.splitlines()]
    return [(name, value) for name, _, value in lines if name]


def _match_id(body: str) -> str:
    return body.partition('"id": "')[2].partition('"')[0]


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

    def store(self, *ids: str, query: str = "q") -> list[StoredMatch]:
        """Store and hand over, as the follower's thread does."""
        stored = self._intake.store([match_record(id_, query=query) for id_ in ids], [])
        self._loop.call_soon_threadsafe(self.hub.publish, stored)
        return stored

    async def ended(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*self._tasks)

    def sample(self, name: str) -> float:
        return self.metrics.registry.get_sample_value(f"coincide_alerting_{name}") or 0.0


@pytest.fixture
def live(engine: Engine, intake: Intake, metrics: Metrics) -> OpenLive:
    @asynccontextmanager
    async def open_live(readers_max: int = 100, queue_matches: int = 10_000) -> AsyncIterator[Live]:
        opened = Live(engine, intake, metrics, readers_max, queue_matches)
        yield opened
        opened.hub.close()
        await opened.ended()

    return open_live


async def is_open(client: Client) -> Client:
    await client.until(lambda c: ": open" in c.text)
    return client


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - a metric is not an event
            await asyncio.sleep(0.01)


def ids(client: Client) -> list[str]:
    return [id_ for _, id_ in client.events]


def test_without_a_last_id_the_stream_begins_now(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            before = opened.store("m-1")
            await asyncio.sleep(0)
            client = await is_open(opened.client())
            assert f"id: {before[-1].sequence}\n" in client.text  # reconnecting before the first event misses none
            opened.store("m-2", "m-3")
            await client.until(lambda c: len(c.events) == 2)
            assert ids(client) == ["m-2", "m-3"]

    asyncio.run(steps())


def test_with_a_last_id_the_stream_begins_after_it(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            stored = opened.store(*(f"m-{n}" for n in range(1200)))  # more than two pages of catching up
            client = opened.client(after=stored[99].sequence)
            await client.until(lambda c: len(c.events) == 1100)
            opened.store("m-last")
            await client.until(lambda c: len(c.events) == 1101)
            assert ids(client) == [f"m-{n}" for n in range(100, 1200)] + ["m-last"]

    asyncio.run(steps())


def test_a_last_id_of_another_database_brings_everything(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            newest = opened.store("m-1", "m-2")[-1].sequence
            client = opened.client(after=newest + 1000)
            await client.until(lambda c: len(c.events) == 2)

    asyncio.run(steps())


def test_filters_hold_before_and_after_the_hand_over(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            opened.store("m-1", query="p")
            opened.store("m-2", query="q")
            client = opened.client(after=0, wanted=LiveFilter(query="p"))
            await client.until(lambda c: len(c.events) == 1)
            opened.store("m-3", query="q")
            opened.store("m-4", query="p")
            await client.until(lambda c: len(c.events) == 2)
            assert ids(client) == ["m-1", "m-4"]
            nobody = await is_open(opened.client(wanted=LiveFilter(area="elsewhere")))
            opened.store("m-5")
            assert nobody.events == []

    asyncio.run(steps())


def test_no_gap_and_nothing_twice_whenever_a_reader_comes(live: OpenLive) -> None:
    """A writer never rests while readers join from random places: each gets every match after its place, once."""

    async def steps() -> None:
        chance = random.Random(3)
        async with live() as opened:
            sequences: list[int] = []
            writing = threading.Event()

            def write() -> None:
                for batch in range(150):
                    stored = opened.store(*(f"m-{batch}-{n}" for n in range(1 + batch % 7)))
                    sequences.extend(match.sequence for match in stored)
                    if batch == 20:
                        writing.set()

            writer = asyncio.create_task(asyncio.to_thread(write))
            await asyncio.to_thread(writing.wait)
            clients: list[tuple[int, Client]] = []
            while not writer.done() and len(clients) < 80:  # readers_max refuses the hundred and first
                after = chance.choice([0, *sequences])
                clients.append((after, opened.client(after=after)))
                await asyncio.sleep(chance.random() / 50)
            await writer
            assert len(clients) > 5
            for after, client in clients:
                expected = [sequence for sequence in sequences if sequence > after]
                await client.until(lambda c: (c.events[-1:] and c.events[-1][0] >= sequences[-1]) or not expected)  # noqa: B023
                assert [sequence for sequence, _ in client.events] == expected

    asyncio.run(steps())


def test_a_slow_reader_is_dropped_and_not_waited_for(live: OpenLive) -> None:
    async def steps() -> None:
        async with live(queue_matches=5) as opened:
            slow, quick = await is_open(opened.client()), await is_open(opened.client())
            slow.reads.clear()
            for n in range(20):
                opened.store(f"m-{n}")
                await quick.until(lambda c: len(c.events) == n + 1)  # noqa: B023
            await eventually(lambda: opened.sample("live_readers") == 1)
            assert opened.sample("live_readers_dropped_total") == 1
            again = opened.client(after=slow.events[-1][0] if slow.events else 0)
            await again.until(lambda c: len(slow.events) + len(c.events) == 20)

    asyncio.run(steps())


def test_a_reader_who_takes_nothing_is_dropped_while_catching_up(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            opened.store("m-1")
            stuck = opened.client(after=0, send_timeout_s=0.05)
            await stuck.until(lambda c: c.status == 200)
            stuck.reads.clear()
            async with asyncio.timeout(DEADLINE_S):
                while opened.sample("live_readers_dropped_total") < 1:
                    opened.store(f"m-{random.random()}")
                    await asyncio.sleep(0.01)

    asyncio.run(steps())


def test_a_quiet_stream_is_kept_open_by_comments(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            client = opened.client(heartbeat_s=0.02)
            await client.until(lambda c: c.text.count(": quiet\n\n") >= 2)
            assert client.events == []

    asyncio.run(steps())


def test_there_are_only_so_many_readers(live: OpenLive) -> None:
    async def steps() -> None:
        async with live(readers_max=1) as opened:
            first = await is_open(opened.client())
            second = opened.client()
            await second.until(lambda c: c.completed)
            assert second.status == 503
            first.leave()
            await eventually(lambda: opened.sample("live_readers") == 0)
            await is_open(opened.client())

    asyncio.run(steps())


def test_streams_end_whole_when_the_service_stops(live: OpenLive) -> None:
    async def steps() -> None:
        async with live() as opened:
            opened.store("m-1")
            catching_up, following = opened.client(after=0), await is_open(opened.client())
            await catching_up.until(lambda c: len(c.events) == 1)
            opened.store("m-2")
            await asyncio.sleep(0)
            opened.hub.close()
            for client in (catching_up, following):
                await client.until(lambda c: c.completed)
                assert ids(client)[-1] == "m-2"
            late = opened.client()
            await late.until(lambda c: c.completed)

    asyncio.run(steps())
