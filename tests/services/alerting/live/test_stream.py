import asyncio
import json
import random
import threading
from typing import Any

import pytest

from services.alerting.live.hub import LiveFilter
from services.alerting.store.match_rows import MatchFilter, read_newest_first
from services.common.log.records import Record
from tests.services.alerting.clients import DEADLINE_S, Client, Event, Live, applied, eventually, is_open
from tests.services.alerting.sample_records import episode_record, evidence, evidence_record, match_record

pytestmark = pytest.mark.anyio


async def test_without_a_last_id_the_stream_begins_now(live: Live) -> None:
    before = live.store("m-1")
    await asyncio.sleep(0)
    client = await is_open(live.client())
    assert f"id: {before[-1].sequence}\n" in client.text  # reconnecting before the first event misses none
    live.store("m-2", "m-3")
    await client.until(lambda c: len(c.ids) == 2)
    assert client.ids == ["m-2", "m-3"]


async def test_with_a_last_id_the_stream_begins_after_it(live: Live) -> None:
    stored = live.store(*(f"m-{n}" for n in range(1200)))  # more than two pages of catching up
    client = live.client(after=stored[99].sequence)
    await client.until(lambda c: len(c.ids) == 1100)
    live.store("m-last")
    await client.until(lambda c: len(c.ids) == 1101)
    assert client.ids == [f"m-{n}" for n in range(100, 1200)] + ["m-last"]


async def test_a_last_id_of_another_database_brings_everything(live: Live) -> None:
    newest = live.store("m-1", "m-2")[-1].sequence
    client = live.client(after=newest + 1000)
    await client.until(lambda c: len(c.ids) == 2)


async def test_filters_hold_before_and_after_the_hand_over(live: Live) -> None:
    live.store("m-1", query="p")
    live.store("m-2", query="q")
    client = live.client(after=0, filter_=LiveFilter(queries=("p",)))
    await client.until(lambda c: len(c.ids) == 1)
    live.store("m-3", query="q")
    live.store("m-4", query="p")
    await client.until(lambda c: len(c.ids) == 2)
    assert client.ids == ["m-1", "m-4"]
    nobody = await is_open(live.client(filter_=LiveFilter(area="elsewhere")))
    live.store("m-5")
    assert nobody.ids == []


async def test_a_reader_of_several_queries_gets_each_once_and_in_order(live: Live) -> None:
    kept = [live.store(f"m-{nth}", query="pqr"[nth % 3])[-1].sequence for nth in range(1_200)]
    client = live.client(after=kept[29], filter_=LiveFilter(queries=("r", "p")))
    expected = [f"m-{nth}" for nth in range(30, 1_200) if nth % 3 != 1]
    await client.until(lambda c: len(c.ids) == len(expected))
    live.store("m-of-q", query="q")
    live.store("m-of-r", query="r")
    await client.until(lambda c: len(c.ids) > len(expected))
    assert client.ids == [*expected, "m-of-r"]


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
        await client.until(lambda c: [e.id for e in c.all_events[-1:]] == expected[-1:])  # noqa: B023
        assert [event.id for event in client.all_events] == expected


@pytest.mark.parametrize("live", [{"queue_max": 5}], indirect=True)
async def test_a_slow_reader_is_dropped_and_not_waited_for(live: Live) -> None:
    slow, quick = await is_open(live.client()), await is_open(live.client())
    slow.reads.clear()
    for n in range(20):
        live.store(f"m-{n}")
        await quick.until(lambda c: len(c.ids) == n + 1)  # noqa: B023
    await eventually(lambda: live.database.count("live_readers") == 1)
    assert live.database.count("live_readers_dropped_total") == 1
    again = live.client(after=slow.all_events[-1].id if slow.all_events else 0)
    await again.until(lambda c: len(slow.ids) + len(c.ids) == 20)


async def test_a_reader_who_takes_nothing_is_dropped_while_catching_up(live: Live) -> None:
    live.store("m-1")
    stuck = live.client(after=0, send_timeout_s=0.05)
    await stuck.until(lambda c: c.status == 200)
    stuck.reads.clear()
    async with asyncio.timeout(DEADLINE_S):
        while live.database.count("live_readers_dropped_total") < 1:
            live.store(f"m-{random.random()}")
            await asyncio.sleep(0.01)


async def test_a_quiet_stream_is_kept_open_by_comments(live: Live) -> None:
    client = live.client(heartbeat_s=0.02)
    await client.until(lambda c: c.text.count(": quiet\n\n") >= 2)
    assert client.ids == []


@pytest.mark.parametrize("live", [{"readers_max": 1}], indirect=True)
async def test_there_are_only_so_many_readers(live: Live) -> None:
    first = await is_open(live.client())
    second = live.client()
    await second.until(lambda c: c.completed)
    assert second.status == 503
    first.leave()
    await eventually(lambda: live.database.count("live_readers") == 0)
    await is_open(live.client())


async def test_streams_end_whole_when_the_service_stops(live: Live) -> None:
    live.store("m-1")
    catching_up, following = live.client(after=0), await is_open(live.client())
    await catching_up.until(lambda c: len(c.ids) == 1)
    live.store("m-2")
    await asyncio.sleep(0)
    live.hub.close()
    for client in (catching_up, following):
        await client.until(lambda c: c.completed)
        assert client.ids[-1] == "m-2"
    late = live.client()
    await late.until(lambda c: c.completed)


