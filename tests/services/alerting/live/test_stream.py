import asyncio
import random
import threading

import pytest

from services.alerting.live.hub import LiveFilter
from tests.services.alerting.clients import DEADLINE_S, Client, Live, eventually, ids, is_open

pytestmark = pytest.mark.anyio


async def test_without_a_last_id_the_stream_begins_now(live: Live) -> None:
    before = live.store("m-1")
    await asyncio.sleep(0)
    client = await is_open(live.client())
    assert f"id: {before[-1].sequence}\n" in client.text  # reconnecting before the first event misses none
    live.store("m-2", "m-3")
    await client.until(lambda c: len(c.events) == 2)
    assert ids(client) == ["m-2", "m-3"]


async def test_with_a_last_id_the_stream_begins_after_it(live: Live) -> None:
    stored = live.store(*(f"m-{n}" for n in range(1200)))  # more than two pages of catching up
    client = live.client(after=stored[99].sequence)
    await client.until(lambda c: len(c.events) == 1100)
    live.store("m-last")
    await client.until(lambda c: len(c.events) == 1101)
    assert ids(client) == [f"m-{n}" for n in range(100, 1200)] + ["m-last"]


async def test_a_last_id_of_another_database_brings_everything(live: Live) -> None:
    newest = live.store("m-1", "m-2")[-1].sequence
    client = live.client(after=newest + 1000)
    await client.until(lambda c: len(c.events) == 2)


async def test_filters_hold_before_and_after_the_hand_over(live: Live) -> None:
    live.store("m-1", query="p")
    live.store("m-2", query="q")
    client = live.client(after=0, filter_=LiveFilter(query="p"))
    await client.until(lambda c: len(c.events) == 1)
    live.store("m-3", query="q")
    live.store("m-4", query="p")
    await client.until(lambda c: len(c.events) == 2)
    assert ids(client) == ["m-1", "m-4"]
    nobody = await is_open(live.client(filter_=LiveFilter(area="elsewhere")))
    live.store("m-5")
    assert nobody.events == []


async def test_no_gap_and_nothing_twice_whenever_a_reader_comes(live: Live) -> None:
    """A writer never rests while readers join from random places: each gets every match after its place, once."""
    chance = random.Random(3)
    sequences: list[int] = []
    writing = threading.Event()

    def write() -> None:
        for batch in range(150):
            stored = live.store(*(f"m-{batch}-{n}" for n in range(1 + batch % 7)))
            sequences.extend(match.sequence for match in stored)
            if batch == 20:
                writing.set()

    writer = asyncio.create_task(asyncio.to_thread(write))
    await asyncio.to_thread(writing.wait)
    clients: list[tuple[int, Client]] = []
    while not writer.done() and len(clients) < 80:  # readers_max refuses the hundred and first
        after = chance.choice([0, *sequences])
        clients.append((after, live.client(after=after)))
        await asyncio.sleep(chance.random() / 50)
    await writer
    assert len(clients) > 5
    for after, client in clients:
        expected = [sequence for sequence in sequences if sequence > after]
        await client.until(lambda c: (c.events[-1:] and c.events[-1][0] >= sequences[-1]) or not expected)  # noqa: B023
        assert [sequence for sequence, _ in client.events] == expected


@pytest.mark.parametrize("live", [{"queue_matches": 5}], indirect=True)
async def test_a_slow_reader_is_dropped_and_not_waited_for(live: Live) -> None:
    slow, quick = await is_open(live.client()), await is_open(live.client())
    slow.reads.clear()
    for n in range(20):
        live.store(f"m-{n}")
        await quick.until(lambda c: len(c.events) == n + 1)  # noqa: B023
    await eventually(lambda: live.sample("live_readers") == 1)
    assert live.sample("live_readers_dropped_total") == 1
    again = live.client(after=slow.events[-1][0] if slow.events else 0)
    await again.until(lambda c: len(slow.events) + len(c.events) == 20)


async def test_a_reader_who_takes_nothing_is_dropped_while_catching_up(live: Live) -> None:
    live.store("m-1")
    stuck = live.client(after=0, send_timeout_s=0.05)
    await stuck.until(lambda c: c.status == 200)
    stuck.reads.clear()
    async with asyncio.timeout(DEADLINE_S):
        while live.sample("live_readers_dropped_total") < 1:
            live.store(f"m-{random.random()}")
            await asyncio.sleep(0.01)


async def test_a_quiet_stream_is_kept_open_by_comments(live: Live) -> None:
    client = live.client(heartbeat_s=0.02)
    await client.until(lambda c: c.text.count(": quiet\n\n") >= 2)
    assert client.events == []


@pytest.mark.parametrize("live", [{"readers_max": 1}], indirect=True)
async def test_there_are_only_so_many_readers(live: Live) -> None:
    first = await is_open(live.client())
    second = live.client()
    await second.until(lambda c: c.completed)
    assert second.status == 503
    first.leave()
    await eventually(lambda: live.sample("live_readers") == 0)
    await is_open(live.client())


async def test_streams_end_whole_when_the_service_stops(live: Live) -> None:
    live.store("m-1")
    catching_up, following = live.client(after=0), await is_open(live.client())
    await catching_up.until(lambda c: len(c.events) == 1)
    live.store("m-2")
    await asyncio.sleep(0)
    live.hub.close()
    for client in (catching_up, following):
        await client.until(lambda c: c.completed)
        assert ids(client)[-1] == "m-2"
    late = live.client()
    await late.until(lambda c: c.completed)
