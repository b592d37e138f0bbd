"""What a query may say: over two roles or many, with episodes, and over readings; and how each part is changed."""

import json
from typing import Any

import pytest
from httpx2 import Response

from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import change_record, query, status_record

COALESCE = {"gap_s": 5.0, "by": ["s.sensor"], "interval": "occurred"}
HOT: dict[str, Any] = {
    "id": "hot",
    "coalesce": {"from": "seismic", "by": "sensor", "value": "attributes.celsius", "where": {"above": 100}},
    "longest": True,
}
FORM = {"form": "clique", "joint_threshold": 0.04, "at_least": 2, "equal": "attributes.object"}
BURST: dict[str, Any] = {"from": {"a": "seismic", "b": "seismic", "c": "acoustic"}, **FORM}
BURST["within"] = [{"window_s": 10}]
PATH = "/v1/queries/burst"


def patch(api: Api, **body: Any) -> Response:
    return api.client.patch(f"{PATH}/threshold", json=body, headers={"If-Match": "*"})


def thresholds(answer: Response) -> list[float | None]:
    return [edge.get("threshold") for edge in answer.json()["query"]["within"]]


def test_a_form_is_accepted_and_shown_edge_by_edge(api: Api) -> None:
    created = api.client.put(PATH, json=BURST)
    assert created.status_code == 201
    shown = created.json()["query"]
    assert [edge["between"] for edge in shown["within"]] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert {name: shown[name] for name in FORM} == FORM
    for same in (BURST, {**BURST, "within": shown["within"]}):
        again = api.client.put(PATH, json=same, headers={"If-Match": "*"})
        assert (again.status_code, again.headers["etag"]) == (200, '"1"')


def test_required_and_optional_roles_are_accepted_and_shown(api: Api) -> None:
    heard = {**BURST, "at_least": {"of": ["a", "b"], "count": 1}}
    assert api.client.put(PATH, json=heard).status_code == 201
    assert api.client.get(PATH).json()["query"]["at_least"] == heard["at_least"]
    patched = api.client.patch(PATH, json={"at_least": {"count": 0}}, headers={"If-Match": "*"})
    assert patched.status_code == 422
    assert "at_least.count: is 0: a whole number from 1" in patched.json()["detail"]


def test_each_way_to_change_a_threshold(api: Api) -> None:
    api.client.put(PATH, json=BURST)
    assert thresholds(patch(api, threshold=0.3)) == [0.3, 0.3, 0.3]
    assert thresholds(patch(api, between=["c", "a"], threshold=0.5)) == [0.3, 0.5, 0.3]
    joint = patch(api, joint_threshold=0.1)
    assert thresholds(joint) == [0.3, 0.5, 0.3]
    assert joint.json()["query"]["joint_threshold"] == 0.1
    assert joint.headers["etag"] == '"4"'
    assert patch(api, joint_threshold=0.1).headers["etag"] == '"4"'


