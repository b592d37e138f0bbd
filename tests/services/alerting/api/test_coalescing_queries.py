import json
from typing import Any

import pytest

from tests.services.alerting.clients import Api
from tests.services.alerting.records import change_record, query, status_record

COALESCE = {"gap_s": 5.0, "by": ["s.sensor"], "interval": "occurred"}
HOT: dict[str, Any] = {
    "id": "hot",
    "coalesce": {"from": "seismic", "by": "sensor", "value": "attributes.celsius", "where": {"above": 100}},
    "longest": True,
}


def test_no_change_of_anything_else_loses_how_it_is_coalesced(api: Api) -> None:
    seen = {"If-Match": "*"}
    created = api.client.put("/v1/queries/intruder", json={**query(), "coalesce": COALESCE})
    assert (created.status_code, created.json()["query"]["coalesce"]) == (201, COALESCE)
    for path, body in (
        ("/threshold", {"threshold": 0.7}),
        ("/threshold", {"between": ["a", "s"], "threshold": 0.8}),
        ("/threshold", {"joint_threshold": 0.1}),
        ("", {"sensors": "any"}),
    ):
        changed = api.client.patch(f"/v1/queries/intruder{path}", json=body, headers=seen)
        assert (changed.status_code, changed.json()["query"]["coalesce"]) == (200, COALESCE)
    paused = api.client.post("/v1/queries/intruder/pause", headers=seen)
    assert paused.json()["query"]["coalesce"] == COALESCE
    assert [json.loads(each.value or b"")["query"]["coalesce"] for each in api.kafka.topic] == [COALESCE] * 6
    ended = api.client.patch("/v1/queries/intruder", json={"coalesce": None}, headers=seen)
    assert "coalesce" not in ended.json()["query"]


def test_a_query_over_readings_is_created_changed_and_refused_as_others_are(api: Api) -> None:
    hot = {**HOT, "coalesce": {**HOT["coalesce"], "window": {"time_s": 60, "slide_s": 10}}}

    created = api.client.put("/v1/queries/hot", json=hot)
    assert (created.status_code, "hold_s" in created.json()["query"]["coalesce"]) == (201, False)  # follows time_s
    seen = {"If-Match": "*"}
    warmer = api.client.patch("/v1/queries/hot", json={"coalesce": {"where": {"above": 90}}}, headers=seen)
    assert (warmer.status_code, warmer.json()["query"]["coalesce"]["where"]) == (200, {"above": 90})
    again = api.client.patch("/v1/queries/hot", json={"coalesce": {"by": ["sensor"]}}, headers=seen)
    assert again.json()["version"] == 2  # changes nothing
    lasting = api.client.patch("/v1/queries/hot", json={"longest": None, "lasting_s": 5}, headers=seen)
    assert (lasting.status_code, lasting.json()["query"]["lasting_s"]) == (200, 5)
    assert [json.loads(each.value or b"")["query"]["id"] for each in api.kafka.topic] == ["hot"] * 3


@pytest.mark.parametrize(
    ("field", "coalesce"),
    [
        ("coalesce.from", {"from": "pressure"}),
        ("coalesce.value", {"value": "celsius"}),
        ("coalesce.window.slide_s", {"window": {"time_s": 60}}),
    ],
)
def test_a_query_over_readings_is_refused_by_the_fields_name(api: Api, field: str, coalesce: dict[str, Any]) -> None:
    window = {"time_s": 60, "slide_s": 10}
    hot = {**HOT, "coalesce": {**HOT["coalesce"], "window": window, **coalesce}}

    refused = api.client.put("/v1/queries/hot", json=hot)
    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert api.kafka.topic == []


@pytest.mark.parametrize("name", ["threshold", "joint_threshold"])
def test_a_query_without_edges_has_no_threshold_to_change(api: Api, name: str) -> None:
    api.store(change_record("hot", 1, query=HOT))
    refused = api.client.patch("/v1/queries/hot/threshold", json={name: 0.5}, headers={"If-Match": "*"})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert refused.json()["detail"] == f"{name}: the query 'hot' has no edges (within) that could have one"
    assert api.client.get("/v1/queries/hot").json()["version"] == 1


def test_how_it_is_coalesced_and_what_it_gave_is_passed_on(api: Api) -> None:
    chosen = {"scheme": "lazy", "reason": "few scans", "eager_cost_s": 3.5, "lazy_cost_s": 1.25, "more": [1]}
    api.store(change_record("intruder", 1))

    def said(*records: Any) -> tuple[Any, Any]:
        api.store(*records)
        state = api.client.get("/v1/queries/intruder").json()
        assert api.client.get("/v1/queries").json()["items"] == [state]
        return state["episodes"], state["coalescing"]

    assert said() == (None, None)
    assert said(status_record(1, {"intruder": 1})) == (None, None)
    assert said(status_record(1, {"intruder": 1}, episodes=3, coalescing=chosen)) == (3, chosen)
    other = {**chosen, "scheme": "eager"}
    assert said(status_record(0, {"intruder": 1}, episodes=4, coalescing=other)) == (7, other)
    assert said(status_record(0, {"quite-another": 1}, episodes=9)) == (3, chosen)
