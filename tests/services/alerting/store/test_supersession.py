import json
import random
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine

from services.alerting.kafka.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.store.expiry import Expiry
from services.alerting.store.match_rows import MatchFilter, match_body, read_after, read_match, read_newest_first
from tests.services.alerting.records import Record, counted, match_record, reading, rows

#: Two detectors, then the third, then a fourth; and a set that was never written.
PAIR, TRIPLE, QUADRUPLE = "m-2", "m-3", "m-4"
CHAIN = [
    match_record(PAIR, supersedes=[]),
    match_record(TRIPLE, supersedes=[PAIR, "m-never-written"]),
    match_record(QUADRUPLE, supersedes=[TRIPLE]),
]


def live(engine: Engine) -> list[str]:
    newest_first = reading(engine, read_newest_first, MatchFilter(superseded=False), None, 1000)
    return [json.loads(row.body)["id"] for row in newest_first]


def superseded_by(engine: Engine, id_: str) -> str | None:
    body: dict[str, Any] = json.loads(reading(engine, read_match, id_) or "{}")
    return body.get("superseded_by")


def test_a_larger_match_takes_the_place_of_the_smaller(engine: Engine, storage: Storage) -> None:
    storage.store(CHAIN[:1], [])
    assert live(engine) == [PAIR]
    assert superseded_by(engine, PAIR) is None
    storage.store(CHAIN[1:2], [])
    assert live(engine) == [TRIPLE]
    assert superseded_by(engine, PAIR) == TRIPLE


def test_no_order_batching_or_repetition_of_the_records_matters(engine: Engine, storage: Storage) -> None:
    chance = random.Random(5)
    for trial in range(40):
        records, enlarged = _history(chance, f"m-{trial}")
        sent = records + chance.choices(records, k=4)
        chance.shuffle(sent)
        while sent:
            size = chance.randint(1, 4)
            storage.store(sent[:size], [])
            sent = sent[size:]
        assert set(live(engine)).isdisjoint(enlarged)
        for small, by in enlarged.items():
            assert superseded_by(engine, small) in by


def test_of_two_that_enlarge_the_same_the_first_stored_is_named(engine: Engine, storage: Storage) -> None:
    storage.store([match_record("m-5", supersedes=[PAIR]), match_record("m-6", supersedes=[PAIR])], [])
    storage.store([match_record(PAIR)], [])
    assert superseded_by(engine, PAIR) == "m-5"


def test_one_found_again_after_a_rebuild_supersedes_what_was_not_found_before(engine: Engine, storage: Storage) -> None:
    """The threshold was lowered before the triple came; a rebuild knows the last version only."""
    storage.store([match_record(TRIPLE, supersedes=[])], [])
    storage.store([match_record(PAIR, supersedes=[])], [])
    storage.store([match_record(TRIPLE, supersedes=[PAIR])], [])
    assert live(engine) == [TRIPLE]


def _history(chance: random.Random, prefix: str) -> tuple[list[Record], dict[str, set[str]]]:
    """Return records, and for each id that is named by others by which."""
    ids = [f"{prefix}-{n}" for n in range(8)]
    names = {id_: chance.sample(ids[:n], chance.randint(0, min(n, 2))) for n, id_ in enumerate(ids)}
    enlarged: dict[str, set[str]] = {}
    for id_, smaller in names.items():
        for each in smaller:
            enlarged.setdefault(each, set()).add(id_)
    return [match_record(id_, supersedes=smaller) for id_, smaller in names.items()], enlarged


def test_what_is_handed_to_the_live_stream_is_what_the_database_says(engine: Engine, storage: Storage) -> None:
    chance = random.Random(6)
    for trial in range(20):
        records, _ = _history(chance, f"m-{trial}")
        chance.shuffle(records)
        handed = storage.store(records, [])
        read = reading(engine, read_after, MatchFilter(), handed[0].sequence - 1, 100)
        assert _comparable(handed) == _comparable(read)


def _comparable(stored: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(match.sequence, match.id, match.superseded_by, sorted(match.supersedes)) for match in stored]


def test_a_superseded_match_does_not_come_to_life_while_it_waits_to_be_deleted(
    engine: Engine, storage: Storage, metrics: Metrics
) -> None:
    old = [match_record(f"m-{n}", supersedes=[f"m-{n - 1}"], received_at_us=1) for n in range(6)]
    storage.store(old[::-1], [])  # the largest has the smallest sequence and is deleted first
    expiry = Expiry(engine, metrics, (60.0, 60.0), chunk_rows=2, every_s=60.0)
    for remaining in (4, 2, 0):
        expiry.run_if_due()
        assert live(engine) == []
        assert rows(engine, "matches") == remaining
        assert rows(engine, "supersessions") == 6
    for remaining in (4, 2, 0):
        expiry.run_if_due()
        assert rows(engine, "supersessions") == remaining


def test_what_supersedes_is_counted_once(storage: Storage, metrics: Metrics) -> None:
    for _ in range(2):
        storage.store([match_record("m-7", query="burst", supersedes=["m-5", "m-6"])], [])
    assert counted(metrics, "matches_superseded_total", query="burst") == 2


def test_a_body_is_served_as_it_was_written_and_by_what_it_is_superseded() -> None:
    body = ' {"id": "m-1", "members": [{}]} '
    assert match_body(body, None) == body
    assert json.loads(match_body(body, 'm-"2"')) == {"id": "m-1", "members": [{}], "superseded_by": 'm-"2"'}
