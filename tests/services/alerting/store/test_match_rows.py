import json
import random
from typing import Any

from sqlalchemy import Engine

from services.alerting.kafka.storing import Storage
from services.alerting.store.expiry import delete_old
from services.alerting.store.match_rows import MatchFilter, newest_sequence, read_after, read_newest_first
from services.alerting.store.tables import matches
from tests.services.alerting.records import RECEIVED_AT_MS, TOPICS, match, match_record, reading, record, rows


def test_storing_the_same_matches_again_changes_nothing(engine: Engine, storage: Storage) -> None:
    first = storage.store([match_record("m-1"), match_record("m-2")], [])
    again = storage.store([match_record("m-2"), match_record("m-3"), match_record("m-3")], [])
    assert [stored.sequence for stored in first] == sorted(stored.sequence for stored in first)
    assert len(again) == 1
    assert len(reading(engine, read_after, MatchFilter(), 0, 10)) == 3
    assert rows(engine, "match_sensors") == 3 * 2


def test_the_first_of_two_matches_with_one_id_wins(engine: Engine, storage: Storage) -> None:
    storage.store([match_record("m-1", probability=0.5)], [])
    storage.store([match_record("m-1", probability=0.9)], [])
    assert reading(engine, read_after, MatchFilter(min_probability=0.6), 0, 10) == []


def test_filters_agree_with_their_definition(engine: Engine, storage: Storage) -> None:
    chance = random.Random(1987)
    written = [_random_match(chance, number) for number in range(120)]
    storage.store([record(TOPICS.matches, m) for m in written], [])
    superseded = {id_ for m in written for id_ in m["supersedes"]}
    seen = 0
    for _ in range(200):
        wanted = _random_filter(chance)
        backward = reading(engine, read_newest_first, wanted, None, 1000)
        forward = reading(engine, read_after, wanted, 0, 1000)
        expected = [m["id"] for m in written if _passes(m, wanted, m["id"] in superseded)]
        assert [_id(row.body) for row in reversed(backward)] == expected
        assert [_id(stored.body) for stored in forward] == expected
        seen += len(expected)
    assert seen > 200  # the filters do not refuse everything


def _random_match(chance: random.Random, number: int) -> dict[str, Any]:
    earliest_us = chance.randrange(100)
    return match(
        f"m-{number}",
        query=chance.choice("pq"),
        area=chance.choice("xyz"),
        sensors=chance.sample(["s1", "s2", "s3"], 2) if chance.random() < 0.8 else ["s1", "s1"],
        probability=chance.choice([0.2, 0.5, 1.0]),
        earliest_us=earliest_us,
        latest_us=earliest_us + chance.randrange(30),
        supersedes=[f"m-{chance.randrange(number)}"] if number and chance.random() < 0.4 else [],
    )


def _random_filter(chance: random.Random) -> MatchFilter:
    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.3 else None

    from_us, to_us = sorted((chance.randrange(130), chance.randrange(130)))
    return MatchFilter(
        query=maybe(chance.choice("pq")),
        area=maybe(chance.choice("xyz")),
        sensor=maybe(chance.choice(["s1", "s2", "s3"])),
        from_us=maybe(from_us),
        to_us=maybe(to_us),
        min_probability=maybe(chance.choice([0.2, 0.3, 0.5, 1.0])),
        superseded=maybe(chance.choice([True, False])),
    )


def _passes(m: dict[str, Any], wanted: MatchFilter, is_superseded: bool) -> bool:
    return (
        wanted.query in (None, m["query"])
        and wanted.area in (None, m["area"])
        and (wanted.sensor is None or wanted.sensor in [member["sensor"] for member in m["members"]])
        and (wanted.from_us is None or m["latest_us"] >= wanted.from_us)
        and (wanted.to_us is None or m["earliest_us"] <= wanted.to_us)
        and (wanted.min_probability is None or m["probability"] >= wanted.min_probability)
        and wanted.superseded in (None, is_superseded)
    )


def _id(body: str) -> str:
    return str(json.loads(body)["id"])


def test_retention_deletes_in_chunks_and_a_sequence_never_comes_back(engine: Engine, storage: Storage) -> None:
    stored = storage.store([match_record(f"m-{n}") for n in range(5)], [])
    cutoff_us = RECEIVED_AT_MS * 1000 + 1
    deleted: list[int] = []
    while not deleted or deleted[-1]:
        with engine.begin() as connection:
            deleted.append(delete_old(connection, matches, cutoff_us, limit=2))
    assert deleted == [2, 2, 1, 0]
    assert reading(engine, newest_sequence) == 0
    assert rows(engine, "match_sensors") == 0
    assert storage.store([match_record("m-9")], [])[0].sequence > stored[-1].sequence


def test_retention_keeps_what_is_young(engine: Engine, storage: Storage) -> None:
    storage.store([match_record("m-1")], [])
    with engine.begin() as connection:
        assert delete_old(connection, matches, RECEIVED_AT_MS * 1000, limit=10) == 0
