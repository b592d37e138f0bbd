import random

import pytest
from sqlalchemy import Engine

from services.alerting.alerts.system_conditions import ConditionLimits
from services.alerting.records.receiver import Receiver, Receivers, WebhookWay
from services.common.log.records import Record
from tests.services.alerting.databases import ON_SQLITE
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    STATUS,
    Database,
    change_record,
    dead_letter_record,
    shard_record,
    status_record,
)

SUSPENDED = {"limit": "max_matches_per_s", "allowed": 50, "reached": 51, "received_at_us": RECEIVED_AT_MS * 1000}


@pytest.fixture(autouse=True)
def _ops(database: Database) -> None:
    receivers = [
        Receiver(id=id_, webhook=WebhookWay(url="http://127.0.0.1:9/"), system=id_ == "ops") for id_ in ("ops", "dev")
    ]
    database.raising.receivers = database.receivers = Receivers(receivers)


def now_ms(database: Database) -> int:
    return database.now_us // 1000


def batch(database: Database, detections: int) -> Record:
    """What fusion says after a batch."""
    return shard_record(0, totals={**STATUS["totals"], "detections": detections})._replace(
        timestamp_ms=now_ms(database)
    )


def states(database: Database) -> dict[str, str]:
    return {alert["source"]: alert["state"] for alert in database.alerts(kind="system")}


def test_a_suspended_query_rings_until_it_is_resumed(database: Database) -> None:
    database.store([change_record("q", 3), status_record(0, {"q": 3}, suspended={"bay": {**SUSPENDED, "area": "bay"}})])
    database.sweep()
    [alert] = database.alerts()
    assert (alert["title"], alert["area"], alert["state"]) == ("The query q is suspended in bay", "bay", "firing")
    assert "50 allowed, 51 reached" in alert["text"]
    database.sweep(after_s=60)
    assert database.outbox() == [("firing", alert["title"])]
    assert database.outbox("dev") == []  # which does not want to hear of the system
    database.store([change_record("q", 4)])  # resumed
    database.sweep()
    assert states(database) == {"query_suspended": "resolved"}
    database.store([status_record(0, {"q": 4}, suspended={"bay": {**SUSPENDED, "area": "bay", "received_at_us": 5}})])
    database.sweep()
    assert database.history(alert["id"]) == ["firing", "resolved", "reopened"]


def test_what_has_been_wrong_for_days_is_told_when_it_is_found(database: Database) -> None:
    database.now_us += 3 * 86_400_000_000
    database.store([change_record("q", 3), status_record(0, {"q": 3}, suspended={"": SUSPENDED})])
    database.sweep()
    assert database.outbox() == [("firing", "The query q is suspended everywhere")]


def test_a_line_stalls_if_detections_come_and_no_batch_ends_from_the_first_second_on(database: Database) -> None:
    database.conditions.note_end(100)
    database.sweep(after_s=3600)
    assert states(database) == {}  # nothing came
    database.conditions.note_end(101)
    database.sweep(after_s=74)
    assert states(database) == {}
    database.sweep(after_s=2)
    assert states(database) == {"line_stalled": "firing"}
    database.store([batch(database, 1)])
    database.sweep()
    assert states(database) == {"line_stalled": "resolved"}


def test_what_fusion_said_before_does_not_say_that_it_works(database: Database) -> None:
    before = batch(database, 5)
    database.now_us += 10_000_000
    database.conditions.note_end(1)
    database.conditions.note_end(2)
    database.store([before])
    database.sweep(after_s=76)
    assert states(database)["line_stalled"] == "firing"


def test_a_flood_of_dead_letters_rings_and_its_history_does_not(database: Database) -> None:
    old_ms = now_ms(database) - 120_000
    database.store([dead_letter_record(f"d-old-{n}", old_ms) for n in range(700)])
    database.sweep()
    assert states(database) == {}
    database.store([dead_letter_record(f"d-{n}", now_ms(database)) for n in range(601)])
    database.sweep()
    assert states(database) == {"dead_letter_flood": "firing"}
    database.conditions.note_unread_letters(0)
    database.sweep(after_s=61)
    assert states(database) == {"dead_letter_flood": "resolved"}


def test_no_detections_at_all_rings_after_a_day_if_there_ever_were_any(database: Database) -> None:
    database.sweep(after_s=2 * 86_400)
    database.store([batch(database, 7)])
    database.sweep()
    database.sweep(after_s=86_000)
    assert states(database) == {}
    database.store([batch(database, 7)])  # heartbeats end batches, too
    database.sweep(after_s=500)
    assert states(database) == {"no_detections": "firing"}
    database.store([batch(database, 8)])
    database.sweep()
    assert states(database) == {"no_detections": "resolved"}


