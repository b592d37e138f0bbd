import json
import random
from typing import Any

from services.alerting.store.expiry import delete_old
from services.alerting.store.live_rows import newest_sequence
from services.alerting.store.match_rows import MatchFilter, read_after, read_newest_first, read_surest_first
from services.alerting.store.tables import matches
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    TOPICS,
    Database,
    drawn_conditions,
    evidence_record,
    match,
    match_record,
    record,
)


def test_storing_the_same_matches_again_changes_nothing(database: Database) -> None:
    first = database.store([match_record("m-1"), match_record("m-2")])
    again = database.store([match_record("m-2", probability=0.9), match_record("m-3"), match_record("m-3")])
    assert [stored.sequence for stored in first] == sorted(stored.sequence for stored in first)
    assert len(again) == 1
    assert len(database.read(read_after, MatchFilter(), 0, 10)) == 3
    assert database.read(read_after, MatchFilter(min_probability=0.6), 0, 10) == []  # the first of one id wins


def test_filters_agree_with_their_definition(database: Database) -> None:
    chance = random.Random(1987)
    written = [_random_match(chance, number) for number in range(120)]
    database.store([record(TOPICS.matches, m) for m in written])
    posteriors = {m["id"]: chance.choice([None, 0.1, 0.25, 0.5, 1.0]) for m in written if chance.random() < 0.8}
    judged = chance.sample(sorted(posteriors), len(posteriors))
    of_query = {m["id"]: {"query": m["query"], "area": m["area"]} for m in written}
    database.store([evidence_record(id_, posteriors[id_], **of_query[id_]) for id_ in judged])
    superseded = {id_ for m in written for id_ in m["supersedes"]}
    seen = 0
    choices: dict[str, Any] = {"sensor": ["s1", "s2", "s3"], "superseded": [True, False]}
    for _ in range(200):
        wanted = MatchFilter(**drawn_conditions(chance, **choices, min_posterior=[0.0, 0.25, 1.0]))
        backward = database.read(read_newest_first, wanted, None, 1000)
        forward = database.read(read_after, wanted, 0, 1000)
        passing = [m for m in written if _passes(m, wanted, m["id"] in superseded)]
        expected = [m["id"] for m in passing if _is_as_sure(posteriors.get(m["id"]), wanted)]
        sure = [(posteriors[id_], judged.index(id_), id_) for id_ in expected if posteriors.get(id_) is not None]
        by_posterior = database.read(read_surest_first, wanted, None, 1000)
        assert [json.loads(row.body)["id"] for row in by_posterior] == [id_ for *_, id_ in sorted(sure, reverse=True)]
        assert [json.loads(row.body)["id"] for row in reversed(backward)] == expected
        assert [stored.id for stored in forward] == expected
        seen += len(expected)
    assert seen > 200  # the filters do not refuse everything


def test_a_sensor_is_found_by_its_whole_name_only(database: Database) -> None:
    names = ["s1", "S1", "s", 's1","s', "s\n1", "1", "%", "é"]
    database.store([match_record(f"m-{n}", sensors=(name, "other")) for n, name in enumerate(names)])
    for n, name in enumerate(names):
        wanted = MatchFilter(sensor=name)
        assert [stored.id for stored in database.read(read_after, wanted, 0, 100)] == [f"m-{n}"]
        assert [json.loads(row.body)["id"] for row in database.read(read_newest_first, wanted, None, 9)] == [f"m-{n}"]
    assert len(database.read(read_after, MatchFilter(sensor="other"), 0, 100)) == len(names)


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


def _is_as_sure(posterior: float | None, wanted: MatchFilter) -> bool:
    return wanted.min_posterior is None or (posterior is not None and posterior >= wanted.min_posterior)


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


def test_retention_deletes_in_chunks_and_a_sequence_never_comes_back(database: Database) -> None:
    stored = database.store([match_record(f"m-{n}") for n in range(5)])
    deleted: list[int] = []
    for cutoff_us in (0, 1, 1, 1, 1):  # at first nothing is older
        with database.engine.begin() as connection:
            deleted.append(delete_old(connection, matches, RECEIVED_AT_MS * 1000 + cutoff_us, limit=2))
    assert deleted == [0, 2, 2, 1, 0]
    assert database.read(newest_sequence) == 0
    assert database.store([match_record("m-9")])[0].sequence > stored[-1].sequence
