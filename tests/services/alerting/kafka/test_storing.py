import json
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from services.alerting.kafka.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.store import query_rows
from services.alerting.store.dead_letter_rows import DeadLetterFilter, read_newest_first
from services.alerting.store.match_rows import MatchFilter, read_after, read_match
from services.alerting.store.position_rows import Position, read_positions
from tests.services.alerting.records import (
    TOPICS,
    change_record,
    counted,
    dead_letter_record,
    episode,
    match,
    match_record,
    query,
    reading,
    record,
    retraction,
    status_record,
)

MALFORMED: list[tuple[str, Any]] = [
    (TOPICS.matches, None),
    (TOPICS.matches, b""),
    (TOPICS.matches, b"{"),
    (TOPICS.matches, b"\xff\xfe"),
    (TOPICS.matches, b'{"v":1,"id":"\xff"}'),
    (TOPICS.matches, json.dumps(match()).replace("0.5", "NaN").encode()),
    (TOPICS.matches, b"[" * 10_000),
    (TOPICS.matches, [match()]),
    (TOPICS.matches, match(v=2)),
    (TOPICS.matches, match("")),
    (TOPICS.matches, match("m\x00")),
    (TOPICS.matches, match(probability=1.5)),
    (TOPICS.matches, match(earliest_us=2**63)),
    (TOPICS.matches, match(latest_us=1.5)),
    (TOPICS.matches, match(members=[])),
    (TOPICS.matches, match(query_version=0)),
    (TOPICS.matches, match(supersedes="m-0")),
    (TOPICS.matches, match(supersedes=[None])),
    (TOPICS.matches, match("m-0", supersedes=["m-0"])),
    (TOPICS.episodes, None),
    (TOPICS.episodes, b"{"),
    (TOPICS.episodes, episode(v=2)),
    (TOPICS.episodes, episode(revision=-1)),
    (TOPICS.episodes, episode(revision=2**63)),
    (TOPICS.episodes, episode(start_us=201)),
    (TOPICS.episodes, episode(state="final", open=True)),
    (TOPICS.episodes, episode(received_at_us=None)),
    (TOPICS.episodes, episode(best_probability=1.5)),
    (TOPICS.episodes, {**retraction(), "retracted": False}),
    (TOPICS.episodes, retraction(by=["e-1"])),
    (TOPICS.episodes, retraction(replaced_by="e-2")),
    (TOPICS.dead_letters, {"v": 1, "source": "fusion"}),
    (TOPICS.dead_letters, {"v": 1, "source": "fusion", "reason": 3}),
    (TOPICS.queries, {"v": 1, "id": "q", "version": 1, "changed_at_us": 1}),
    (TOPICS.queries, {"v": 1, "id": "q", "version": 1, "changed_at_us": 1, "removed": True, "query": {}}),
    (TOPICS.status, {"v": 1, "shard": "zero", "queries": {}}),
]


@pytest.mark.parametrize(("topic", "value"), MALFORMED)
def test_a_malformed_record_is_counted_and_stops_nothing(
    storage: Storage, metrics: Metrics, topic: str, value: Any
) -> None:
    stored = storage.store([match_record("m-1"), record(topic, value), match_record("m-2")], [])
    assert len(stored) == 2
    assert counted(metrics, "records_malformed_total", topic=topic) == 1


def test_a_query_record_whose_key_is_not_its_id_is_malformed(
    engine: Engine, storage: Storage, metrics: Metrics
) -> None:
    storage.store([change_record("a", 1)._replace(key=b"b")], [])
    assert counted(metrics, "records_malformed_total", topic=TOPICS.queries) == 1
    assert reading(engine, query_rows.read_queries) == []


def test_what_alerting_does_not_look_at_is_kept(engine: Engine, storage: Storage) -> None:
    said: dict[str, Any] = {
        "occurred": {"mean_us": 1, "std_s": 0.5, "p05_us": 0, "p95_us": 2},
        "chance_rate_hz": 1.25e-05,
        "not_known_yet": [None],
    }
    storage.store([match_record("m-1", **said)], [])
    assert json.loads(reading(engine, read_match, "m-1") or "") == match("m-1", **said)


