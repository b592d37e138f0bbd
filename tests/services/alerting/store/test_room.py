"""Records beyond the bytes that there are for them: the oldest go before their time, whatever they are."""

import time
from collections.abc import Callable

import pytest

from services.alerting.settings import AlertingSettings
from services.alerting.store.expiry import RECORDS, Expiry, Room
from services.common.log.records import Record
from tests.services.alerting.sample_records import (
    ROOM,
    Database,
    dead_letter_record,
    episode_record,
    evidence_record,
    match_record,
    ruled,
)

NOW_US = time.time_ns() // 1_000_000 * 1_000  # whole milliseconds, as Kafka's times are
HOUR_S = 3600.0


def emptied(database: Database, **most_bytes: int) -> Expiry:
    """Delete what is beyond until nothing is left to delete."""
    room = Room({**ROOM.most_bytes, **most_bytes}, ROOM.most_matches)
    expiry = Expiry(database.engine, database.metrics, (HOUR_S, HOUR_S), room, chunk_rows=3, every_s=60.0)
    while expiry.is_due():
        expiry.run_if_due()
    return expiry


def of_matches(n: int) -> Record:
    return match_record(f"m-{n:03}", received_at_us=NOW_US + 1_000 * n)


def of_episodes(n: int) -> Record:
    return episode_record(f"e-{n:03}", received_at_us=NOW_US + 1_000 * n)


def of_dead_letters(n: int) -> Record:
    return dead_letter_record(f"d-{n:03}", timestamp=NOW_US // 1_000 + n)


@pytest.mark.parametrize(
    ("table", "record", "with_it"),
    [
        ("matches", of_matches, ()),
        ("episode_revisions", of_episodes, ("episodes",)),
        ("dead_letters", of_dead_letters, ()),
        ("alert_transitions", of_episodes, ("alerts", "deliveries")),
    ],
)
def test_the_oldest_beyond_the_bytes_of_a_table_go_and_are_counted(
    database: Database, table: str, record: Callable[[int], Record], with_it: tuple[str, ...]
) -> None:
    database.store([ruled(to=["nobody"])])
    database.store([record(n) for n in range(20)])
    emptied(database)  # there is room for everything
    assert database.rows(table) == 20
    stored = database.count("stored_bytes", table=table)
    emptied(database, **{table: int(stored * 8 / 20) + 1})
    assert [database.rows(each) for each in (table, *with_it)] == [8] * (1 + len(with_it))
    assert database.count("rows_expired_total", table=table, reason="room") == 12
    assert database.count("rows_expired_total", table=table, reason="age") == 0
    with database.engine.connect() as connection:
        oldest_us = connection.exec_driver_sql(f"SELECT min(received_at_us) FROM {table}").scalar_one()
    assert oldest_us == NOW_US + 12_000


def test_a_flood_of_one_kind_takes_no_room_from_the_others(database: Database) -> None:
    database.store([of_matches(n) for n in range(5)])
    database.store([of_dead_letters(n) for n in range(200)])
    emptied(database, dead_letters=2_000)
    assert database.rows("matches") == 5
    assert 0 < database.rows("dead_letters") < 20


@pytest.mark.parametrize(("matches_kept_s", "dead_letters_kept_s"), [(HOUR_S, 60.0), (60.0, HOUR_S)])
def test_dead_letters_are_kept_for_a_time_of_their_own(
    database: Database, matches_kept_s: float, dead_letters_kept_s: float
) -> None:
    """What is ten minutes old goes where it is kept for a minute, and stays where it is kept for an hour."""
    settings = AlertingSettings(matches_kept_s=matches_kept_s, dead_letters_kept_s=dead_letters_kept_s)
    then_us = NOW_US - 600_000_000
    database.store([ruled(to=["nobody"])])
    database.store([match_record("m", received_at_us=then_us), episode_record("e", received_at_us=then_us)])
    database.store([dead_letter_record("d", timestamp=then_us // 1_000)])
    database.store([evidence_record("m", timestamp=then_us // 1_000)])
    Expiry(database.engine, database.metrics, settings.kept_s, ROOM, chunk_rows=9, every_s=60.0).run_if_due()
    assert {name: database.rows(name) for name in RECORDS} == {
        **dict.fromkeys(RECORDS, int(matches_kept_s == HOUR_S)),
        "dead_letters": int(dead_letters_kept_s == HOUR_S),
    }


def test_every_record_has_a_bound() -> None:
    assert set(ROOM.most_bytes) == set(RECORDS)
