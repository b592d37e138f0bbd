import json
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError

from services.alerting.following.followed_topics import Position, read_positions
from services.alerting.store import query_rows
from services.alerting.store.dead_letter_rows import DeadLetterFilter, read_newest_first
from services.alerting.store.match_rows import MatchFilter, read_after, read_match
from tests.services.alerting.databases import ON_SQLITE
from tests.services.alerting.sample_records import (
    STATUS,
    TOPICS,
    Database,
    change_record,
    control_record,
    dead_letter,
    dead_letter_record,
    episode,
    episode_record,
    evidence,
    match,
    match_record,
    query,
    record,
    retraction,
    shard_record,
    status_record,
)

NO_JSON = [None, b"", b"{", b"\xff\xfe", b'{"v":1,"id":"\xff"}', b"[" * 10_000]
BEYOND = b'{"more": 1e999, '  # before the members of a record: a number that no decoder of ours declares
DEEP = b'{"more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
NO_MATCH = [[match()], match(""), match("m\x00"), json.dumps(match()).replace("0.5", "NaN").encode()]
MATCHES: list[dict[str, Any]] = [{"v": 2}, {"probability": 1.5}, {"earliest_us": 2**63}, {"query_version": 0}]
MATCHES += [{"latest_us": 1.5}, {"members": []}, {"supersedes": "m-0"}, {"supersedes": [None]}, {"supersedes": ["m-1"]}]
EPISODES: list[dict[str, Any]] = [{"v": 2}, {"revision": -1}, {"revision": 2**63}, {"start_us": 201}]
EPISODES += [{"state": "final", "open": True}, {"received_at_us": None}, {"best_probability": 1.5}]
EVIDENCE: list[dict[str, Any]] = [{"v": 2}, {"posterior": 1.5}, {"unknown": "equal"}, {"bits": "many"}, {"area": "b\0"}]
EVIDENCE += [{"members": [{"sensor": "s\0", "id": "d", "belongs": 0.5}]}]
NO_RETRACTION = [{**retraction(), "retracted": False}, retraction(by=["e-1"]), retraction(replaced_by="e-2")]
CHANGE = {"v": 1, "id": "q", "version": 1, "changed_at_us": 1}
NESTED: dict[str, Any] = {"id": "q"}
for _ in range(101):  # more levels than any page could show
    NESTED = {"from": NESTED}
BROKEN = {"limit": "max_matches_per_s", "allowed": 1, "reached": 2, "received_at_us": 5}
SUSPENDED: list[dict[str, Any]] = [{}, {**BROKEN, "received_at_us": "now"}, {**BROKEN, "received_at_us": 10**400}]
STATUSES = [shard_record(0, totals={**STATUS["totals"], "detections": 2**63}), shard_record(0, shard="zero")]
STATUSES += [status_record(0, {"q": 1}, suspended={"bay": why}) for why in SUSPENDED]
MALFORMED: dict[str, list[Any]] = {
    TOPICS.matches: [
        *NO_JSON,
        DEEP,
        BEYOND + json.dumps(match()).encode()[1:],
        *NO_MATCH,
        *(match(**fields) for fields in MATCHES),
    ],
    TOPICS.episodes: [None, b"{", DEEP, *(episode(**fields) for fields in EPISODES), *NO_RETRACTION],
    TOPICS.evidence: [None, b"{", DEEP, *(evidence(**fields) for fields in EVIDENCE)],
    TOPICS.dead_letters: [
        DEEP,
        BEYOND + json.dumps(dead_letter()).encode()[1:],
        {name: value for name, value in dead_letter().items() if name != "reason"},
        dead_letter(reason=3),
        dead_letter(area="b\0y"),
    ],
    TOPICS.queries: [DEEP, CHANGE, {**CHANGE, "removed": True, "query": {}}, {**CHANGE, "query": NESTED}],
    TOPICS.status: [DEEP, *(each.value for each in STATUSES)],
}


@ON_SQLITE  # none of them comes to the database
@pytest.mark.parametrize(("topic", "value"), [(topic, each) for topic, values in MALFORMED.items() for each in values])
def test_a_malformed_record_is_counted_and_stops_nothing(database: Database, topic: str, value: Any) -> None:
    stored = database.store([match_record("m-1"), record(topic, value), match_record("m-2")])
    assert len(stored) == 2
    assert database.count("records_malformed_total", topic=topic) == 1


def test_a_number_beyond_64_bits_stops_no_other_record(database: Database) -> None:
    said = {"v": 1, "receiver": "ops", "key": "n-1", "state": "dead", "at_us": 5, "revision": 2**63}
    stored = database.store([control_record("delivery/ops/n-1", said, TOPICS.deliveries), match_record("m-1")])
    assert len(stored) == 1
    assert database.count("records_malformed_total", topic=TOPICS.deliveries) == 1


def test_a_query_record_whose_key_is_not_its_id_is_malformed(database: Database) -> None:
    database.store([change_record("a", 1)._replace(key=b"b")])
    assert database.count("records_malformed_total", topic=TOPICS.queries) == 1
    assert database.read(query_rows.read_queries) == []


def test_what_is_stored_stands_on_one_line(database: Database) -> None:
    database.store([record(TOPICS.matches, json.dumps(match(area="a\nb"), indent=2).replace("\n", "\r\n").encode())])
    body = database.read(read_match, "m-1") or ""
    assert "\n" not in body
    assert "\r" not in body
    assert json.loads(body)["area"] == "a\nb"