def restarted(database: Database, after_s: float = 5.0, engine: Engine | None = None) -> Database:
    """What alerting is after a restart; with another `engine`, all that Kafka remembers of what was told."""
    later = Database(engine or database.engine)
    later.raising.receivers = later.receivers = database.receivers
    later.now_us = database.now_us + round(after_s * 1e6)
    if engine is not None:
        later.store(database.delivered("ops", "dev"))
    return later


def stall(database: Database, after_s: float = 76.0) -> None:
    database.conditions.note_end(100)
    database.conditions.note_end(101)
    database.sweep(after_s=after_s)


def test_a_restart_neither_ends_nor_repeats_that_the_line_has_stalled(database: Database) -> None:
    database.store([batch(database, 1)])
    stall(database)
    later = restarted(database)
    later.sweep()
    stall(later)
    [alert] = later.alerts()
    assert later.history(alert["id"]) == ["firing"]
    later.store([batch(later, 1)])
    later.sweep()
    assert later.history(alert["id"]) == ["firing", "resolved"]


def test_a_restart_neither_ends_nor_repeats_that_there_are_no_detections(database: Database) -> None:
    database.store([batch(database, 7)])
    database.sweep()
    database.sweep(after_s=86_500)
    assert database.outbox() == [("firing", "There are no detections at all")]
    later = restarted(database)
    later.store([batch(later, 7)])
    later.sweep()
    later.sweep(after_s=86_500)
    [alert] = later.alerts()
    assert later.history(alert["id"]) == ["firing"]
    later.store([batch(later, 8)])
    later.sweep()
    assert later.history(alert["id"]) == ["firing", "resolved"]


def test_a_restart_with_the_limits_taken_away_ends_both(database: Database) -> None:
    database.store([batch(database, 7)])
    database.sweep()
    stall(database, after_s=86_500)
    assert states(database) == {"line_stalled": "firing", "no_detections": "firing"}
    later = restarted(database)
    later.conditions.limits = ConditionLimits(line_stalled_s=None, no_detections_s=None)
    later.sweep()
    assert states(later) == {"line_stalled": "resolved", "no_detections": "resolved"}


def test_a_database_made_anew_tells_nobody_again_what_is_wrong_with_the_line(
    database: Database, another_engine: Engine
) -> None:
    for detections in (6, 7):  # the second time that both are wrong
        batches = [batch(database, detections)]
        database.store(batches)
        database.sweep()
        stall(database, after_s=86_500)
    assert len(database.outbox()) == 6
    later = restarted(database, engine=another_engine)
    later.store(batches)
    later.sweep()
    stall(later, after_s=86_500)
    assert states(later) == {"line_stalled": "firing", "no_detections": "firing"}
    assert later.outbox() == []


def test_a_database_made_anew_tells_nobody_again_of_a_flood(database: Database, another_engine: Engine) -> None:
    letters = [dead_letter_record(f"d-{n}", now_ms(database)) for n in range(601)]
    database.store(letters)
    database.sweep()
    assert database.outbox() == [("firing", "Many detections are dead letters")]
    later = restarted(database, engine=another_engine)
    later.store([each._replace(timestamp_ms=each.timestamp + 1_000) for each in letters])
    later.sweep()
    assert (states(later), later.outbox()) == ({"dead_letter_flood": "firing"}, [])
    later.conditions.note_unread_letters(0)
    later.sweep(after_s=61)
    assert later.outbox() == [("resolved", "Many detections are dead letters")]


def test_only_who_has_read_all_dead_letters_says_that_the_flood_is_over(database: Database) -> None:
    database.store([dead_letter_record(f"d-{n}", now_ms(database)) for n in range(601)])
    database.sweep()
    later = restarted(database)
    later.sweep()
    later.conditions.note_unread_letters(3)
    later.sweep()
    assert states(later) == {"dead_letter_flood": "firing"}
    later.conditions.note_unread_letters(0)
    later.sweep()
    assert states(later) == {"dead_letter_flood": "resolved"}


@ON_SQLITE  # ten thousand sweeps, which the other tests have, too
def test_a_day_of_a_quiet_system_rings_nobody(database: Database) -> None:
    """A batch every 5 s, for the heartbeats; a bang now and then, and a late report now and then."""
    chance, detections, end = random.Random(3), 0, 0
    for second in range(0, 86_400, 20):
        end += 4
        database.conditions.note_end(end)
        database.now_us += 20_000_000
        detections += 3 * (chance.random() < 0.01)
        records = [batch(database, detections)]
        if chance.random() < 0.02:
            records.append(dead_letter_record(f"d-{second}", now_ms(database)))
        database.store(records)
        if second % 100 == 0:
            database.sweep()
    assert database.alerts() == []
