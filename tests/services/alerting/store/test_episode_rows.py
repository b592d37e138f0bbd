import json
import random
import time
from typing import Any

from sqlalchemy import Engine

from services.alerting.kafka.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.store.episode_rows import EpisodeFilter, read_after, read_newest_first
from services.alerting.store.expiry import Expiry
from tests.services.alerting.records import (
    RECEIVED_AT_MS,
    TOPICS,
    counted,
    current,
    episode,
    episode_record,
    match_record,
    reading,
    record,
    retraction,
    revisions,
    rows,
    state_of,
)


def test_the_greatest_revision_counts_and_every_one_is_kept(engine: Engine, storage: Storage) -> None:
    storage.store([episode_record("e-1", 1), episode_record("e-1", 4, count=2)], [])
    storage.store([episode_record("e-1", 9, count=3), episode_record("e-2", 2)], [])
    assert current(engine) == episode("e-1", 9, count=3)
    assert revisions(engine) == [(1, "open"), (4, "open"), (9, "open")]


def test_at_one_revision_the_state_only_moves_on(engine: Engine, storage: Storage) -> None:
    for name in ("open", "final", "closed", "open"):
        storage.store([episode_record("e-1", 5, name)], [])
    assert revisions(engine) == [(5, "open"), (5, "final")]
    storage.store([episode_record("e-1", 5, "retracted"), episode_record("e-1", 5, "final")], [])
    assert current(engine) == retraction("e-1", 5)
    storage.store([episode_record("e-1", 6, "open")], [])  # it comes back, and may be open again
    assert current(engine) == episode("e-1", 6)


def test_what_is_older_or_comes_again_is_ignored_and_counted(
    engine: Engine, storage: Storage, metrics: Metrics
) -> None:
    old, new = episode_record("e-1", 1), episode_record("e-1", 7, "final")
    assert len(storage.store([old, old, new, old], [])) == 1
    assert storage.store([old, new, episode_record("e-1", 3)], []) == []
    assert counted(metrics, "records_consumed_total", topic=TOPICS.episodes) == 7
    assert counted(metrics, "records_inserted_total", topic=TOPICS.episodes) == 2
    assert counted(metrics, "records_duplicate_total", topic=TOPICS.episodes) == 5
    assert counted(metrics, "episodes_total", query="intruder") == 1
    assert revisions(engine) == [(1, "open"), (7, "final")]


def test_the_delay_is_counted_where_a_detection_changed_something(storage: Storage, metrics: Metrics) -> None:
    for revision, name in ((1, "open"), (1, "closed"), (2, "closed"), (2, "final"), (3, "retracted")):
        storage.store([episode_record("e-1", revision, name)], [])
    storage.store([episode_record("e-window", 0, "final")], [])  # it waited for its window to be over
    assert counted(metrics, "episode_delay_seconds_count") == 2  # of both revisions the first record
    assert counted(metrics, "episodes_retracted_total", query="intruder") == 1


def test_an_episode_is_kept_as_it_came(engine: Engine, storage: Storage) -> None:
    said: dict[str, Any] = {
        "value": 101.5,
        "window": {"time_s": 86400},
        "best_probability": None,
        "group": {},
        "new": [{"a": None}],
    }
    storage.store([record(TOPICS.episodes, json.dumps(episode(**said), indent=1).encode())], [])
    assert current(engine) == episode(**said)
    assert current(engine, "e-2") is None


def test_a_poll_of_many_ids_and_revisions(engine: Engine, storage: Storage) -> None:
    changes = [(f"e-{n % 1500}", n) for n in range(4500)]
    told = storage.store([episode_record(*change) for change in changes[:3000]], [])
    assert [each.sequence for each in told] == sorted(each.sequence for each in told)
    assert [each.id for each in told] == [f"e-{n}" for n in range(1500)]
    storage.store([episode_record(*change) for change in changes[3000:]], [])
    assert rows(engine, "episode_revisions") == 4500
    assert current(engine, "e-7") == episode("e-7", 3007)