def test_positions_move_together_with_the_rows(database: Database) -> None:
    database.store([match_record("m-1")], [Position(TOPICS.matches, 0, "t", 5)])

    @event.listens_for(database.engine, "before_cursor_execute")
    def fail(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "positions" in statement:
            raise OperationalError(statement, {}, Exception("disk full"))

    with pytest.raises(OperationalError):
        database.store([match_record("m-2")], [Position(TOPICS.matches, 0, "t", 6)])
    event.remove(database.engine, "before_cursor_execute", fail)
    assert database.read(read_positions) == [Position(TOPICS.matches, 0, "t", 5)]
    assert len(database.read(read_after, MatchFilter(), 0, 10)) == 1


REFUSING = {
    "sqlite": ["CREATE TRIGGER no BEFORE INSERT ON matches WHEN new.id = 'm-2' BEGIN SELECT RAISE(ABORT, 'no'); END"],
    "postgresql": ["ALTER TABLE matches ADD CHECK (id <> 'm-2')"],
}


def test_a_record_that_the_database_refuses_does_not_stop_the_others(database: Database) -> None:
    with database.engine.begin() as connection:
        for statement in REFUSING[database.engine.dialect.name]:
            connection.exec_driver_sql(statement)
    stored = database.store([match_record(f"m-{n}") for n in (1, 2, 3)], [Position(TOPICS.matches, 0, "t", 3)])
    assert len(stored) == 2
    assert database.count("records_malformed_total", topic=TOPICS.matches) == 1
    assert [position.next_offset for position in database.read(read_positions)] == [3]


def test_a_table_that_is_not_there_is_no_records_fault(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE episode_revisions RENAME TO hidden")
    with pytest.raises(DBAPIError):
        database.store([episode_record()], [Position(TOPICS.episodes, 0, "t", 1)])
    assert database.count("records_malformed_total", topic=TOPICS.episodes) == 0
    assert database.read(read_positions) == []


def test_dead_letters_are_stored_once(database: Database) -> None:
    database.store([dead_letter_record("d-1"), dead_letter_record("d-1"), dead_letter_record("d-2")])
    database.store([dead_letter_record("d-2"), dead_letter_record("d-3", reason="malformed_frame")])
    rows = database.read(read_newest_first, DeadLetterFilter(), None, 10)
    assert len({row.id for row in rows}) == len(rows) == 3
    assert database.count("records_duplicate_total", topic=TOPICS.dead_letters) == 2


def test_a_record_that_came_out_of_order_is_history_but_not_the_state(database: Database) -> None:
    database.store([change_record("q", 1), change_record("q", 3, paused=True), change_record("q", 2)])
    database.store([change_record("q", 1)])
    state = database.read(query_rows.read_query, "q")
    assert state is not None
    assert (state.version, state.paused) == (3, True)
    assert [version.version for version in database.read(query_rows.read_versions, "q")] == [3, 2, 1]


def test_a_removed_query_is_gone_but_its_versions_stay(database: Database) -> None:
    database.store([change_record("q", 1), change_record("q", 2, removed=True)])
    assert database.read(query_rows.read_query, "q") is None
    assert database.read(query_rows.read_queries) == []
    assert database.read(query_rows.greatest_version, "q") == 2
    assert database.read(query_rows.read_versions, "q")[1].query == query("q")


def test_queries_come_by_code_points_whatever_order_the_database_has(database: Database) -> None:
    ids = ["Zebra", "apple", "b-2", "b1", "Ångström"]
    database.store([change_record(id_, 1) for id_ in reversed(ids)])
    assert [each.id for each in database.read(query_rows.read_queries)] == sorted(ids)


def test_applied_is_what_every_shard_has_applied(database: Database) -> None:
    def applied(id_: str) -> int | None:
        return query_rows.applied_version(database.read(query_rows.read_status), id_)

    assert applied("q") is None
    database.store([status_record(0, {"q": 3, "r": 1}), status_record(1, {"q": 2})])
    assert applied("q") == 2
    assert applied("r") is None
    database.store([status_record(1, {"q": 3, "r": 1})])
    assert applied("q") == 3
    database.store([status_record(1, {"q": 1}), record(TOPICS.status, None, key=b"shard-1")])
    assert applied("q") == 3  # shard 1 is no more


@ON_SQLITE
def test_a_status_ends_the_alert_that_the_line_has_stalled_and_a_rebuild_does_not(database: Database) -> None:
    database.conditions.note_end(1)
    database.conditions.note_end(2)
    database.sweep(after_s=100)
    assert [each["state"] for each in database.alerts(kind="system")] == ["firing"]
    asked = {"v": 1, "id": "b-1", "state": "asked"}
    now_ms = database.now_us // 1000
    database.store([record(TOPICS.status, asked, key=b"rebuild/b-1", timestamp=now_ms)])
    database.sweep()
    assert [each["state"] for each in database.alerts(kind="system")] == ["firing"]
    status = status_record(0, {})
    database.store([record(TOPICS.status, status.value, key=status.key, timestamp=now_ms)])
    database.sweep()
    assert [each["state"] for each in database.alerts(kind="system")] == ["resolved"]
