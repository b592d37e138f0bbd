"""Queries: what is read, what is refused, and by which name."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from coincide.query import Query
from coincide.within import QueryError


def intruder(**changes: Any) -> dict[str, Any]:
    edge = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}
    return {"id": "intruder", "from": {"s": "seismic", "a": "acoustic"}, "within": [edge], **changes}


def edge(**changes: Any) -> dict[str, Any]:
    made = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6, **changes}
    return intruder(within=[{name: value for name, value in made.items() if value is not None}])


def test_a_query_is_read_and_written_back() -> None:
    query = Query.from_json(intruder())
    assert query.roles == (("s", "seismic"), ("a", "acoustic"))
    assert (query.window.lo_us, query.window.hi_us, query.within.threshold) == (-2_000_000, 2_000_000, 0.6)
    assert query.sensors == "different"
    assert query.to_json() == {**intruder(), "sensors": "different"}
    assert Query.from_json(query.to_json()) == query


def test_an_asymmetric_window_is_written_back_as_its_bounds() -> None:
    obj = edge(window_s=None, lo_s=-1.0, hi_s=9.0)
    query = Query.from_json(obj)
    assert query.to_json()["within"] == [{"between": ["s", "a"], "threshold": 0.6, "lo_s": -1.0, "hi_s": 9.0}]
    assert Query.from_json(query.to_json()) == query


def test_between_gives_the_direction_of_the_window() -> None:
    backwards = Query.from_json(edge(between=["a", "s"], window_s=None, lo_s=-1.0, hi_s=9.0))
    assert (backwards.window.lo_s, backwards.window.hi_s) == (-9.0, 1.0)  # of the second role of from minus the first


def test_a_whole_number_is_a_threshold_too() -> None:
    assert Query.from_json(edge(threshold=1)).within.threshold == 1.0


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [
        (edge(threshold=0.9), True),
        (edge(between=["a", "s"]), True),  # the same window, seen from the other side
        (edge(window_s=2.5), False),
        (intruder(sensors="any"), False),
        ({**intruder(), "from": {"s": "seismic", "a": "seismic"}}, False),
        ({**intruder(), "from": {"a": "acoustic", "s": "seismic"}}, False),  # roles in another order: other match ids
    ],
)
def test_what_keeps_the_activation(changed: dict[str, Any], keeps: bool) -> None:
    assert Query.from_json(intruder()).keeps_activation(Query.from_json(changed)) is keeps


@pytest.mark.parametrize("name", ["coalesce", "form", "joint_threshold", "at_least", "equal"])
def test_what_is_not_built_yet_is_refused_by_name(name: str) -> None:
    with pytest.raises(QueryError, match="not available yet") as refused:
        Query.from_json(intruder(**{name: 1}))
    assert refused.value.field == name


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        ([], "query"),
        (None, "query"),
        ({"from": {}, "within": []}, "id"),
        ({"id": "x", "within": []}, "from"),
        ({"id": "x", "from": {}}, "within"),
        (intruder(more=1), "more"),
        (intruder(id=""), "id"),
        (intruder(id="a b"), "id"),
        (intruder(id="x" * 101), "id"),
        (intruder(id=7), "id"),
        (intruder(**{"from": []}), "from"),
        (intruder(**{"from": {"s": "seismic"}}), "from"),
        (intruder(**{"from": {"s": "x", "a": "x", "b": "x"}}), "from"),
        (intruder(**{"from": {"s": "seismic", "a": 1}}), "from.a"),
        (intruder(**{"from": {"s": "seismic", "a-b": "x"}}), "from"),
        (intruder(within={}), "within"),
        (intruder(within=[]), "within"),
        (intruder(within=[1]), "within[0]"),
        (intruder(within=edge()["within"] * 2), "within"),
        (edge(more=1), "within[0].more"),
        (edge(equal="x"), "within[0].equal"),
        (edge(between=None), "within[0].between"),
        (edge(between=["s"]), "within[0].between"),
        (edge(between=["s", "s"]), "within[0].between"),
        (edge(between=["s", "x"]), "within[0].between"),
        (edge(between=["s", 1]), "within[0].between"),
        (edge(window_s=None), "within[0].window_s"),
        (edge(lo_s=1), "within[0].window_s"),
        (edge(window_s=None, lo_s=1), "within[0].window_s"),
        (edge(window_s=-1), "within[0].window_s"),
        (edge(window_s="2"), "within[0].window_s"),
        (edge(window_s=True), "within[0].window_s"),
        (edge(window_s=float("nan")), "within[0].window_s"),
        (edge(window_s=10**400), "within[0].window_s"),
        (edge(window_s=None, lo_s=2, hi_s=1), "within[0].lo_s"),
        (edge(threshold=None), "within[0].threshold"),
        (edge(threshold=0), "within[0].threshold"),
        (edge(threshold=1.01), "within[0].threshold"),
        (edge(threshold=True), "within[0].threshold"),
        (edge(threshold="0.5"), "within[0].threshold"),
        (edge(threshold=float("nan")), "within[0].threshold"),
        (edge(threshold=10**400), "within[0].threshold"),
        (intruder(sensors="none"), "sensors"),
        (intruder(sensors=None), "sensors"),
        (intruder(sensors=["any"]), "sensors"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(obj: object, field: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(obj)
    assert refused.value.field == field
    assert refused.value.message


def test_an_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(QueryError("within", "is wrong")))
    assert (error.field, error.message, str(error)) == ("within", "is wrong", "within: is wrong")
