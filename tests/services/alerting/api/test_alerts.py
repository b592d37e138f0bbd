import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from services.alerting.records.receiver import Receiver
from services.alerting.settings import AlertingSettings
from services.common.clock import in_rfc_3339, system_clock_us
from tests.integration.webhook_sink import SECRET, running_sink
from tests.services.alerting.clients import Api, running_api
from tests.services.alerting.sample_records import (
    RECEIVED_AT_MS,
    TOPICS,
    Database,
    control_record,
    episode_record,
    query,
    ruled,
    silence,
)

SEEN = {"If-Match": "*"}
DRILL = {"matchers": {"area": "b*"}, "until": system_clock_us() + 86_400_000_000, "by": "ann", "why": "drill"}
CONTRACTS = Path("docs/contracts")
HOOK = {"webhook": {"url": "https://example.org/hook", "secret": SECRET}}


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((CONTRACTS / f"{name}.schema.json").read_text(encoding="utf-8")))


def in_days(days: int) -> str:
    return in_rfc_3339(system_clock_us() + days * 86_400_000_000) or ""


def fire(api: Api, *ids: str, **rule: Any) -> dict[str, str]:
    """Make an alert of each of these episodes; return their ids by that of the episode."""
    api.store(ruled(**rule), *(episode_record(id_, nth) for nth, id_ in enumerate(ids)))
    return {alert["source"]: alert["id"] for alert in api.database.alerts()}


def test_alerts_are_listed_by_filters_in_pages_and_other_formats(api: Api) -> None:
    fire(api, *(f"e-{n}" for n in range(7)), severity="critical")
    pages = list(api.pages("/v1/alerts", severity="critical", query="intruder"))
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [alert["source"] for page in pages for alert in page] == [f"e-{n}" for n in reversed(range(7))]
    for nothing in ({"state": "resolved"}, {"area": "elsewhere"}, {"kind": "system"}, {"to": "1990-01-01T00:00:00Z"}):
        assert api.items("/v1/alerts", **nothing) == []
    assert api.client.get("/v1/alerts", params={"format": "csv"}).text.startswith("id,kind,source,query")
    assert api.client.get("/v1/alerts", params={"query": "never"}).status_code == 404
    assert [fault.message for alert in pages[0] for fault in schema("alert").iter_errors(alert)] == []


def test_an_alert_is_acknowledged_and_its_history_says_by_whom(api: Api) -> None:
    [id_] = fire(api, "e-1").values()
    answer = api.client.post(f"/v1/alerts/{id_}/acknowledge", json={"by": "ann", "why": "on it"})
    assert (answer.status_code, answer.json()["state"]) == (200, "acknowledged")
    assert api.client.get(f"/v1/alerts/{id_}").json() == answer.json()
    history = api.items(f"/v1/alerts/{id_}/history")
    assert [each["change"] for each in history] == ["acknowledged", "firing"]
    assert history[0]["acknowledged"]["by"] == "ann"
    assert [fault.message for fault in schema("alert").iter_errors(answer.json())] == []
    said = [json.loads(each.value or b"") for each in api.kafka.topic if each.topic == TOPICS.deliveries]
    assert [fault.message for each in said for fault in schema("deliveries").iter_errors(each)] == []


def test_what_cannot_be_acknowledged_is_refused(api: Api) -> None:
    [id_] = fire(api, "e-1").values()
    api.store(episode_record("e-1", 2, "retracted"))
    assert api.client.post(f"/v1/alerts/{id_}/acknowledge", json={"by": "ann"}).status_code == 409
    assert api.client.post("/v1/alerts/a-none/acknowledge", json={"by": "ann"}).status_code == 404
    assert api.client.post(f"/v1/alerts/{id_}/acknowledge", json={}).status_code == 422
    for path in ("/v1/alerts/a-none", "/v1/alerts/a-none/history", "/v1/silences/s-none", "/v1/receivers/none"):
        assert api.client.get(path).status_code == 404