async def test_a_superseded_match_is_taken_back_before_the_larger_one_comes(live: Live) -> None:
    client = await is_open(live.client())
    [pair] = live.store("m-2")
    [triple] = live.store(match_record("m-3", supersedes=["m-2", "m-1"]))
    await client.until(lambda c: len(c.ids) == 2)
    assert client.all_events[0].id == pair.sequence
    assert client.all_events[1:3] == [
        Event("superseded", None, {"id": id_, "superseded_by": "m-3"}) for id_ in sorted(["m-1", "m-2"])
    ]
    assert client.all_events[3][:2] == ("match", triple.sequence)


async def test_what_comes_after_it_was_superseded_is_not_shown_unless_asked_for(live: Live) -> None:
    usual = await is_open(live.client())
    everything = await is_open(live.client(filter_=LiveFilter(with_superseded=True)))
    live.store(match_record("m-3", supersedes=["m-2"]))
    live.store("m-2")
    live.store("m-4")
    for client in (usual, everything):
        await client.until(lambda c: c.ids[-1:] == ["m-4"])
    assert usual.ids == ["m-3", "m-4"]
    assert everything.ids == ["m-3", "m-2", "m-4"]
    [_, late, _] = [event.data for event in everything.all_events if event.kind == "match"]
    assert late["superseded_by"] == "m-3"
    assert live.database.count("live_matches_sent_total") == 2 + 3


async def test_who_was_away_while_a_match_was_enlarged_twice_is_told_of_both(live: Live) -> None:
    """The triple is superseded itself and not sent any more, but that it superseded the pair still has to be said."""
    [pair] = live.store("m-2")
    live.store(match_record("m-3", supersedes=["m-2"]), match_record("m-4", supersedes=["m-3"]))
    client = live.client(after=pair.sequence)
    await client.until(lambda c: len(c.ids) == 1)
    assert client.said == [("superseded", "m-2"), ("superseded", "m-3"), ("match", "m-4")]


async def test_a_view_made_of_the_events_is_the_list_of_live_matches_wherever_the_stream_breaks(live: Live) -> None:
    chance = random.Random(7)
    for trial in range(10):
        after = live.store(f"m-{trial}-start")[0].sequence
        view: dict[str, Any] = {f"m-{trial}-start": None}
        records = [_enlarging(chance, f"m-{trial}-", number) for number in range(20)]
        for n in range(10):
            client = live.client(after=after)
            if chance.random() < 0.5:
                await is_open(client)
            live.store(*[chance.choice(records) for _ in range(3)])
            live.store(f"m-{trial}-end-{n}")
            await client.until(lambda c: c.ids[-1:] == [f"m-{trial}-end-{n}"])  # noqa: B023
            client.leave()
            events = client.all_events
            after = applied(events if n == 9 else events[: chance.randint(0, len(events))], view, after)
        rows = live.database.read(read_newest_first, MatchFilter(superseded=False), None, 1000)
        live_ids = {str(json.loads(row.body)["id"]) for row in rows}
        assert view.keys() == {id_ for id_ in live_ids if id_.startswith(f"m-{trial}-")}


def _enlarging(chance: random.Random, prefix: str, number: int) -> Record:
    smaller = chance.sample(range(number), k=min(number, chance.randint(0, 2)))
    return match_record(f"{prefix}{number}", supersedes=[f"{prefix}{each}" for each in smaller])


async def test_evidence_is_an_event_of_its_own_that_a_reader_resumes_after(live: Live) -> None:
    following = await is_open(live.client())
    of_episodes = await is_open(live.client(filter_=LiveFilter(kind="episodes")))
    [stored] = live.store("m-1")
    [told] = live.store(evidence_record("m-1", 0.75, query="q"))
    live.store(evidence_record("m-1", 0.75, query="q"))  # again
    live.store(evidence_record("m-2", None, query="q"))  # its match is still to come
    live.store("m-2", episode_record("e-1"))
    await following.until(lambda c: c.ids == ["m-1", "m-2"])
    assert following.said == [("match", "m-1"), ("evidence", "m-1"), ("evidence", "m-2"), ("match", "m-2")]
    assert following.all_events[1] == Event("evidence", told.sequence, evidence("m-1", 0.75, query="q"))
    assert [event.data["evidence"] and event.data["evidence"]["unknown"] for event in following.all_events[::3]] == [
        None,
        "not_watched_yet",
    ]
    await of_episodes.until(lambda c: len(c.all_events) == 1)
    assert of_episodes.said == [("episode", "e-1")]
    for after in (stored.sequence, told.sequence):
        resumed = live.client(after=after)
        await resumed.until(lambda c: c.ids == ["m-2"])
        assert resumed.all_events == [each for each in following.all_events if (each.id or 0) > after]
    assert live.database.count("live_evidence_sent_total") == 2 + 2 + 1


async def test_evidence_passes_the_filters_of_its_match(live: Live) -> None:
    live.store(*[evidence_record(f"m-{query}-{area}", query=query, area=area) for query in "pq" for area in "xy"])
    client = live.client(after=0, filter_=LiveFilter(queries=("p",), area="x"))
    await client.until(lambda c: bool(c.all_events))
    live.store(evidence_record("m-q", query="q", area="x"), evidence_record("m-p", query="p", area="x"))
    await client.until(lambda c: len(c.all_events) == 2)
    assert client.said == [("evidence", "m-p-x"), ("evidence", "m-p")]
