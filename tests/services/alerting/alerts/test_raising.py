import json
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine

from services.alerting.receivers.alertmanager import posted
from services.alerting.receivers.people import text_of
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import Receiver, Receivers, WebhookWay
from services.common.log.records import Record
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    TOPICS,
    Database,
    change_record,
    control_record,
    episode_record,
    match_record,
    query,
    ruled,
    silence,
)

NOW_US = RECEIVED_AT_MS * 1000
HOUR_US = 3_600_000_000


def webhook(id_: str, **fields: Any) -> Receiver:
    return Receiver(id=id_, webhook=WebhookWay(url="http://127.0.0.1:9/"), **fields)


@pytest.fixture(autouse=True)
def _ops(database: Database) -> None:
    database.raising.receivers = database.receivers = Receivers([webhook("ops"), webhook("dev")])


def test_an_episode_becomes_an_alert_with_its_outbox_in_one_transaction(database: Database) -> None:
    rows = database.store([ruled(title="Shot in {area}", to=["ops"]), episode_record()])
    [alert] = database.alerts()
    assert (alert["state"], alert["title"], alert["source"]) == ("firing", "Shot in bay", "e-1")
    assert database.outbox() == [("firing", "Shot in bay")]
    assert database.outbox("dev") == []
    assert [type(row).__name__ for row in rows] == ["StoredEpisode", "StoredAlert"]
    database.store([episode_record()])  # the same record again
    assert database.rows("deliveries") == database.rows("alert_transitions") == 1


def test_the_alert_of_a_spell_says_how_many_readings_it_has(database: Database) -> None:
    read = {"from": "heat", "value": "attributes.c", "where": {"above": 40}}
    rule = {"title": "{members} too hot", "resolve_after_s": 1}
    database.store([change_record("hot", 3, query={"id": "hot", "coalesce": read, "lasting_s": 60, "alert": rule})])
    of_each = {"sensor": "hall", "stream": "heat", "detected_at_us": 150, "attributes": {}}
    ends = [{"id": id_, **of_each} for id_ in ("first", "last")]
    spell: dict[str, Any] = {
        "query": "hot",
        "count": 48,
        "group": {"sensor": "hall"},
        "members": ends,
        "members_truncated": True,
        "best_probability": 1.0,
    }
    database.store([episode_record("e-hot", 1, **spell)])
    assert database.outbox() == [("firing", "48 too hot (sensor hall, stream heat)")]


HOT: dict[str, Any] = {"from": "heat", "value": "attributes.c", "where": {"above": 40}}
SLIDING = {"window": {"time_s": 60, "slide_s": 60}}


@pytest.mark.parametrize("coalesce", [HOT, {**HOT, **SLIDING}], ids=["spell", "window"])
@pytest.mark.parametrize(
    ("title", "group", "words", "labels"),
    [
        ({}, {"sensor": "suit-7"}, "hot in bay (sensor suit-7, stream heat)", {"sensor": "suit-7"}),
        ({"title": "{group} of {stream}!"}, {"sensor": "suit-7"}, "sensor suit-7 of heat!", {"sensor": "suit-7"}),
        ({"title": "{stream}"}, {"attributes.t-1": 7.5, "sensor": "a"}, "heat (t-1 7.5, sensor a)",
         {"attributes_t_1": "7.5", "sensor": "a"}),
        ({}, {"attributes.a-b": True, "attributes.a_b": "x\ny"}, "hot in bay (a-b true, a_b x y, stream heat)",
         {"attributes_a_b": "true", "attributes_a_b_": "x y"}),
        ({"labels": {"stream": "mine"}}, {}, "hot in bay (stream heat)", {"stream": "mine"}),
    ],
)  # fmt: skip
def test_an_alert_of_readings_says_whose_they_are_to_every_receiver(
    database: Database,
    coalesce: dict[str, Any],
    title: dict[str, Any],
    group: dict[str, Any],
    words: str,
    labels: dict[str, str],
) -> None:
    query = {"id": "hot", "coalesce": {**coalesce, "by": list(group)}, "lasting_s": 60, "alert": title}
    database.store([change_record("hot", 3, query=query)])
    database.store([episode_record("e-hot", 1, query="hot", group=group)])
    [alert] = database.alerts()
    assert (alert["title"], alert["group"], alert["stream"]) == (words, group, "heat")
    labels = {"stream": "heat", **labels}
    assert alert["labels"] == labels
    told = msgspec.convert(alert, Alert)
    shown = posted(told, 0)
    assert (shown["annotations"]["summary"], labels.items() <= shown["labels"].items()) == (words, True)
    assert "stream: heat" in text_of(told)
    assert all(f"{value}" in text_of(told) for name, value in labels.items() if name != "stream")


def test_an_alert_of_a_join_by_sensor_says_which_sensor(database: Database) -> None:
    database.store([ruled(title="Shot in {area}"), episode_record(group={"s.sensor": "geo-1"})])
    [alert] = database.alerts()
    assert (alert["title"], alert["labels"]) == ("Shot in bay (s.sensor geo-1)", {"s_sensor": "geo-1"})
    assert (alert["group"], alert["stream"]) == ({"s.sensor": "geo-1"}, None)


