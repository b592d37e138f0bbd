import json
import random

import pytest
from sqlalchemy import Engine

from services.alerting.live.hub import LiveFilter
from services.alerting.store.match_rows import MatchFilter, read_newest_first
from tests.services.alerting.clients import Event, Live, ids, is_open, said
from tests.services.alerting.records import Record, match_record, reading

pytestmark = pytest.mark.anyio


async def test_a_superseded_match_is_taken_back_before_the_larger_one_comes(live: Live) -> None:
    client = await is_open(live.client())
    [pair] = live.store("m-2")
    [triple] = live.store_records([match_record("m-3", supersedes=["m-2", "m-1"])])
    await client.until(lambda c: len(c.events) == 2)
    assert client.all_events[0].id == pair.sequence
    assert client.all_events[1:3] == [
        Event("superseded", None, {"id": id_, "superseded_by": "m-3"}) for id_ in sorted(["m-1", "m-2"])
    ]
    assert client.all_events[3][:2] == ("match", triple.sequence)


async def test_what_comes_after_it_was_superseded_is_not_shown_unless_asked_for(live: Live) -> None:
    usual = await is_open(live.client())
    everything = await is_open(live.client(filter_=LiveFilter(with_superseded=True)))
    live.store_records([match_record("m-3", supersedes=["m-2"])])
    live.store("m-2")
    live.store("m-4")
    for client in (usual, everything):
        await client.until(lambda c: ids(c)[-1:] == ["m-4"])
    assert ids(usual) == ["m-3", "m-4"]
    assert ids(everything) == ["m-3", "m-2", "m-4"]
    [_, late, _] = [event.data for event in everything.all_events if event.kind == "match"]
    assert late["superseded_by"] == "m-3"
    assert live.sample("live_matches_sent_total") == 2 + 3


async def test_who_was_away_while_a_match_was_enlarged_twice_is_told_of_both(live: Live) -> None:
    """The triple is superseded itself and not sent any more, but that it superseded the pair still has to be said."""
    [pair] = live.store("m-2")
    live.store_records([match_record("m-3", supersedes=["m-2"]), match_record("m-4", supersedes=["m-3"])])
    client = live.client(after=pair.sequence)
    await client.until(lambda c: len(c.events) == 1)
    assert said(client) == [("superseded", "m-2"), ("superseded", "m-3"), ("match", "m-4")]


async def test_a_view_made_of_the_events_is_the_list_of_live_matches_wherever_the_stream_breaks(
    live: Live, engine: Engine
) -> None:
    chance = random.Random(7)
    for trial in range(10):
        after = live.store(f"m-{trial}-start")[0].sequence
        view = {f"m-{trial}-start"}
        records = [_enlarging(chance, f"m-{trial}-", number) for number in range(20)]
        for n in range(10):
            client = live.client(after=after)
            if chance.random() < 0.5:
                await is_open(client)
            live.store_records([chance.choice(records) for _ in range(3)])
            live.store(f"m-{trial}-end-{n}")
            await client.until(lambda c: ids(c)[-1:] == [f"m-{trial}-end-{n}"])  # noqa: B023
            client.leave()
            events = client.all_events
            after = _applied(events if n == 9 else events[: chance.randint(0, len(events))], view, after)
        assert view == _live(engine, f"m-{trial}-")


def _enlarging(chance: random.Random, prefix: str, number: int) -> Record:
    smaller = chance.sample(range(number), k=min(number, chance.randint(0, 2)))
    return match_record(f"{prefix}{number}", supersedes=[f"{prefix}{each}" for each in smaller])


def _applied(events: list[Event], view: set[str], last_id: int) -> int:
    """Do to `view` what the events say, as a page does; return the reader's last id."""
    for event in events:
        (view.add if event.kind == "match" else view.discard)(event.data["id"])
        last_id = last_id if event.id is None else event.id
    return last_id


def _live(engine: Engine, prefix: str) -> set[str]:
    rows = reading(engine, read_newest_first, MatchFilter(superseded=False), None, 1000)
    return {id_ for row in rows if (id_ := str(json.loads(row.body)["id"])).startswith(prefix)}
