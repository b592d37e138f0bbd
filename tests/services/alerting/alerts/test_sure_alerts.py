"""Alerts that say how sure it is that they are of one event, and rules that wait until that is known."""

import itertools
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine

from services.alerting.receivers.alertmanager import posted
from services.alerting.receivers.people import text_of
from services.alerting.receivers.webhook import cloud_event
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import Receiver, Receivers, WebhookWay
from services.alerting.store.delivery_rows import read_waiting
from services.common.log.records import Record
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    Database,
    evidence_record,
    match_record,
    ruled,
)

NOW_US = RECEIVED_AT_MS * 1000
LATER_MS = RECEIVED_AT_MS + 90_000  # after resolve_after_s of the match

OPS = Receiver(id="ops", webhook=WebhookWay(url="http://127.0.0.1:9/"))


@pytest.fixture(autouse=True)
def _ops(database: Database) -> None:
    database.raising.receivers = database.receivers = Receivers([OPS])


def rule(**fields: Any) -> Record:
    return ruled("sn1987a", 1, coalesces=False, has_event=True, **fields)


def states(database: Database) -> dict[str, str]:
    return {alert["source"]: alert["state"] for alert in database.alerts(kind="match")}


def test_a_rule_waits_for_the_evidence(database: Database) -> None:
    database.store([rule(min_posterior=0.9), match_record("m-1"), match_record("m-2"), match_record("m-3")])
    database.sweep(after_s=100)
    assert database.alerts() == []
    database.store([evidence_record("m-1", 0.997, LATER_MS), evidence_record("m-2", 0.5), evidence_record("m-3", None)])
    [alert] = database.alerts()
    assert (alert["source"], alert["state"], alert["fired_at_us"]) == ("m-1", "firing", LATER_MS * 1000)
    assert database.outbox() == [("firing", "sn1987a in sn1987a")]
    database.sweep(after_s=49)  # 60 s after the evidence, not after the match
    assert states(database) == {"m-1": "firing"}
    database.sweep(after_s=2)
    assert states(database) == {"m-1": "resolved"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_rule_that_waits_makes_one_alert_whatever_comes_first(database: Database, order: tuple[int, ...]) -> None:
    """The rule is there first; the match, its evidence and that again in any order, and together."""
    records = [match_record("m-1"), evidence_record("m-1", 0.997), evidence_record("m-1", 0.997)]
    database.store([rule(min_posterior=0.9)])
    for place in order:
        database.store([records[place]])
    database.store(records)
    [alert] = database.alerts()
    assert database.history(alert["id"]) == ["firing"]
    assert len(database.outbox()) == 1


def test_evidence_of_a_match_that_was_superseded_or_never_came_makes_no_alert(database: Database) -> None:
    database.store([rule(min_posterior=0.9), match_record("m-1"), match_record("m-2", supersedes=["m-1"])])
    database.store([evidence_record("m-1", 1.0), evidence_record("m-never", 1.0)])
    assert database.alerts() == []
    database.store([evidence_record("m-2", 1.0)])
    assert states(database) == {"m-2": "firing"}


def test_without_min_posterior_an_alert_fires_at_once_and_says_later_how_sure_it_is(database: Database) -> None:
    database.store([rule(title="{query}: {posterior}"), match_record("m-1")])
    [early] = database.alerts()
    assert (early["text"], early["posterior"], early["title"]) == (None, None, "sn1987a: unknown")
    database.store([evidence_record("m-1", 0.997, LATER_MS)])
    [alert] = database.alerts()
    assert (alert["text"], alert["posterior"], alert["title"]) == ("One event, 99.7 %.", 0.997, "sn1987a: 99.7 %")
    assert (alert["fired_at_us"], alert["resolve_at_us"]) == (early["fired_at_us"], early["resolve_at_us"])
    assert database.history(alert["id"]) == ["firing"]
    assert len(database.outbox()) == 1  # nobody is told again


def test_evidence_reopens_no_alert_that_is_over_but_is_shown_with_it(database: Database) -> None:
    database.store([rule(), match_record("m-1")])
    database.sweep(after_s=61)
    database.store([evidence_record("m-1", 0.997, LATER_MS)])
    [alert] = database.alerts()
    assert (alert["state"], alert["text"]) == ("resolved", "One event, 99.7 %.")
    assert database.history(alert["id"]) == ["firing", "resolved"]


def test_a_database_made_anew_tells_nobody_again(database: Database, another_engine: Engine) -> None:
    records = [rule(min_posterior=0.9), match_record("m-1"), evidence_record("m-1", 0.997, LATER_MS)]
    for each in records:
        database.store([each])
    anew = Database(another_engine)
    anew.receivers = anew.raising.receivers = Receivers([OPS])
    anew.store(database.delivered("ops"))
    anew.store([records[2], records[0], records[1]])
    assert [alert["state"] for alert in anew.alerts()] == ["firing"]
    assert anew.outbox() == []


@pytest.mark.parametrize(
    ("posterior", "bounds", "words"),
    [
        (0.997, (0.997, 0.997), "99.7 %"),
        (1.0, (1.0, 1.0), "more than 99.9 %"),
        (0.99951, (0.99951, 0.99951), "more than 99.9 %"),
        (0.0, (0.0, 0.0), "less than 0.1 %"),
        (0.9, (0.8, 1.0), "80.0 % to more than 99.9 %"),
        (0.5, (0.49999, 0.50001), "50.0 %"),
    ],
)
def test_every_receiver_is_told_how_sure_it_is(
    database: Database, posterior: float, bounds: tuple[float, float], words: str
) -> None:
    least, greatest = bounds
    said = evidence_record("m-1", posterior, posterior_least=least, posterior_greatest=greatest)
    database.store([rule(), said, match_record("m-1")])
    [waiting] = database.read(read_waiting, "ops", [], 9)
    sentence = f"One event, {words}."
    told = msgspec.to_builtins(cloud_event(waiting))["data"]
    assert (told["text"], told["posterior"]) == (sentence, posterior)
    assert (told["posterior_least"], told["posterior_greatest"]) == bounds
    shown = posted(waiting.alert, 0)["annotations"]
    assert (shown["description"], shown["posterior"]) == (sentence, f"{posterior:.4g}")
    assert text_of(waiting.alert).startswith(f"{sentence}\n")
    assert isinstance(waiting.alert, Alert)
