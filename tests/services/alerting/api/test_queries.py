import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coincide.queries import query_from_json
from services.alerting.queries.edits import load_queries
from tests.services.alerting.clients import STREAMS, Api
from tests.services.alerting.sample_records import change_record, query, shard_record, status_record


def test_the_life_of_a_query(api: Api) -> None:
    created = api.client.put("/v1/queries/intruder", json=query())
    assert (created.status_code, created.headers["etag"]) == (201, '"1"')
    assert created.json()["applied_version"] is None

    seen = {"If-Match": '"1"'}
    changed = api.client.patch("/v1/queries/intruder/threshold", json={"threshold": 0.7}, headers=seen)
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert changed.json()["query"]["within"][0] == {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.7}

    api.store(status_record(0, {"intruder": 2}))
    assert api.client.get("/v1/queries/intruder").json()["applied_version"] == 2

    seen = {"If-Match": '"2"'}
    assert api.client.post("/v1/queries/intruder/pause", headers=seen).json()["paused"] is True
    replaced = api.client.put("/v1/queries/intruder", json=query(threshold=0.9), headers={"If-Match": '"3"'})
    assert (replaced.status_code, replaced.json()["paused"], replaced.json()["version"]) == (200, True, 4)
    resumed = api.client.post("/v1/queries/intruder/resume", headers={"If-Match": "*"})
    assert resumed.json()["paused"] is False

    patch = {"within": [{"between": ["s", "a"], "lo_s": -1, "hi_s": 9, "threshold": 1}], "sensors": "any"}
    patched = api.client.patch(
        "/v1/queries/intruder",
        content=json.dumps(patch),
        headers={"If-Match": '"5"', "Content-Type": "application/merge-patch+json"},
    )
    assert patched.json()["query"]["sensors"] == "any"
    assert patched.json()["query"]["within"][0]["hi_s"] == 9

    assert api.client.delete("/v1/queries/intruder", headers={"If-Match": '"6"'}).status_code == 204
    assert api.client.get("/v1/queries/intruder").status_code == 404
    assert api.client.get("/v1/queries").json() == {"items": []}

    again = api.client.put("/v1/queries/intruder", json=query())
    assert (again.status_code, again.json()["version"]) == (201, 8)  # 7 was the removal
    history = api.client.get("/v1/queries/intruder/versions").json()["items"]
    assert [version["version"] for version in history] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert [version["version"] for version in history if version["removed"]] == [7]
    removal = json.loads(api.kafka.topic[6].value or b"")
    del removal["changed_at_us"]
    assert removal == {"v": 1, "id": "intruder", "version": 7, "removed": True}


def test_a_change_that_changes_nothing_makes_no_version(api: Api) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    for response in (
        api.client.put("/v1/queries/intruder", json=query(), headers={"If-Match": '"1"'}),
        api.client.patch("/v1/queries/intruder", json={}, headers={"If-Match": '"1"'}),
        api.client.post("/v1/queries/intruder/resume", headers={"If-Match": '"1"'}),
    ):
        assert (response.status_code, response.headers["etag"]) == (200, '"1"')
    assert len(api.kafka.topic) == 1


def test_a_suspended_query_says_why_and_to_resume_it_makes_a_new_version(api: Api) -> None:
    path, seen = "/v1/queries/intruder", {"If-Match": "*"}
    api.client.put(path, json=query())
    why = {"limit": "max_matches_per_s", "allowed": 5000, "reached": 5004, "received_at_us": 7}
    why |= {"area": "bay", "sensor": "geo-1", "id": "d-1"}
    api.store(status_record(0, {"intruder": 1}), status_record(1, {"intruder": 1}, suspended={"bay": why}))
    expected = [{"shard": 1, "version": 1, "everywhere": False, **why}]
    assert api.client.get(path).json()["suspended"] == expected
    assert api.client.get("/v1/queries").json()["items"][0]["suspended"] == expected
    assert api.client.put(path, json=query(), headers=seen).headers["etag"] == '"1"'  # not by the way
    assert api.client.post(f"{path}/resume", headers=seen).headers["etag"] == '"2"'
    assert api.client.post(f"{path}/resume", headers=seen).headers["etag"] == '"2"'  # on its way
    api.store(status_record(1, {"intruder": 2}))
    assert api.client.get(path).json()["suspended"] == []


