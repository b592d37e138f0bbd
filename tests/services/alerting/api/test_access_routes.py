"""Keys over REST, and the audit trail of queries; Kafka is a list."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from coincide.wire.fields import LONGEST_NAME
from services.common.access.access_keys import KEYS, hash_of, id_in
from services.common.access.asgi import Guarded
from tests.services.alerting.clients import Api

WANTED = {"name": "gateway", "scopes": ["ingest"], "areas": ["bay"], "sensors": ["geo-*"]}
QUERY = {
    "from": {"a": "seismic", "b": "acoustic"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.5}],
}


def test_a_key_is_made_shown_listed_and_revoked(api: Api) -> None:
    made = api.client.post("/v1/keys", json=WANTED)
    assert made.status_code == 201
    body = made.json()
    text = body.pop("key")
    assert id_in(text) == body["id"]
    assert (made.headers["location"], made.headers["cache-control"]) == (f"/v1/keys/{body['id']}", "no-store")
    assert {name: body[name] for name in WANTED} == WANTED
    assert api.client.get(f"/v1/keys/{body['id']}").json() == body
    assert api.client.get("/v1/keys").json() == {"items": [body], "next_cursor": None}
    [(_, value)] = api.records.topics[KEYS]
    assert hash_of(text).encode() in (value or b"")
    assert text.encode() not in (value or b"")
    assert api.client.delete(f"/v1/keys/{body['id']}").status_code == 204
    assert api.client.get(f"/v1/keys/{body['id']}").status_code == 404
    assert api.client.delete(f"/v1/keys/{body['id']}").status_code == 404
    assert [each["action"] for each in api.records.changes] == ["key.made", "key.revoked"]
    assert not any(hash_of(text) in str(each) or text in str(each) for each in api.records.changes)


def test_keys_are_listed_in_pages(api: Api) -> None:
    made = {api.client.post("/v1/keys", json={**WANTED, "name": f"key {n}"}).json()["id"] for n in range(5)}
    pages: list[list[str]] = []
    cursor: dict[str, str] = {}
    while not pages or cursor:
        page = api.client.get("/v1/keys", params={"limit": 2, **cursor}).json()
        pages.append([each["id"] for each in page["items"]])
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [id_ for page in pages for id_ in page] == sorted(made)


def test_a_key_names_the_longest_area_and_sensor_in_full(api: Api) -> None:
    longest = {"areas": ["a" * LONGEST_NAME], "sensors": ["s" * LONGEST_NAME]}
    made = api.client.post("/v1/keys", json={**WANTED, **longest})
    assert (made.status_code, made.json()["areas"], made.json()["sensors"]) == (201, *longest.values())


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"areas": []}, "areas"),
        ({"areas": ["x" * (LONGEST_NAME + 1)]}, "areas"),
        ({"requests_per_s": 0}, "requests_per_s"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_key_that_cannot_be_is_a_sentence(api: Api, wrong: dict[str, Any], named: str) -> None:
    refused = api.client.post("/v1/keys", json={**WANTED, **wrong})
    assert refused.status_code == 422
    assert named in refused.json()["detail"]
    assert not api.records.topics[KEYS]


def test_without_kafka_no_key_is_made_or_revoked(api: Api) -> None:
    made = api.client.post("/v1/keys", json=WANTED).json()
    api.records.is_away = True
    assert api.client.post("/v1/keys", json=WANTED).status_code == 503
    assert api.client.delete(f"/v1/keys/{made['id']}").status_code == 503


def test_every_change_of_a_query_is_audited_and_no_change_is_none(api: Api) -> None:
    assert api.client.put("/v1/queries/q", json=QUERY).status_code == 201
    any_version = {"If-Match": "*"}
    api.client.put("/v1/queries/q", json=QUERY, headers=any_version).raise_for_status()  # changes nothing
    api.client.patch("/v1/queries/q/threshold", json={"threshold": 0.6}, headers=any_version).raise_for_status()
    api.client.post("/v1/queries/q/pause", headers=any_version).raise_for_status()
    assert api.client.patch("/v1/queries/q", json={"within": 3}, headers=any_version).status_code == 422
    api.client.delete("/v1/queries/q", headers=any_version).raise_for_status()
    told = api.records.changes
    assert [each["action"] for each in told] == ["query.created", *["query.changed"] * 2, "query.removed"]
    assert [(each["subject"], each["name"]) for each in told] == [("q", "anybody")] * 4
    assert [each["after"] for each in told[:-1]] == [each["before"] for each in told[1:]]
    assert told[0]["before"] is told[-1]["after"] is None


def test_a_change_says_why_if_its_author_does(api: Api) -> None:
    api.client.put("/v1/queries/q", json=QUERY).raise_for_status()
    path, seen = "/v1/queries/q", {"If-Match": "*"}
    for reason in ("fewer false alarms", "weniger Fehlalarme am Übergang", None):
        headers = {b"If-Match": b"*"} | ({} if reason is None else {b"Change-Reason": reason.encode()})
        threshold = 0.31 if reason is None else len(reason) / 100
        api.client.patch(f"{path}/threshold", json={"threshold": threshold}, headers=headers).raise_for_status()
    said = [change["why"] for change in api.records.changes]
    assert said[-3:] == ["fewer false alarms", "weniger Fehlalarme am Übergang", None]
    long = api.client.post(f"{path}/pause", headers={**seen, "Change-Reason": "x" * 501})
    assert (long.status_code, "at most 500" in long.json()["detail"]) == (422, True)


def test_a_change_stands_though_its_audit_record_is_lost(api: Api) -> None:
    api.records.is_away = True
    assert api.client.put("/v1/queries/q", json=QUERY).status_code == 201
    lost = api.access.registry.get_sample_value("coincide_alerting_changes_unaudited_total")
    assert lost == 1


def test_a_caller_is_told_who_it_is_and_what_it_may_do(api: Api) -> None:
    assert api.client.get("/v1/caller").json() == {"key": None, "name": "anybody", "scopes": ["admin"]}
    text = api.records.make("ann", ["read", "alerts"])
    guarded = TestClient(Guarded(api.client.app, api.access.guard), base_url="http://localhost")
    answer = guarded.get("/v1/caller", headers={"Authorization": f"Bearer {text}"}).json()
    assert answer == {"key": id_in(text), "name": "ann", "scopes": ["read", "alerts"]}
    gateway = api.records.make("gateway", ["ingest"])
    assert guarded.get("/v1/caller", headers={"Authorization": f"Bearer {gateway}"}).status_code == 403


def test_the_root_leads_to_the_console(api: Api) -> None:
    answer = api.client.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "http://127.0.0.1:8000/")
