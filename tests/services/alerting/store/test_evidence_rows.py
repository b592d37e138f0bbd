"""Evidence beside its match, whichever comes first, however often, and as long as the match is kept."""

import json
import time
from typing import Any

import pytest

from services.alerting.store.evidence_rows import EvidenceFilter, read_after
from services.alerting.store.expiry import Expiry
from services.alerting.store.match_rows import read_match
from services.common.log.records import Record
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    ROOM,
    TOPICS,
    Database,
    evidence,
    evidence_record,
    match,
    match_record,
    record,
    shown,
)

HOUR_S = 3600.0
NOW_US = time.time_ns() // 1_000


def match_shown(database: Database, id_: str = "m-1") -> dict[str, Any] | None:
    body = database.read(read_match, id_)
    return None if body is None else json.loads(body)


@pytest.mark.parametrize(
    "polls",
    [
        [[match_record()], [evidence_record()]],
        [[match_record(), evidence_record()]],
        [[evidence_record()], [match_record()]],
        [[evidence_record(), match_record()]],
        [[match_record()], [evidence_record()], [evidence_record()], [match_record()]],
        [[evidence_record(), evidence_record(), match_record()]],
    ],
    ids=["after", "with", "before", "before, at once", "twice", "twice, before"],
)
def test_a_match_shows_its_evidence_whenever_that_came(database: Database, polls: list[list[Record]]) -> None:
    stored = [row for records in polls for row in database.store(records)]
    assert match_shown(database) == shown(match(), evidence())
    assert sorted(type(row).__name__ for row in stored) == ["StoredEvidence", "StoredMatch"]
    assert [row.sequence for row in stored] == sorted(row.sequence for row in stored)
    assert database.rows("evidence") == 1


def test_a_match_without_evidence_says_null_and_one_whose_evidence_is_not_known_says_why(database: Database) -> None:
    database.store([match_record("m-1"), match_record("m-2"), evidence_record("m-2", None)])
    assert match_shown(database) == shown(match())
    unknown = match_shown(database, "m-2") or {}
    assert (unknown["evidence"]["posterior"], unknown["evidence"]["unknown"]) == (None, "not_watched_yet")


def test_what_evidence_says_that_alerting_does_not_know_is_shown(database: Database) -> None:
    newer = evidence(clocks=[{"id": "gw-7"}])
    database.store([match_record(), record(TOPICS.evidence, newer)])
    assert match_shown(database) == shown(match(), newer)


def test_a_superseded_match_keeps_its_evidence(database: Database) -> None:
    database.store([match_record("m-1"), evidence_record("m-1"), match_record("m-2", supersedes=["m-1"])])
    assert match_shown(database) == {**shown(match(), evidence()), "superseded_by": "m-2"}


def test_evidence_of_two_processes_that_wrote_it_is_the_first(database: Database) -> None:
    database.store([match_record(), evidence_record(posterior=0.5), evidence_record(posterior=0.9)])
    database.store([evidence_record(posterior=0.1)])
    assert match_shown(database) == shown(match(), evidence(posterior=0.5))
    assert database.count("records_duplicate_total", topic=TOPICS.evidence) == 2


def test_how_many_alarms_are_true_is_counted_once_for_each_record(database: Database) -> None:
    database.store([evidence_record("m-1", 0.75), evidence_record("m-2", 0.5), evidence_record("m-3", None)])
    database.store([evidence_record("m-1", 0.75), evidence_record("m-4", 1.0, query="bang")])
    counted = {
        (kind, query): database.count(f"expected_{kind}_alarms_total", query=query)
        for kind in ("true", "false")
        for query in ("sn1987a", "bang")
    }
    assert counted == {("true", "sn1987a"): 1.25, ("false", "sn1987a"): 0.75, ("true", "bang"): 1, ("false", "bang"): 0}


def expiry(database: Database, chunk_rows: int = 2, **most_bytes: int) -> Expiry:
    room = ROOM if not most_bytes else type(ROOM)({**ROOM.most_bytes, **most_bytes}, ROOM.most_matches)
    return Expiry(database.engine, database.metrics, (HOUR_S, HOUR_S), room, chunk_rows=chunk_rows, every_s=60.0)


def emptied(database: Database, **most_bytes: int) -> None:
    each = expiry(database, **most_bytes)
    while each.is_due():
        each.run_if_due()


def kept(database: Database) -> list[str]:
    return [each.id for each in database.read(read_after, EvidenceFilter(), 0, 100)]


def test_evidence_goes_with_its_match_though_it_is_younger(database: Database) -> None:
    old_us, young_ms = NOW_US - 2 * 3_600_000_000, NOW_US // 1000
    times = [old_us + n for n in range(5)] + [NOW_US] * 2
    database.store([match_record(f"m-{n}", received_at_us=at_us) for n, at_us in enumerate(times)])
    database.store([evidence_record(f"m-{n}", timestamp=young_ms) for n in reversed(range(7))])
    database.store([evidence_record("to-come", timestamp=young_ms)])
    each = expiry(database)
    each.run_if_due()  # never a match without its evidence
    assert {f"m-{n}" for n in range(2, 7)} | {"to-come"} == set(kept(database))
    emptied(database)
    assert database.rows("matches") == 2
    assert set(kept(database)) == {"m-5", "m-6", "to-come"}


def test_evidence_of_a_match_that_expired_is_stored_and_goes_by_its_own_age(database: Database) -> None:
    old_ms = RECEIVED_AT_MS if RECEIVED_AT_MS * 1000 < NOW_US - 2 * 3_600_000_000 else NOW_US // 1000 - 7_200_000
    database.store([match_record("m-1", received_at_us=old_ms * 1000)])
    emptied(database)
    database.store([evidence_record("m-1", timestamp=old_ms), evidence_record("m-2", timestamp=NOW_US // 1000)])
    assert match_shown(database) is None
    emptied(database)
    assert kept(database) == ["m-2"]


def test_evidence_has_a_bound_of_its_own(database: Database) -> None:
    database.store([evidence_record(f"m-{n:02}", timestamp=NOW_US // 1000 + n) for n in range(20)])
    database.store([match_record("m-19", received_at_us=NOW_US)])
    emptied(database)
    stored = database.count("stored_bytes", table="evidence")
    emptied(database, evidence=int(stored * 8 / 20) + 1)
    assert kept(database) == [f"m-{n:02}" for n in range(12, 20)]
    assert database.count("rows_expired_total", table="evidence", reason="room") == 12
