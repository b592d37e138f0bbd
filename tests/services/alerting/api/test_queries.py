import json
from concurrent.futures import ThreadPoolExecutor

from tests.services.alerting.clients import Api
from tests.services.alerting.records import query, status_record


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
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
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
