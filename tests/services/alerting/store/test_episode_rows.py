import itertools
import json
import random
import time
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from coincide.wire.results.episode_record import STATES
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode, read_after, read_newest_first
from services.alerting.store.expiry import Expiry
from services.alerting.store.tables import episodes
from services.common.log.records import Record
from tests.examples import examples
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    ROOM,
    TOPICS,
    Database,
    drawn_conditions,
    episode,
    episode_record,
    match_record,
    record,
    retraction,
    state_of,
)

#: One of a few episodes, a revision of it, and the state there.
Step = tuple[str, int, str]

COLUMNS = ("query", "area", "revision", "start_us", "end_us", "count", "best_probability")
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.sampled_from(STATES)), min_size=1, max_size=12, unique=True
)
_examples = itertools.count()


def test_what_is_older_or_comes_again_is_ignored_and_counted(database: Database) -> None:
    old, new = episode_record("e-1", 1), episode_record("e-1", 7, "final")
    assert len(database.store([old, old, new, old])) == 1
    assert database.store([old, new, episode_record("e-1", 3)]) == []
    assert database.count("records_consumed_total", topic=TOPICS.episodes) == 7
    assert database.count("records_inserted_total", topic=TOPICS.episodes) == 2
    assert database.count("records_duplicate_total", topic=TOPICS.episodes) == 5
    assert database.count("episodes_total", query="intruder") == 1
    assert database.revisions() == [(1, "open"), (7, "final")]


def test_the_delay_is_counted_where_a_detection_changed_something(database: Database) -> None:
    for revision, name in ((1, "open"), (1, "closed"), (2, "closed"), (2, "final"), (3, "retracted")):
        database.store([episode_record("e-1", revision, name)])
    database.store([episode_record("e-window", 0, "final")])  # it waited for its window to be over
    assert database.count("episode_delay_seconds_count") == 2  # of both revisions the first record
    assert database.count("episodes_retracted_total", query="intruder") == 1


def test_a_poll_of_many_ids_and_revisions(database: Database) -> None:
    changes = [(f"e-{n % 1500}", n) for n in range(4500)]
    told = database.store([episode_record(*change) for change in changes[:3000]])
    assert [each.sequence for each in told] == sorted(each.sequence for each in told)
    assert [each.id for each in told] == [f"e-{n}" for n in range(1500)]
    database.store([episode_record(*change) for change in changes[3000:]])
    assert database.rows("episode_revisions") == 4500
    assert database.episode("e-7") == episode("e-7", 3007)


def test_matches_and_episodes_are_stored_in_one_order(database: Database) -> None:
    polls = [[match_record("m-1"), episode_record("e-1", 1)], [episode_record("e-2", 2)], [match_record("m-2")]]
    polls += [[episode_record("e-2", 3), match_record("m-3"), episode_record("e-1", 4), episode_record("e-2", 4)]]
    told = [each for poll in polls for each in database.store(poll, [])]
    assert [each.id for each in told] == ["m-1", "e-1", "e-2", "m-2", "m-3", "e-1", "e-2"]
    sequences = [each.sequence for each in told]
    assert sequences == sorted(set(sequences))
    assert database.read(read_after, EpisodeFilter(), 0, 10) == told[-2:]  # and who reads again finds them there


def test_filters_agree_with_their_definition(database: Database) -> None:
    chance = random.Random(6)
    found = [_random_episode(chance, number) for number in range(120)]
    database.store([record(TOPICS.episodes, each) for each in found])
    seen = 0
    for _ in range(200):
        wanted = EpisodeFilter(**drawn_conditions(chance, state=STATES[:3], retracted=[True, False]))
        backward = database.read(read_newest_first, wanted, None, 1000)
        forward = database.read(read_after, wanted, 0, 1000)
        expected = [each["id"] for each in found if _passes(each, wanted)]
        assert [json.loads(row.body)["id"] for row in reversed(backward)] == expected
        assert [each.id for each in forward] == expected
        seen += len(expected)
    assert seen > 200  # the filters do not refuse everything


def _random_episode(chance: random.Random, number: int) -> dict[str, Any]:
    said: dict[str, Any] = {"query": chance.choice("pq"), "area": chance.choice("xyz")}
    if chance.random() < 0.2:
        return retraction(f"e-{number}", **said)
    start_us = chance.randrange(100)
    said |= {"start_us": start_us, "end_us": start_us + chance.randrange(30)}
    best = chance.choice([None, 0.2, 0.5, 1.0])
    return episode(f"e-{number}", 1, chance.choice(["open", "closed", "final"]), best_probability=best, **said)