def test_matches_and_episodes_are_stored_in_one_order(engine: Engine, storage: Storage) -> None:
    polls = [[match_record("m-1"), episode_record("e-1", 1)], [episode_record("e-2", 2)], [match_record("m-2")]]
    polls += [[episode_record("e-2", 3), match_record("m-3"), episode_record("e-1", 4), episode_record("e-2", 4)]]
    told = [each for poll in polls for each in storage.store(poll, [])]
    assert [each.id for each in told] == ["m-1", "e-1", "e-2", "m-2", "m-3", "e-1", "e-2"]
    sequences = [each.sequence for each in told]
    assert sequences == sorted(set(sequences))
    with engine.connect() as connection:  # who reads them again finds them where they were told
        read = read_after(connection, EpisodeFilter(), 0, 10)
    assert read == told[-2:]


def test_filters_agree_with_their_definition(engine: Engine, storage: Storage) -> None:
    chance = random.Random(6)
    found = [_random_episode(chance, number) for number in range(120)]
    storage.store([record(TOPICS.episodes, each) for each in found], [])
    seen = 0
    for _ in range(200):
        wanted = _random_filter(chance)
        backward = reading(engine, read_newest_first, wanted, None, 1000)
        forward = reading(engine, read_after, wanted, 0, 1000)
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


def _random_filter(chance: random.Random) -> EpisodeFilter:
    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.3 else None

    from_us, to_us = sorted((chance.randrange(130), chance.randrange(130)))
    return EpisodeFilter(
        query=maybe(chance.choice("pq")),
        area=maybe(chance.choice("xyz")),
        from_us=maybe(from_us),
        to_us=maybe(to_us),
        min_probability=maybe(chance.choice([0.2, 0.3, 0.5, 1.0])),
        state=maybe(chance.choice(["open", "closed", "final"])),
        retracted=maybe(chance.choice([True, False])),
    )


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


def _age_s() -> float:
    """Seconds since the records of the tests were received."""
    return time.time() - RECEIVED_AT_MS / 1000


def test_an_episode_is_whole_while_it_waits_to_be_deleted(engine: Engine, storage: Storage, metrics: Metrics) -> None:
    storage.store([episode_record(f"e-{n}", received_at_us=n + 1) for n in range(10)], [])
    storage.store([episode_record(f"e-{n}", 2, received_at_us=100) for n in range(10)], [])
    expiry = Expiry(engine, metrics, (60.0, 60.0), chunk_rows=4, every_s=60.0)
    for left in (6, 2, 0):
        expiry.run_if_due()
        assert len(reading(engine, read_newest_first, EpisodeFilter(), None, 100)) == rows(engine, "episodes") == left
    for left in (12, 8, 4, 0):
        expiry.run_if_due()
        assert rows(engine, "episode_revisions") == left


def test_retention_takes_old_episodes_and_the_old_revisions_of_young_ones(
    engine: Engine, storage: Storage, metrics: Metrics
) -> None:
    young: dict[str, Any] = {"received_at_us": (RECEIVED_AT_MS + 10**9) * 1000}
    storage.store([episode_record("e-old", n) for n in range(5)], [])
    storage.store([episode_record("e-young", 1), episode_record("e-young", 2, **young)], [])
    storage.store([episode_record("e-gone", 1, "retracted")], [])  # counted from when it entered Kafka
    kept_s = _age_s() - 1000
    expiry = Expiry(engine, metrics, (kept_s, kept_s), chunk_rows=4, every_s=1e-9)
    for _ in range(4):
        expiry.run_if_due()
    assert current(engine, "e-old") is current(engine, "e-gone") is None
    assert current(engine, "e-young") == episode("e-young", 2, **young)
    assert revisions(engine, "e-young") == [(2, "open")]
    assert rows(engine, "episode_revisions") == rows(engine, "episodes") == 1
    assert counted(metrics, "rows_expired_total", table="episode_revisions") == 7