def test_a_joint_threshold_may_be_added_and_taken_away(api: Api) -> None:
    pair = {"from": {"s": "seismic", "a": "acoustic"}, "within": [{"between": ["s", "a"], "window_s": 2}]}
    assert api.client.put(PATH, json=pair).status_code == 422
    pair["within"] = [{"between": ["s", "a"], "window_s": 2, "threshold": 0.5}]
    assert api.client.put(PATH, json=pair).status_code == 201
    assert patch(api, joint_threshold=0.6).json()["query"]["joint_threshold"] == 0.6
    merged = api.client.patch(PATH, json={"joint_threshold": None}, headers={"If-Match": "*"})
    assert "joint_threshold" not in merged.json()["query"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"between": ["a", "b"]}, "give threshold"),
        ({"threshold": 0.5, "joint_threshold": 0.5}, "give threshold"),
        ({"between": ["a", "b"], "joint_threshold": 0.5}, "give threshold"),
        ({"joint_threshold": None}, "null is no threshold"),
        ({"between": None, "threshold": 0.5}, "null is no threshold"),
        ({"joint_threshold": 0}, "joint_threshold"),
        ({"between": ["a"], "threshold": 0.5}, "between"),
        ({"between": ["a", "a"], "threshold": 0.5}, "between: is ['a', 'a']: no edge of the query"),
        ({"between": ["a", "x"], "threshold": 0.5}, "there are ['a', 'b'], ['a', 'c'], ['b', 'c']"),
    ],
)
def test_what_names_no_threshold_is_refused(api: Api, body: dict[str, Any], named: str) -> None:
    api.client.put(PATH, json=BURST)
    answer = patch(api, **body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert named in answer.json()["detail"]
    assert api.client.get(PATH).json()["version"] == 1


WINDOW = {"time_s": 60, "slide_s": 10}
BAD_QUERIES: list[tuple[Any, str]] = [  # what is refused, and how the sentence about it begins
    ([], "query"),
    ({**query(), "id": "other"}, "id"),
    ({**query(), "from": {"s": "seismic", "a": "gravity"}}, "from.a: names the stream 'gravity'"),
    ({**query(), "coalesce": {"gap_s": -5}}, "coalesce.gap_s"),
    ({**query(), "coalesce": {"gap_s": 5, "by": ["sensor"]}}, "coalesce.by: has 'sensor'"),
    ({**query(), "frm": 1}, "frm"),
    ({**query(), "sensors": "both"}, "sensors"),
    ({**query(), "within": [{"between": ["s", "a"], "window_s": 2, "threshold": 0}]}, "within[0].threshold"),
    ({**query(), "within": [{"between": ["s", "a"], "window_s": -2, "threshold": 0.5}]}, "within[0].window_s"),
    ({**BURST, "form": "path"}, "at_least: is 2: only for a clique"),
    ({**BURST, "form": "ring"}, "form"),
    ({**BURST, "at_least": 3}, "at_least"),
    ({**BURST, "at_least": {"of": ["a", "d"], "count": 1}}, "at_least.of: is ['a', 'd']: some of the roles"),
    ({**BURST, "at_least": {"of": ["a", "b"]}}, "at_least.count"),
    ({**BURST, "equal": "object"}, "equal"),
    ({**BURST, "joint_threshold": 2}, "joint_threshold"),
    ({**BURST, "from": {"a": "seismic", "b": "gravity", "c": "acoustic"}}, "from.b: names the stream 'gravity'"),
    ({**BURST, "within": [{"between": each, "window_s": 1} for each in (["a", "b"], ["b", "c"])]}, "within"),
    ({**HOT, "coalesce": {**HOT["coalesce"], "window": WINDOW, "from": "pressure"}}, "coalesce.from"),
    ({**HOT, "coalesce": {**HOT["coalesce"], "window": WINDOW, "value": "celsius"}}, "coalesce.value"),
    ({**HOT, "coalesce": {**HOT["coalesce"], "window": {"time_s": 60}}}, "coalesce.window.slide_s"),
]


@pytest.mark.parametrize(("document", "said"), BAD_QUERIES)
def test_a_query_that_is_not_whole_is_refused_by_field(quiet_api: Api, document: Any, said: str) -> None:
    id_ = "hot" if document and "longest" in document else "intruder"
    refused = quiet_api.client.put(f"/v1/queries/{id_}", json=document)
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    problem = refused.json()
    assert problem["detail"].startswith(said)
    assert said.startswith(problem["field"])
    assert quiet_api.kafka.topic == []


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


@pytest.mark.parametrize("name", ["threshold", "joint_threshold"])
def test_a_query_without_edges_has_no_threshold_to_change(api: Api, name: str) -> None:
    api.store(change_record("hot", 1, query=HOT))
    refused = api.client.patch("/v1/queries/hot/threshold", json={name: 0.5}, headers={"If-Match": "*"})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert refused.json()["detail"] == f"{name}: the query 'hot' has no edges (within) that could have one"
    assert api.client.get("/v1/queries/hot").json()["version"] == 1


def test_how_it_is_coalesced_and_what_it_gave_is_passed_on(api: Api) -> None:
    chosen = {"scheme": "lazy", "reason": "few scans", "eager_cost_s": 3.5, "lazy_cost_s": 1.25}
    api.store(change_record("intruder", 1))

    def said(*records: Any) -> tuple[Any, Any]:
        api.store(*records)
        state = api.client.get("/v1/queries/intruder").json()
        assert api.client.get("/v1/queries").json()["items"] == [state]
        return state["episodes"], state["coalescing"]

    assert said() == (None, None)
    assert said(status_record(1, {"intruder": 1})) == (0, None)
    assert said(status_record(1, {"intruder": 1}, episodes=3, coalescing=chosen)) == (3, chosen)
    other = {**chosen, "scheme": "eager"}
    assert said(status_record(0, {"intruder": 1}, episodes=4, coalescing=other)) == (7, other)
    assert said(status_record(0, {"quite-another": 1}, episodes=9)) == (3, chosen)