def _passes(e: dict[str, Any], wanted: EpisodeFilter) -> bool:
    return (
        wanted.query in (None, e["query"])
        and wanted.area in (None, e["area"])
        and (wanted.from_us is None or ("end_us" in e and e["end_us"] >= wanted.from_us))
        and (wanted.to_us is None or ("start_us" in e and e["start_us"] <= wanted.to_us))
        and (wanted.min_probability is None or (e.get("best_probability") or -1) >= wanted.min_probability)
        and wanted.state in (None, state_of(e))
        and wanted.retracted in (None, "retracted" in e)
    )


def test_an_episode_is_whole_while_it_waits_to_be_deleted(database: Database) -> None:
    database.store([episode_record(f"e-{n}", received_at_us=n + 1) for n in range(10)])
    database.store([episode_record(f"e-{n}", 2, received_at_us=100) for n in range(10)])
    expiry = Expiry(database.engine, database.metrics, (60.0, 60.0), ROOM, chunk_rows=4, every_s=60.0)
    for left in (6, 2, 0):
        expiry.run_if_due()
        assert len(database.read(read_newest_first, EpisodeFilter(), None, 100)) == database.rows("episodes") == left
    for left in (12, 8, 4, 0):
        expiry.run_if_due()
        assert database.rows("episode_revisions") == left


def test_retention_takes_old_episodes_and_the_old_revisions_of_young_ones(database: Database) -> None:
    young: dict[str, Any] = {"received_at_us": (RECEIVED_AT_MS + 10**9) * 1000}
    database.store([episode_record("e-old", n) for n in range(5)])
    database.store([episode_record("e-young", 1), episode_record("e-young", 2, **young)])
    database.store([episode_record("e-gone", 1, "retracted")])  # counted from when it entered Kafka
    kept_s = time.time() - RECEIVED_AT_MS / 1000 - 1000
    expiry = Expiry(database.engine, database.metrics, (kept_s, kept_s), ROOM, chunk_rows=4, every_s=1e-9)
    for _ in range(4):
        expiry.run_if_due()
    assert database.episode("e-old") is database.episode("e-gone") is None
    assert database.episode("e-young") == episode("e-young", 2, **young)
    assert database.revisions("e-young") == [(2, "open")]
    assert database.rows("episode_revisions") == database.rows("episodes") == 1
    assert database.count("rows_expired_total", table="episode_revisions", reason="age") == 7


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_order_batching_or_repetition_matters(database: Database, data: st.DataObject) -> None:
    prefix = f"e-{next(_examples)}-"  # one database for all examples, each with episodes of its own
    steps = data.draw(STEPS)
    told = _store_anyhow(database, prefix, steps, data)
    view = {each.id: json.loads(each.body) for each in told}  # what a reader of the live stream has in the end
    for name in {name for name, _, _ in steps}:
        id_ = prefix + name
        revision, rank = max((revision, STATES.index(state)) for of, revision, state in steps if of == name)
        expected = json.loads(_record(prefix, (name, revision, STATES[rank])).value or b"")
        assert database.episode(id_) == view[id_] == expected
        assert _columns(database, id_) == [expected.get(column) for column in COLUMNS]
        kept = [(revision, STATES.index(state)) for revision, state in database.revisions(id_)]
        assert kept == sorted(set(kept))
        assert kept[-1] == (revision, rank)


def _store_anyhow(database: Database, prefix: str, steps: Sequence[Step], data: st.DataObject) -> list[StoredEpisode]:
    again = data.draw(st.lists(st.sampled_from(steps), max_size=6))
    sent = data.draw(st.permutations([*steps, *again]))
    told: list[StoredEpisode] = []
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        stored = database.store([_record(prefix, step) for step in sent[:size]])
        told += [each for each in stored if isinstance(each, StoredEpisode)]
        sent = sent[size:]
    return told


def _record(prefix: str, step: Step) -> Record:
    name, revision, state = step
    if state == "retracted":
        return episode_record(prefix + name, revision, state, by=["e-other"])
    at_us = revision * 10 + STATES.index(state)
    return episode_record(prefix + name, revision, state, start_us=at_us, end_us=2 * at_us, count=revision + 1)


def _columns(database: Database, id_: str) -> list[object]:
    columns = select(*(episodes.c[name] for name in COLUMNS)).where(episodes.c.id == id_)
    with database.engine.connect() as connection:
        return list(connection.execute(columns).one())


def test_an_episode_keeps_its_place_in_the_list_when_it_changes(database: Database) -> None:
    database.store([episode_record(f"e-{n}", 1) for n in range(3)])
    database.store([episode_record("e-0", 2), episode_record("e-3", 2), episode_record("e-1", 3, "retracted")])
    database.store([episode_record("e-1", 4), episode_record("e-4", 4), episode_record("e-5", 4)])
    database.store([episode_record("e-6", 5), episode_record("e-7", 5), episode_record("e-6", 6)])
    listed = database.read(read_newest_first, EpisodeFilter(), None, 10)
    assert [json.loads(row.body)["id"] for row in listed] == [f"e-{n}" for n in (7, 6, 5, 4, 3, 2, 1, 0)]