def test_without_kafka_nothing_is_said_to_have_been_done(api: Api) -> None:
    [id_] = fire(api, "e-1").values()
    api.kafka.is_away = True
    answer = api.client.post(f"/v1/alerts/{id_}/acknowledge", json={"by": "ann"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert api.client.get(f"/v1/alerts/{id_}").json()["state"] == "firing"


def test_a_silence_begins_is_listed_and_ends(api: Api) -> None:
    said = {"matchers": {"area": "b*"}, "until": in_days(1), "by": "ann", "why": "drill"}
    assert api.client.post("/v1/silences", json={**said, "until": in_days(367)}).status_code == 422
    answer = api.client.post("/v1/silences", json=said)
    assert (answer.status_code, answer.json()["active"]) == (201, True)
    record = json.loads(api.kafka.topic[-1].value or b"")
    assert [fault.message for fault in schema("alert-controls").iter_errors(record)] == []
    api.database.now_us = answer.json()["created_at_us"]
    api.store(ruled(), episode_record(received_at_us=answer.json()["created_at_us"] + 1))
    [alert] = api.items("/v1/alerts")
    assert alert["withheld"] == "silence"
    id_ = answer.json()["id"]
    assert api.client.delete(f"/v1/silences/{id_}", headers=SEEN).status_code == 204
    [shown] = api.items("/v1/silences")
    assert (shown["active"], shown["id"], shown["version"]) == (False, id_, 2)
    assert api.client.delete(f"/v1/silences/{id_}", headers=SEEN).status_code == 204
    assert api.items("/v1/silences") == []
    told = [each["action"] for each in api.records.changes]
    assert told == ["silence.begun", "silence.ended", "silence.forgotten"]


def test_a_silence_is_changed_by_who_has_seen_it(api: Api) -> None:
    said = {"matchers": {"area": "b*"}, "until": in_days(1), "by": "ann", "why": "drill"}
    begun = api.client.put("/v1/silences/drill", json=said)
    assert (begun.status_code, begun.headers["ETag"], begun.json()["active"]) == (201, '"1"', True)
    longer = {"until": begun.json()["until_us"] + 3_600_000_000}
    assert api.client.patch("/v1/silences/drill", json=longer).status_code == 428
    changed = api.client.patch("/v1/silences/drill", json=longer, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    for name in ("from_us", "matchers", "created_at_us"):
        assert changed.json()[name] == begun.json()[name]
    assert changed.json()["until_us"] == longer["until"]
    assert api.client.delete("/v1/silences/drill", headers={"If-Match": '"1"'}).status_code == 412
    assert api.client.get("/v1/silences/drill").headers["ETag"] == '"2"'
    same = {**said, "until": longer["until"]}
    again = api.client.put("/v1/silences/drill", json=same, headers={"If-Match": '"2"'})
    assert (again.status_code, again.headers["ETag"]) == (200, '"2"')  # it is so already
    assert [each["action"] for each in api.records.changes] == ["silence.begun", "silence.changed"]
    for wrong in ({"until": in_days(-1)}, {"sensr": "a"}, {"matchers": {"sensr": "a"}}):
        assert api.client.patch("/v1/silences/drill", json=wrong, headers={"If-Match": "*"}).status_code == 422


def test_a_silence_of_an_older_record_is_ended_by_who_has_seen_version_0(api: Api) -> None:
    api.store(silence("s-1", area="bay"))
    assert api.client.get("/v1/silences/s-1").headers["ETag"] == '"0"'
    assert api.client.delete("/v1/silences/s-1", headers={"If-Match": '"0"'}).status_code == 204
    assert [(each["active"], each["version"]) for each in api.items("/v1/silences")] == [(False, 1)]


def test_a_silence_may_keep_a_label_that_no_alert_has_any_more(api: Api) -> None:
    api.store(silence("s-1", team="sea"))
    longer = api.client.patch("/v1/silences/s-1", json={"from": in_days(0), "until": in_days(1)}, headers=SEEN)
    assert (longer.status_code, longer.json()["matchers"]) == (200, {"team": "sea"})
    refused = api.client.patch("/v1/silences/s-1", json={"matchers": {"taem": "sea"}}, headers=SEEN)
    assert (refused.status_code, refused.json()["field"]) == (422, "matchers.taem")


def test_there_are_at_most_so_many_silences(database: Database) -> None:
    with running_api(database, AlertingSettings(silences_max=1)) as api:
        said = {"matchers": {"area": "b*"}, "until": in_days(1), "by": "ann", "why": "drill"}
        answers = [api.client.put(f"/v1/silences/{name}", json=said) for name in ("first", "second")]
        answers.append(api.client.patch("/v1/silences/first", json={"why": "wind"}, headers=SEEN))
    assert [each.status_code for each in answers] == [201, 409, 200]


@pytest.mark.parametrize(
    "wrong",
    [
        {"matchers": {}},
        {"matchers": {"area": "*" * 201}},
        {"until": "1990-01-01T00:00:00Z"},
        {"by": ""},
        {"by": "ann\0"},
        {"why": "\0"},
        {"matchers": {"area": "b\0y"}},
        {"other": 1},
    ],
)
def test_a_silence_that_is_none_is_refused(api: Api, wrong: dict[str, Any]) -> None:
    said = {"matchers": {"area": "bay"}, "until": in_days(1), "by": "ann", "why": "drill"}
    assert api.client.post("/v1/silences", json={**said, **wrong}).status_code == 422
    assert api.kafka.topic == []


def test_a_receiver_is_set_shown_without_its_secret_and_removed(api: Api) -> None:
    assert api.client.put("/v1/receivers/ops", json=HOOK).status_code == 201
    answer = api.client.put("/v1/receivers/ops", json={**HOOK, "system": False}, headers=SEEN)
    assert (answer.status_code, answer.json()["system"]) == (200, False)
    shown = api.client.get("/v1/receivers").text
    assert SECRET not in shown
    record = json.loads(api.kafka.topic[-1].value or b"")
    assert [fault.message for fault in schema("alert-controls").iter_errors(record)] == []
    assert api.client.delete("/v1/receivers/ops", headers=SEEN).status_code == 204
    assert api.items("/v1/receivers") == []
    assert api.client.delete("/v1/receivers/ops", headers=SEEN).status_code == 404


def test_nobody_overwrites_a_receiver_that_they_have_not_seen(api: Api) -> None:
    path = "/v1/receivers/ops"
    assert api.client.put(path, json=HOOK).headers["ETag"] == '"1"'
    assert api.client.put(path, json={**HOOK, "system": False}).status_code == 428
    patched = api.client.patch(path, json={"system": False}, headers={"If-Match": '"1"'})
    assert (patched.status_code, patched.headers["ETag"], patched.json()["version"]) == (200, '"2"', 2)
    receiver = api.database.receivers.get("ops")
    assert receiver is not None
    assert receiver.document == {**HOOK, "webhook": {**HOOK["webhook"], "timeout_s": 10.0}, "system": False}
    for method in ("PUT", "PATCH", "DELETE"):
        assert api.client.request(method, path, json=HOOK, headers={"If-Match": '"1"'}).status_code == 412
    assert api.client.get(path).headers["ETag"] == '"2"'
    again = {"webhook": None, "alertmanager": {"url": "https://example.org"}}
    assert api.client.patch(path, json=again, headers={"If-Match": '"2"'}).json()["webhook"] is None
    trail = [(each["action"], (each["after"] or {}).get("system")) for each in api.records.changes]
    assert trail == [("receiver.created", True), ("receiver.replaced", False), ("receiver.replaced", False)]


@pytest.mark.parametrize(("path", "document"), [("/v1/receivers/ops", HOOK), ("/v1/silences/drill", DRILL)])
def test_what_nobody_has_read_back_is_no_success_and_is_audited(api: Api, path: str, document: dict[str, Any]) -> None:
    api.kafka.is_read = False
    answer = api.client.put(path, json=document)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "not read back yet" in answer.json()["detail"]
    assert [each["subject"] for each in api.records.changes] == [path.rsplit("/", maxsplit=1)[-1]]


def test_a_receiver_of_an_older_record_has_version_0(api: Api) -> None:
    api.store(control_record("receiver/ops", {"v": 1, "receiver": HOOK}))
    answer = api.client.get("/v1/receivers/ops")
    assert (answer.headers["ETag"], answer.json()["changed_at_us"]) == ('"0"', None)
    changed = api.client.put("/v1/receivers/ops", json={**HOOK, "system": False}, headers={"If-Match": '"0"'})
    assert (changed.status_code, changed.json()["version"]) == (200, 1)


def test_the_id_of_a_receiver_is_that_of_the_path(api: Api) -> None:
    answer = api.client.put("/v1/receivers/ops", json={**HOOK, "id": "night"})
    assert (answer.status_code, answer.json()["field"]) == (422, "id")
    assert api.kafka.topic == []


def test_who_may_set_receivers_may_not_reach_everything(api: Api) -> None:
    mail = {"people": {"urls": ["json://10.0.0.1"]}}
    assert api.client.put("/v1/receivers/us", json=mail).status_code == 422
    with running_sink() as sink:
        for way in ("webhook", "alertmanager"):
            answer = api.client.put("/v1/receivers/home", json={way: {"url": sink.url}})
            assert (answer.status_code, answer.json()["field"]) == (422, f"{way}.url")
            assert "private address" in answer.json()["detail"]
        # one that was set before, or whose name has led elsewhere since, reaches nothing either
        hidden = json.dumps({"v": 1, "receiver": {"webhook": {"url": sink.url}}})
        api.kafka.publish("alert-controls", b"receiver/home", hidden.encode())
        answer = api.client.post("/v1/receivers/home/test")
        assert (answer.status_code, "private address" in answer.json()["detail"]) == (502, True)
        assert sink.tried == []


def test_a_query_tells_only_receivers_that_there_are(api: Api) -> None:
    told = {**query(), "alert": {"to": ["ops", "dve"]}}
    answer = api.client.put("/v1/queries/intruder", json=told)
    assert (answer.status_code, answer.json()["field"]) == (422, "alert.to")
    assert "there is no receiver 'ops' (there are none)" in answer.json()["detail"]
    api.client.put("/v1/receivers/ops", json=HOOK)
    answer = api.client.put("/v1/queries/intruder", json=told)
    assert "there is no receiver 'dve' (there are: ops)" in answer.json()["detail"]
    assert api.client.put("/v1/queries/intruder", json={**told, "alert": {"to": ["ops"]}}).status_code == 201
    seen = {"If-Match": "*", "Content-Type": "application/merge-patch+json"}
    assert api.client.patch("/v1/queries/intruder", json={"alert": {"to": ["x"]}}, headers=seen).status_code == 422


def test_a_receiver_that_a_query_names_is_not_removed(api: Api) -> None:
    api.client.put("/v1/receivers/ops", json=HOOK)
    tell_ops = {name: each for name, each in query().items() if name != "id"} | {"alert": {"to": ["ops"]}}
    for name in ("intruder", "guest"):
        assert api.client.put(f"/v1/queries/{name}", json=tell_ops).status_code == 201
    assert api.client.put("/v1/queries/other", json={**tell_ops, "alert": {}}).status_code == 201
    answer = api.client.delete("/v1/receivers/ops", headers=SEEN)
    assert (answer.status_code, "change or remove guest, intruder first" in answer.json()["detail"]) == (409, True)
    assert api.client.patch("/v1/receivers/ops", json={"system": False}, headers=SEEN).status_code == 200
    assert api.client.patch("/v1/queries/guest", json={"alert": {"to": None}}, headers=SEEN).status_code == 200
    assert "change or remove intruder first" in api.client.delete("/v1/receivers/ops", headers=SEEN).json()["detail"]
    assert api.client.delete("/v1/queries/intruder", headers=SEEN).status_code == 204
    assert api.client.delete("/v1/receivers/ops", headers=SEEN).status_code == 204


def test_a_query_keeps_the_name_of_a_receiver_that_the_file_has_no_more(api: Api) -> None:
    api.client.put("/v1/receivers/ops", json=HOOK)
    assert api.client.put("/v1/queries/intruder", json={**query(), "alert": {"to": ["ops"]}}).status_code == 201
    api.kafka.publish("alert-controls", b"receiver/ops", None)
    assert api.items("/v1/receivers") == []
    answer = api.client.patch("/v1/queries/intruder/threshold", json={"threshold": 0.4}, headers=SEEN)
    assert answer.status_code == 200  # what it tells is not what was changed
    guest = {**query(), "id": "guest", "alert": {"to": ["ops"]}}
    assert api.client.put("/v1/queries/guest", json=guest).json()["field"] == "alert.to"


def test_what_stands_in_the_file_is_tested_and_cannot_be_changed(api: Api) -> None:
    with running_sink() as sink:
        declared = Receiver.model_validate({"id": "ops", "webhook": {"url": sink.url, "secret": SECRET}})
        declared._is_declared = True
        api.database.receivers._declared["ops"] = declared
        api.database.receivers.replace_added({})
        assert api.client.post("/v1/receivers/ops/test").json() == {"delivered": True}
        assert (sink.told(), sink.faults) == (["firing"], [])
        sink.status = 500
        assert api.client.post("/v1/receivers/ops/test").status_code == 502
        for method in ("PUT", "PATCH", "DELETE"):
            assert api.client.request(method, "/v1/receivers/ops", json=HOOK).status_code == 409


def test_a_dead_delivery_is_listed_with_its_reason_and_sent_again(api: Api) -> None:
    api.client.put("/v1/receivers/ops", json=HOOK)
    fire(api, "e-1")
    [delivery] = api.items("/v1/receivers/ops/deliveries")
    assert (delivery["state"], delivery["change"]) == ("waiting", "firing")
    key = delivery["key"]
    dead = {"v": 1, "receiver": "ops", "key": key, "state": "dead", "at_us": RECEIVED_AT_MS * 1000, "attempts": 9}
    api.kafka.publish(
        "deliveries", f"delivery/ops/{key}".encode(), json.dumps({**dead, "reason": "answered 410"}).encode()
    )
    [delivery] = api.items("/v1/receivers/ops/deliveries", state="dead")
    assert (delivery["reason"], delivery["attempts"]) == ("answered 410", 9)
    assert api.client.post(f"/v1/receivers/ops/deliveries/{key}/resend").status_code == 202
    [again] = [each for each in api.records.changes if each["subject"] == key]
    assert (again["action"], again["after"]["receiver"]) == ("delivery.sent_again", "ops")
    [delivery] = api.items("/v1/receivers/ops/deliveries")
    assert delivery["state"] == "waiting"
    assert api.database.outbox() == [("firing", "intruder in bay")]
    assert api.client.post("/v1/receivers/ops/deliveries/n-none/resend").status_code == 404