def test_a_silence_of_one_sensor_leaves_the_spells_of_others(database: Database) -> None:
    query = {"id": "hot", "coalesce": HOT, "lasting_s": 60, "alert": {"title": "{group}"}}
    database.store([silence(sensor="suit-*"), change_record("hot", 3, query=query)])
    of_each = [episode_record(f"e-{name}", 1, query="hot", group={"sensor": name}) for name in ("suit-7", "hall")]
    database.store(of_each)
    assert [title for _, title in database.outbox()] == ["sensor hall (stream heat)"]


def test_without_names_every_receiver_is_told(database: Database) -> None:
    database.store([ruled(), episode_record()])
    assert len(database.outbox()) == len(database.outbox("dev")) == 1


def test_a_query_that_coalesces_makes_no_alert_of_its_matches_and_one_without_a_rule_none_at_all(
    database: Database,
) -> None:
    database.store([ruled("a"), change_record("b", 1), ruled("c", 1, coalesces=False)])
    database.store(
        [match_record(f"m-{q}", query=q) for q in "abc"] + [episode_record("e-c", query="c", query_version=1)]
    )
    assert [(alert["query"], alert["source"]) for alert in database.alerts()] == [("c", "m-c")]


def test_the_rule_is_that_of_the_version_that_found_it(database: Database) -> None:
    database.store([change_record("intruder", 2, query={**query(), "coalesce": {"gap_s": 1}}), ruled(version=3)])
    database.store([episode_record("e-old", query_version=2), episode_record("e-new")])
    assert [alert["source"] for alert in database.alerts()] == ["e-new"]
    database.store([change_record("intruder", 5, removed=True), episode_record("e-late")])
    assert len(database.alerts()) == 2


def test_a_match_that_a_larger_one_supersedes_ends_its_alert(database: Database) -> None:
    database.store([ruled("sn1987a", 1, coalesces=False), match_record("m-1")])
    database.store([match_record("m-2", supersedes=["m-1"])])
    assert {alert["source"]: alert["state"] for alert in database.alerts()} == {"m-1": "resolved", "m-2": "firing"}


def test_time_resolves_what_is_closed_and_nothing_else(database: Database) -> None:
    database.store([ruled(resolve_after_s=60), episode_record("e-1"), episode_record("e-2", 2, "closed")])
    assert database.sweep(after_s=59) == []
    [row] = database.sweep(after_s=2)
    assert json.loads(row.body)["state"] == "resolved"
    assert {alert["source"]: alert["state"] for alert in database.alerts()} == {"e-1": "firing", "e-2": "resolved"}
    assert [change for change, _ in database.outbox()] == ["firing", "firing", "resolved"]


def test_a_flood_is_told_as_so_many_and_one_summary(database: Database) -> None:
    database.store([ruled(max_per_hour=3, title="{query}", to=["ops"])])
    database.store([episode_record(f"e-{n}", n) for n in range(5)])
    database.store([episode_record(f"e-{n}", n) for n in range(5, 10)])
    assert database.outbox() == [("firing", "intruder")] * 3 + [
        ("firing", "More than 3 alerts of intruder within an hour")
    ]
    [summary] = database.alerts(kind="system")
    assert summary["members"] == 7
    assert "7 further ones were sent to nobody" in summary["text"]
    assert {alert["withheld"] for alert in database.alerts(kind="episode")} == {None, "max_per_hour"}
    database.store([episode_record("e-next", 11, received_at_us=NOW_US + HOUR_US)])
    assert len(database.outbox()) == 5  # the next hour begins anew
    database.sweep(after_s=3600)
    assert database.outbox()[-1] == ("resolved", "More than 3 alerts of intruder within an hour")
    database.store([episode_record("e-9", 12, "retracted")])
    assert len(database.outbox()) == 6  # nobody hears of the end of what nobody heard of


def test_who_does_not_hear_of_the_system_hears_of_a_flood(database: Database) -> None:
    database.raising.receivers = database.receivers = Receivers([webhook("ops", system=False)])
    database.store([ruled(max_per_hour=1), episode_record("e-1"), episode_record("e-2", 2)])
    assert [title for _, title in database.outbox()] == [
        "intruder in bay",
        "More than 1 alerts of intruder within an hour",
    ]


def test_silence_withholds_and_its_end_tells_what_still_fires(database: Database) -> None:
    until_us = NOW_US + 100_000_000
    rule = ruled(resolve_after_s=1, labels={"site": "north-1"}, to=["ops"])
    database.store([rule, silence(until_us=until_us, site="north-*", severity="warning")])
    database.store([episode_record("e-open"), episode_record("e-over", 2, "closed")])
    assert database.outbox() == []
    assert {alert["withheld"] for alert in database.alerts()} == {"silence"}
    database.sweep(after_s=50)
    assert database.outbox() == []
    database.sweep(after_s=60)
    assert [change for change, _ in database.outbox()] == ["firing"]
    assert {alert["source"]: alert["withheld"] for alert in database.alerts()} == {"e-open": None, "e-over": "silence"}
    database.sweep()
    assert len(database.outbox()) == 1