def test_what_is_stored_stands_on_one_line(engine: Engine, storage: Storage) -> None:
    storage.store([record(TOPICS.matches, json.dumps(match(area="a\nb"), indent=2).replace("\n", "\r\n").encode())], [])
    body = reading(engine, read_match, "m-1") or ""
    assert "\n" not in body
    assert "\r" not in body
    assert json.loads(body)["area"] == "a\nb"


def test_positions_move_together_with_the_rows(engine: Engine, storage: Storage) -> None:
    storage.store([match_record("m-1")], [Position(TOPICS.matches, 0, "t", 5)])

    @event.listens_for(engine, "before_cursor_execute")
    def fail(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "positions" in statement:
            raise OperationalError(statement, {}, Exception("disk full"))

    with pytest.raises(OperationalError):
        storage.store([match_record("m-2")], [Position(TOPICS.matches, 0, "t", 6)])
    event.remove(engine, "before_cursor_execute", fail)
    assert reading(engine, read_positions) == [Position(TOPICS.matches, 0, "t", 5)]
    assert len(reading(engine, read_after, MatchFilter(), 0, 10)) == 1


def test_a_record_that_the_database_refuses_does_not_stop_the_others(
    engine: Engine, storage: Storage, metrics: Metrics
) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER no BEFORE INSERT ON matches WHEN new.id = 'm-2' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    stored = storage.store([match_record(f"m-{n}") for n in (1, 2, 3)], [Position(TOPICS.matches, 0, "t", 3)])
    assert len(stored) == 2
    assert counted(metrics, "records_malformed_total", topic=TOPICS.matches) == 1
    assert [position.next_offset for position in reading(engine, read_positions)] == [3]


def test_dead_letters_are_stored_once_with_or_without_an_id(engine: Engine, storage: Storage, metrics: Metrics) -> None:
    storage.store([dead_letter_record("d-1"), dead_letter_record("d-1"), dead_letter_record(None)], [])
    storage.store([dead_letter_record(None), dead_letter_record(None, reason="malformed_frame")], [])
    rows = reading(engine, read_newest_first, DeadLetterFilter(), None, 10)
    assert len({row.id for row in rows}) == len(rows) == 3
    assert counted(metrics, "records_duplicate_total", topic=TOPICS.dead_letters) == 2


def test_a_record_that_came_out_of_order_is_history_but_not_the_state(engine: Engine, storage: Storage) -> None:
    storage.store([change_record("q", 1), change_record("q", 3, paused=True), change_record("q", 2)], [])
    storage.store([change_record("q", 1)], [])
    state = reading(engine, query_rows.read_query, "q")
    assert state is not None
    assert (state.version, state.paused) == (3, True)
    assert [version.version for version in reading(engine, query_rows.read_versions, "q")] == [3, 2, 1]


def test_a_removed_query_is_gone_but_its_versions_stay(engine: Engine, storage: Storage) -> None:
    storage.store([change_record("q", 1), change_record("q", 2, removed=True)], [])
    assert reading(engine, query_rows.read_query, "q") is None
    assert reading(engine, query_rows.read_queries) == []
    assert reading(engine, query_rows.greatest_version, "q") == 2
    assert reading(engine, query_rows.read_versions, "q")[1].query == query("q")


def test_applied_is_what_every_shard_has_applied(engine: Engine, storage: Storage) -> None:
    def applied(id_: str) -> int | None:
        return query_rows.applied_version(reading(engine, query_rows.read_status), id_)

    assert applied("q") is None
    storage.store([status_record(0, {"q": 3, "r": 1}), status_record(1, {"q": 2})], [])
    assert applied("q") == 2
    assert applied("r") is None
    storage.store([status_record(1, {"q": 3, "r": 1})], [])
    assert applied("q") == 3
    storage.store([status_record(1, {"q": 1}), record(TOPICS.status, None, key=b"shard-1")], [])
    assert applied("q") == 3  # shard 1 is no more
