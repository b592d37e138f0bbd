from typing import Any

import pytest
from httpx2 import Response

from tests.services.alerting.clients import Api

BURST: dict[str, Any] = {
    "from": {"a": "seismic", "b": "seismic", "c": "acoustic"},
    "form": "clique",
    "within": [{"window_s": 10}],
    "joint_threshold": 0.04,
    "at_least": 2,
    "equal": "attributes.object",
}
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
    assert {name: shown[name] for name in ("form", "joint_threshold", "at_least", "equal")} == {
        name: BURST[name] for name in ("form", "joint_threshold", "at_least", "equal")
    }
    for same in (BURST, {**BURST, "within": shown["within"]}):
        again = api.client.put(PATH, json=same, headers={"If-Match": "*"})
        assert (again.status_code, again.headers["etag"]) == (200, '"1"')


def test_each_way_to_change_a_threshold(api: Api) -> None:
    api.client.put(PATH, json=BURST)
    assert thresholds(patch(api, threshold=0.3)) == [0.3, 0.3, 0.3]
    assert thresholds(patch(api, between=["c", "a"], threshold=0.5)) == [0.3, 0.5, 0.3]
    joint = patch(api, joint_threshold=0.1)
    assert thresholds(joint) == [0.3, 0.5, 0.3]
    assert joint.json()["query"]["joint_threshold"] == 0.1
    assert joint.headers["etag"] == '"4"'
    assert (patch(api, joint_threshold=0.1)).headers["etag"] == '"4"'


def test_a_joint_threshold_may_be_added_and_taken_away(api: Api) -> None:
    pair = {"from": {"s": "seismic", "a": "acoustic"}, "within": [{"between": ["s", "a"], "window_s": 2}]}
    assert api.client.put(PATH, json=pair).status_code == 422
    pair["within"] = [{"between": ["s", "a"], "window_s": 2, "threshold": 0.5}]
    assert api.client.put(PATH, json=pair).status_code == 201
    assert (patch(api, joint_threshold=0.6)).json()["query"]["joint_threshold"] == 0.6
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


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"form": "path"}, "at_least: needs a clique"),
        ({"form": "ring"}, "form"),
        ({"at_least": 3}, "at_least"),
        ({"equal": "object"}, "equal"),
        ({"joint_threshold": 2}, "joint_threshold"),
        ({"from": {"a": "seismic", "b": "gravity", "c": "acoustic"}}, "from.b: names the stream 'gravity'"),
        ({"within": [{"between": ["a", "b"], "window_s": 1}, {"between": ["b", "c"], "window_s": 1}]}, "within"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_by_field(api: Api, changed: dict[str, Any], named: str) -> None:
    answer = api.client.put(PATH, json={**BURST, **changed})
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