def test_a_query_is_judged_by_the_busiest_area_when_it_is_put(api: Api) -> None:
    path, seen = "/v1/queries/intruder", {"If-Match": "*"}
    assert api.client.put(path, json=query()).json()["warnings"] == []
    api.store(
        shard_record(0, busiest_hz={"seismic": 900.0, "acoustic": 2.0}), shard_record(1, busiest_hz={"acoustic": 700.0})
    )
    [warning] = api.client.get(path).json()["warnings"]
    assert "up to 2.6e+03 candidates per detection" in warning  # 4 s / 0.6, and 900 * 700 / 1,600 a second
    assert "max_matches_per_detection is 1000" in warning
    limited = {**query(), "limits": {"max_matches_per_detection": 20}}
    refused = api.client.put(path, json=limited, headers=seen)
    assert (refused.status_code, refused.json()["field"]) == (422, "within")
    assert api.client.put(path, json={**limited, "equal": "attributes.key"}, headers=seen).json()["warnings"] == []
    assert api.client.post(f"{path}/pause", headers=seen).status_code == 200  # nothing keeps a person from that


def test_a_query_is_judged_by_the_limits_that_fusion_was_given(api: Api) -> None:
    path = "/v1/queries/intruder"
    api.client.put(path, json=query())
    rates = {"seismic": 900.0, "acoustic": 700.0}
    generous, strict = ({"max_matches_per_detection": most, "max_candidates_per_detection": 9} for most in (3_000, 2))
    api.store(shard_record(0, busiest_hz=rates, limits=generous))
    assert api.client.get(path).json()["warnings"] == []  # 2,600 are expected
    api.store(shard_record(1, busiest_hz=rates, limits=strict))
    [warning] = api.client.get(path).json()["warnings"]
    assert "max_matches_per_detection is 2:" in warning
    refused = api.client.put(path, json=query(), headers={"If-Match": "*"})
    assert (refused.status_code, refused.json()["field"]) == (422, "within")


def test_sixteen_roles_without_keys_are_refused_before_anything_has_come(api: Api) -> None:
    roles = {f"r{nth}": "seismic" for nth in range(16)}
    wide = {"from": roles, "form": "clique", "within": [{"window_s": 60, "threshold": 0.1}]}
    refused = api.client.put("/v1/queries/wide", json=wide)
    assert refused.status_code == 422
    assert "max_candidates_per_detection is 50000" in refused.json()["detail"]


def test_nobody_overwrites_what_they_have_not_seen(api: Api) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    calls = [
        ("PUT", "/v1/queries/intruder", query(threshold=0.1)),
        ("PATCH", "/v1/queries/intruder", {"sensors": "any"}),
        ("PATCH", "/v1/queries/intruder/threshold", {"threshold": 0.1}),
        ("POST", "/v1/queries/intruder/pause", None),
        ("POST", "/v1/queries/intruder/resume", None),
        ("DELETE", "/v1/queries/intruder", None),
    ]
    for method, path, body in calls:
        unseen = api.client.request(method, path, json=body)
        stale = api.client.request(method, path, json=body, headers={"If-Match": '"9"'})
        assert (unseen.status_code, stale.status_code) == (428, 412), path
        assert unseen.headers["etag"] == stale.headers["etag"] == '"1"'
    only_new = api.client.put("/v1/queries/intruder", json=query(), headers={"If-None-Match": "*"})
    assert only_new.status_code == 412
    missing = api.client.put("/v1/queries/other", json=query("other"), headers={"If-Match": '"1"'})
    assert missing.status_code == 412
    assert len(api.kafka.topic) == 1


def test_of_two_changes_at_once_one_wins(api: Api) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    seen = {"If-Match": '"1"'}

    def lower(threshold: float) -> int:
        body = {"threshold": threshold}
        return api.client.patch("/v1/queries/intruder/threshold", json=body, headers=seen).status_code

    with ThreadPoolExecutor(5) as callers:
        assert sorted(callers.map(lower, (0.1, 0.2, 0.3, 0.4, 0.5))) == [200, 412, 412, 412, 412]
    assert len(api.kafka.topic) == 2