@pytest.mark.parametrize("matchers", [{"site": "south"}, {"query": "other"}, {"query": "*", "nothing": "x"}])
def test_a_silence_for_others_withholds_nothing(database: Database, matchers: dict[str, Any]) -> None:
    database.store([ruled(labels={"site": "north"}, to=["ops"]), silence(**matchers), episode_record()])
    assert len(database.outbox()) == 1


def test_an_acknowledged_alert_is_told_to_programs_and_not_again(database: Database) -> None:
    database.store([ruled(severity=[[0, "low"], [0.9, "high"]], to=["ops"]), episode_record()])
    [alert] = database.alerts()
    database.store([_acknowledgement(alert["id"])])
    database.store([episode_record("e-1", 2)])
    [alert] = database.alerts()
    assert (alert["state"], alert["acknowledged"]["by"]) == ("acknowledged", "ann")
    assert database.history(alert["id"]) == ["firing", "acknowledged"]
    database.store([episode_record("e-1", 3, best_probability=0.95)])
    assert [change for change, _ in database.outbox()] == ["firing", "acknowledged", "escalated"]


def _acknowledgement(alert: str) -> Record:
    said = {"v": 1, "alert": alert, "by": "ann", "why": "on it", "at_us": NOW_US + 1}
    return control_record(f"acknowledgement/{alert}", said, TOPICS.deliveries)


def test_a_database_made_anew_tells_nobody_twice(database: Database, another_engine: Engine) -> None:
    records = [ruled(resolve_after_s=1)]
    records += [episode_record("e-1", 1), episode_record("e-1", 2, "closed"), episode_record("e-2", 3)]
    database.store(records)
    database.sweep(after_s=5)
    memory = [*database.delivered("ops", "dev"), _acknowledgement(database.alerts()[0]["id"])]
    told = [*database.outbox(), *database.outbox("dev")]
    assert len(told) == 6

    again = Database(another_engine)
    again.raising.receivers = database.receivers
    again.now_us = database.now_us
    again.store(memory)
    for each in records:  # in other batches than before
        again.store([each])
    again.sweep()
    assert (
        again.outbox() + again.outbox("dev") == [("acknowledged", "intruder in bay")] * 2
    )  # which nobody had heard of
    assert [alert["state"] for alert in again.alerts()] == ["acknowledged", "resolved"]


def test_what_is_older_than_a_day_and_who_is_nobody_is_dead_with_its_reason(database: Database) -> None:
    database.store([ruled(to=["ops", "nobody"])])
    database.store([episode_record("e-old", received_at_us=NOW_US - 90_000_000_000), episode_record("e-now", 2)])
    assert len(database.outbox()) == 1
    from services.alerting.store.delivery_rows import read_newest_first  # noqa: PLC0415

    reasons = {
        name: [row.reason for row in database.read(read_newest_first, name, "dead", None, 10)]
        for name in ("ops", "nobody")
    }
    assert reasons == {
        "ops": ["it was too old to tell when it was found"],
        "nobody": ["there is no receiver of this name"] * 2,
    }


def test_the_outbox_of_one_receiver_is_bounded(database: Database) -> None:
    from services.alerting.alerts.raising import OutboxLimits  # noqa: PLC0415

    database.raising.limits = OutboxLimits(most_waiting=3)
    database.store([ruled(to=["ops"])] + [episode_record(f"e-{n}", n) for n in range(5)])
    assert len(database.outbox()) == 3
    assert database.rows("deliveries") == 5


def test_receivers_come_and_go_with_their_records(database: Database) -> None:
    body = {"v": 1, "receiver": {"webhook": {"url": "https://example.org/"}}}
    database.store([control_record("receiver/new", body), control_record("receiver/ops", {**body, "receiver": {}})])
    assert [each.id for each in database.receivers.all()] == ["dev", "new", "ops"]
    database.store([ruled(to=["new"]), episode_record()])
    assert len(database.outbox("new")) == 1
    database.store([control_record("receiver/new", None)])
    assert [each.id for each in database.receivers.all()] == ["dev", "ops"]
    database.sweep()
    assert database.outbox("new") == []  # nothing waits for who is no more
    assert database.rows("deliveries") == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("silence/s", {"v": 1}),
        ("receiver/r", [1]),
        ("other/x", {"v": 1}),
        ("silence/s", b"{"),
        ("acknowledgement/a", {"v": 2}),
    ],
)
def test_a_control_that_is_none_is_counted_and_stops_nothing(database: Database, key: str, value: object) -> None:
    database.store([control_record(key, value), ruled(to=["ops"]), episode_record()])
    assert len(database.outbox()) == 1
    assert database.count("records_malformed_total", topic=TOPICS.alert_controls) == 1
