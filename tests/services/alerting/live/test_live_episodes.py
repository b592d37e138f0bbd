import asyncio
import json
import random
from typing import Any

import pytest

from services.alerting.live.hub import Kind, LiveFilter
from services.alerting.store.episode_rows import EpisodeFilter, read_after
from services.alerting.store.expiry import Expiry
from services.common.log.records import Record
from tests.services.alerting.clients import Event, Live, applied, eventually, is_open
from tests.services.alerting.sample_records import (
    ROOM,
    episode,
    episode_record,
    match_record,
    retraction,
    shown,
    state_of,
)

pytestmark = pytest.mark.anyio

ALL = LiveFilter(kind="all")
EPISODES = LiveFilter(kind="episodes")


async def test_who_asks_for_nothing_else_hears_of_matches_only(live: Live) -> None:
    live.store(match_record("m-1"), episode_record("e-1"))
    for revision, after in enumerate((0, None)):
        client = await is_open(live.client(after=after))
        live.store(episode_record("e-2", revision), match_record(f"m-after-{after}"))
        await client.until(lambda c: c.ids[-1:] == [f"m-after-{after}"])  # noqa: B023
        assert {event.kind for event in client.all_events} == {"match"}


async def test_episodes_are_told_as_they_change_and_go(live: Live) -> None:
    client = await is_open(live.client(filter_=EPISODES))
    first = live.store(episode_record("e-1", 1), match_record("m-1"))
    live.store(episode_record("e-1", 1), episode_record("e-1", 2), episode_record("e-1", 3))
    last = live.store(episode_record("e-1", 4, "retracted", by=["e-0"]))
    await client.until(lambda c: len(c.all_events) == 3)
    assert client.all_events == [
        Event("episode", first[-1].sequence, shown(episode("e-1", 1))),
        Event("episode", last[-1].sequence - 1, shown(episode("e-1", 3))),  # of one poll only what counts in the end
        Event("episode_retracted", last[-1].sequence, shown(retraction("e-1", 4, by=["e-0"]))),
    ]
    assert live.database.count("live_episodes_sent_total") == 3
    assert live.database.count("live_matches_sent_total") == 0


async def test_who_was_away_hears_how_each_is_now(live: Live) -> None:
    live.store(episode_record("e-1", 1), episode_record("e-2", 1), episode_record("e-3", 1))
    seen = live.store(match_record("m-1"))[-1].sequence
    live.store(episode_record("e-1", 2))
    live.store(episode_record("e-2", 3, "retracted"), match_record("m-2"), episode_record("e-1", 4))
    for wanted, expected in (
        (EPISODES, [("episode_retracted", "e-2"), ("episode", "e-1")]),
        (ALL, [("match", "m-2"), ("episode_retracted", "e-2"), ("episode", "e-1")]),
    ):
        client = live.client(after=seen, filter_=wanted)
        await client.until(lambda c: c.said[-1:] == [("episode", "e-1")])
        assert client.said == expected
        assert client.all_events[-1].data["revision"] == 4


async def test_filters_hold_before_and_after_the_hand_over(live: Live) -> None:
    both = [episode_record("e-1", area="bay"), episode_record("e-2", area="sky")]
    live.store(*both)
    client = live.client(after=0, filter_=LiveFilter(kind="all", area="sky"))
    await client.until(lambda c: len(c.all_events) == 1)
    live.store(episode_record("e-1", 2, area="bay"), episode_record("e-2", 2, "retracted", area="sky"))
    await client.until(lambda c: len(c.all_events) == 2)
    assert client.said == [("episode", "e-2"), ("episode_retracted", "e-2")]


async def test_more_than_one_page_of_both_is_caught_up_with_in_order(live: Live) -> None:
    for n in range(0, 1800, 60):
        live.store(*[match_record(f"m-{n + i}") for i in range(30)])
        live.store(*[episode_record(f"e-{n + i}") for i in range(30)])
    client = live.client(after=0, filter_=ALL)
    await client.until(lambda c: len(c.all_events) == 1800)
    sequences = [event.id or 0 for event in client.all_events]
    assert sequences == sorted(set(sequences))
    assert {kind for kind, _ in client.said[:60]} == {"match", "episode"}


@pytest.mark.parametrize("live", [{"queue_max": 5}], indirect=True)
async def test_a_slow_reader_is_dropped_and_comes_back_to_how_it_is_now(live: Live) -> None:
    slow = await is_open(live.client(filter_=EPISODES))
    quick = await is_open(live.client(filter_=EPISODES))
    slow.reads.clear()
    for n in range(20):
        live.store(episode_record("e-1", n))
        await quick.until(lambda c: len(c.all_events) == n + 1)  # noqa: B023
    after = slow.all_events[-1].id if slow.all_events else 0
    again = live.client(after=after, filter_=EPISODES)
    await again.until(lambda c: len(c.all_events) == 1)
    assert again.all_events[0].data["revision"] == 19
    assert live.database.count("live_readers_dropped_total") == 1


async def test_a_reader_joins_although_the_newest_of_all_was_too_old_to_keep(live: Live) -> None:
    [seen] = live.store(match_record("m-1"))
    live.store(match_record("m-2"), episode_record("e-1"))
    await asyncio.sleep(0)
    Expiry(live.database.engine, live.database.metrics, (0.001, 0.001), ROOM, 100, 60.0).run_if_due()
    client = live.client(after=seen.sequence, filter_=ALL)
    await eventually(lambda: bool(live.hub._joined))  # and does not read on and on for what is gone
    live.store(episode_record("e-2", received_at_us=2**62))
    await client.until(lambda c: c.said == [("episode", "e-2")])


async def test_a_view_made_of_the_events_is_what_the_database_says_wherever_the_stream_breaks(live: Live) -> None:
    chance = random.Random(8)
    kinds: tuple[Kind, ...] = ("episodes", "all")
    view: dict[str, Any] = {}
    after = 0
    for n in range(40):
        client = live.client(after=after, filter_=LiveFilter(kind=chance.choice(kinds)))
        if chance.random() < 0.5:
            await is_open(client)
        for _ in range(chance.randint(1, 3)):
            live.store(*[_change(chance) for _ in range(chance.randint(1, 6))])
        [end] = live.store(episode_record("e-end", n))
        await client.until(lambda c: [e.id for e in c.all_events[-1:]] == [end.sequence])  # noqa: B023
        client.leave()
        events = client.all_events
        after = applied(events if n == 39 else events[: chance.randint(0, len(events))], view, after)
    stored = live.database.read(read_after, EpisodeFilter(retracted=False), 0, 1000)
    episodes = {id_: body for id_, body in view.items() if id_.startswith("e-")}
    assert episodes == {each.id: shown(json.loads(each.body)) for each in stored}
    assert len({state_of(body) for body in episodes.values()}) > 1


def _change(chance: random.Random) -> Record:
    if chance.random() < 0.2:
        return match_record(f"m-{chance.randrange(10**9)}")
    state = chance.choice(["open", "open", "closed", "final", "retracted"])
    return episode_record(f"e-{chance.randrange(12)}", chance.randrange(60), state)