def test_a_change_that_another_process_was_before_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    publish = api.kafka.publish

    def publish_after_another(topic: str, key: bytes | None, value: bytes | None) -> int:
        if topic == "queries":
            publish(topic, key, change_record("intruder", 2, paused=True).value)
        return publish(topic, key, value)

    monkeypatch.setattr(api.kafka, "publish", publish_after_another)
    lowered = api.client.patch("/v1/queries/intruder/threshold", json={"threshold": 0.1}, headers={"If-Match": '"1"'})
    assert lowered.status_code == 412
    assert "through another process" in lowered.json()["detail"]
    now = api.client.get("/v1/queries/intruder").json()
    assert (now["version"], now["paused"]) == (2, True)
    monkeypatch.undo()
    again = api.client.patch("/v1/queries/intruder/threshold", json={"threshold": 0.1}, headers={"If-Match": '"2"'})
    assert (again.status_code, again.json()["version"]) == (200, 3)


def test_bodies_that_cannot_be_read_are_refused(api: Api) -> None:
    def status(content: bytes, media: str = "application/json", path: str = "q", method: str = "PUT") -> int:
        headers = {"Content-Type": media}
        return api.client.request(method, f"/v1/queries/{path}", content=content, headers=headers).status_code

    assert status(b"{") == 422
    assert status(b"id=q", "application/x-www-form-urlencoded") == 415
    assert status(b'{"id":"' + b"q" * 70_000 + b'"}') == 413
    for threshold in (b'{"threshold":"0.5"}', b'{"threshold":NaN}', b'{"threshold":true}', b"{}", b'{"a":1}', b"x"):
        assert status(threshold, path="q/threshold", method="PATCH") == 422, threshold
    assert api.client.patch("/v1/queries/q/threshold", json={"threshold": 0.5}).status_code == 404
    assert api.client.post("/v1/queries/q/pause").status_code == 404
    assert api.client.delete("/v1/queries/q").status_code == 404
    assert api.client.get("/v1/queries/q/versions").status_code == 404


def test_there_are_only_so_many_queries(api: Api) -> None:
    statuses = [api.client.put(f"/v1/queries/q{n}", json=query(f"q{n}")).status_code for n in range(4)]
    assert statuses == [201, 201, 201, 409]
    assert api.client.delete("/v1/queries/q0", headers={"If-Match": "*"}).status_code == 204
    assert api.client.put("/v1/queries/q3", json=query("q3")).status_code == 201


def test_with_kafka_away_nothing_is_accepted_and_no_version_is_given_twice(api: Api) -> None:
    api.client.put("/v1/queries/intruder", json=query())
    api.kafka.is_away = True
    refused = api.client.put("/v1/queries/intruder", json=query(threshold=0.1), headers={"If-Match": '"1"'})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    api.kafka.is_away = False
    accepted = api.client.put("/v1/queries/intruder", json=query(threshold=0.2), headers={"If-Match": '"1"'})
    assert accepted.json()["version"] == 3  # 2 may still be on its way


def test_a_change_is_not_answered_before_the_projection_holds_it(api: Api) -> None:
    api.kafka.is_read = False
    assert api.client.put("/v1/queries/intruder", json=query()).status_code == 503
    assert len(api.kafka.topic) == 1


def test_before_the_queries_have_caught_up_nothing_is_accepted(api: Api) -> None:
    api.progress._caught_up = False
    assert api.client.put("/v1/queries/intruder", json=query()).status_code == 503
    assert api.kafka.topic == []


def test_the_file_that_is_given_back_declares_the_same_queries(api: Api, tmp_path: Path) -> None:
    spell = {"coalesce": {"from": "seismic", "value": "attributes.celsius", "where": {"above": 40}}, "lasting_s": 60}
    for id_, document in (("intruder", query()), ("hot", spell)):
        assert api.client.put(f"/v1/queries/{id_}", json=document).status_code == 201
    given = api.client.get("/v1/queries", params={"format": "yaml"})
    assert given.headers["content-type"].startswith("application/yaml")
    (tmp_path / "queries.yaml").write_text(given.text)
    declared = [query_from_json({"id": id_, **document}) for id_, document in (("hot", spell), ("intruder", query()))]
    assert load_queries(tmp_path / "queries.yaml", STREAMS) == declared
    assert api.client.get("/v1/queries", params={"format": "xml"}).status_code == 422
