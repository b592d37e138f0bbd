import json
import random
import time
from collections.abc import Iterable
from typing import Any

import pytest

from services.alerting.store.expiry import Expiry, Room
from services.alerting.store.match_rows import MatchFilter, match_body, read_after, read_match, read_newest_first
from services.common.log.records import Record
from tests.services.alerting.sample_records import ROOM, Database, match_record


def live(database: Database) -> list[str]:
    newest_first = database.read(read_newest_first, MatchFilter(superseded=False), None, 1000)
    return [json.loads(row.body)["id"] for row in newest_first]


def superseded_by(database: Database, id_: str) -> str | None:
    body: dict[str, Any] = json.loads(database.read(read_match, id_) or "{}")
    return body.get("superseded_by")


def _history(chance: random.Random, prefix: str) -> tuple[list[Record], dict[str, set[str]]]:
    """Return records, and for each id that is named by others by which."""
    ids = [f"{prefix}-{n}" for n in range(8)]
    names = {id_: chance.sample(ids[:n], chance.randint(0, min(n, 2))) for n, id_ in enumerate(ids)}
    enlarged: dict[str, set[str]] = {}
    for id_, smaller in names.items():
        for each in smaller:
            enlarged.setdefault(each, set()).add(id_)
    return [match_record(id_, supersedes=smaller) for id_, smaller in names.items()], enlarged


def test_no_order_batching_or_repetition_of_the_records_matters(database: Database) -> None:
    chance = random.Random(5)
    for trial in range(40):
        records, enlarged = _history(chance, f"m-{trial}")
        sent = records + chance.choices(records, k=4)
        chance.shuffle(sent)
        while sent:
            size = chance.randint(1, 4)
            database.store(sent[:size])
            sent = sent[size:]
        of_trial = {id_ for id_ in live(database) if id_.startswith(f"m-{trial}-")}
        assert of_trial == {f"m-{trial}-{n}" for n in range(8)} - enlarged.keys()
        for small, by in enlarged.items():
            assert superseded_by(database, small) in by


def test_of_two_that_enlarge_the_same_the_first_stored_is_named(database: Database) -> None:
    database.store([match_record("m-5", supersedes=["m-2"]), match_record("m-6", supersedes=["m-2"])])
    database.store([match_record("m-2")])
    assert superseded_by(database, "m-2") == "m-5"


def test_one_found_again_after_a_rebuild_supersedes_what_was_not_found_before(database: Database) -> None:
    """The threshold was lowered before the triple came; a rebuild knows the last version only."""
    database.store([match_record("m-3", supersedes=[])])
    database.store([match_record("m-2", supersedes=[])])
    database.store([match_record("m-3", supersedes=["m-2"])])
    assert live(database) == ["m-3"]


def test_what_is_handed_to_the_live_stream_is_what_the_database_says(database: Database) -> None:
    chance = random.Random(6)
    for trial in range(20):
        records, _ = _history(chance, f"m-{trial}")
        chance.shuffle(records)
        handed = database.store(records)
        read = database.read(read_after, MatchFilter(), handed[0].sequence - 1, 100)
        assert _comparable(handed) == _comparable(read)


def _comparable(stored: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(match.sequence, match.id, match.superseded_by, sorted(match.supersedes)) for match in stored]


def test_a_superseded_match_does_not_come_to_life_while_it_waits_to_be_deleted(database: Database) -> None:
    old = [match_record(f"m-{n}", supersedes=[f"m-{n - 1}"], received_at_us=1) for n in range(6)]
    database.store(old[::-1])  # the largest has the smallest sequence and is deleted first
    expiry = Expiry(database.engine, database.metrics, (60.0, 60.0), ROOM, chunk_rows=2, every_s=60.0)
    for remaining in (4, 2, 0):
        expiry.run_if_due()
        assert live(database) == []
        assert database.rows("matches") == remaining
        assert database.rows("supersessions") == 6
    for remaining in (4, 2, 0):
        expiry.run_if_due()
        assert database.rows("supersessions") == remaining


@pytest.mark.parametrize(("rows", "record_bytes"), [(7, 10**12), (10**9, 7.5)])
def test_the_oldest_matches_beyond_the_room_are_deleted_before_their_time(
    database: Database, rows: int, record_bytes: float
) -> None:
    now_us = time.time_ns() // 1000
    of_20 = [
        match_record(f"m-{n}", supersedes=[f"m-{n - 1}"] if n else [], received_at_us=now_us + n) for n in range(20)
    ]
    database.store(random.Random(3).sample(of_20, 20))
    length = max(len(row.body) for row in database.read(read_after, MatchFilter(), 0, 100))
    room = Room({**ROOM.most_bytes, "matches": int(record_bytes * length)}, rows)
    expiry = Expiry(database.engine, database.metrics, (3600.0, 3600.0), room, chunk_rows=5, every_s=60.0)
    expiry.run_if_due()
    assert (database.rows("matches"), database.count("stored_matches")) == (15, 20)
    while expiry.is_due():
        expiry.run_if_due()
        assert live(database) == ["m-19"]
    left = sorted(row.id for row in database.read(read_after, MatchFilter(), 0, 100))
    assert left == sorted(f"m-{n}" for n in range(13, 20))
    assert database.count("rows_expired_total", table="matches", reason="room") == 13


def test_what_supersedes_is_counted_once(database: Database) -> None:
    for _ in range(2):
        database.store([match_record("m-7", query="burst", supersedes=["m-5", "m-6"])])
    assert database.count("matches_superseded_total", query="burst") == 2


def test_a_body_is_served_as_it_was_written_and_by_what_it_is_superseded() -> None:
    body = ' {"id": "m-1", "members": [{}]} '
    assert json.loads(match_body(body, None, None)) == {"id": "m-1", "members": [{}], "evidence": None}
    superseded = {"id": "m-1", "members": [{}], "evidence": {"bits": 2.5}, "superseded_by": 'm-"2"'}
    assert json.loads(match_body(body, 'm-"2"', '{"v": 1, "bits": 2.5}')) == superseded
