"""Queries: what is read, what is refused, and by which name."""

import json
import pickle
from collections.abc import Sequence
from itertools import chain, combinations, pairwise
from typing import Any

import pytest

from coincide.errors import QueryError
from coincide.queries import Query


def intruder(**changes: Any) -> dict[str, Any]:
    edge = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}
    return {"id": "intruder", "from": {"s": "seismic", "a": "acoustic"}, "within": [edge], **changes}


def edge(**changes: Any) -> dict[str, Any]:
    made = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6, **changes}
    return intruder(within=[{name: value for name, value in made.items() if value is not None}])


def test_a_query_is_read_and_written_back() -> None:
    query = Query.from_json(intruder())
    assert query.roles == (("s", "seismic"), ("a", "acoustic"))
    assert (query.window.lo_us, query.window.hi_us, query.within[0].threshold) == (-2_000_000, 2_000_000, 0.6)
    assert query.sensors == "different"
    assert query.to_json() == {**intruder(), "sensors": "different"}
    assert Query.from_json(query.to_json()) == query


def test_an_asymmetric_window_is_written_back_as_its_bounds_and_turned_as_between_says() -> None:
    query = Query.from_json(edge(window_s=None, lo_s=-1.0, hi_s=9.0))
    assert query.to_json()["within"] == [{"between": ["s", "a"], "threshold": 0.6, "lo_s": -1.0, "hi_s": 9.0}]
    assert Query.from_json(query.to_json()) == query
    backwards = Query.from_json(edge(between=["a", "s"], window_s=None, lo_s=-1.0, hi_s=9.0))
    assert (backwards.window.lo_s, backwards.window.hi_s) == (-9.0, 1.0)  # of the second role of from minus the first


def test_a_whole_number_is_a_threshold_too() -> None:
    assert Query.from_json(edge(threshold=1)).within[0].threshold == 1.0


def test_the_json_of_two_roles_is_as_ever() -> None:
    # stored queries and the state's header hold it
    written = json.dumps(Query.from_json(edge(between=["a", "s"], window_s=None, lo_s=-1, hi_s=9)).to_json())
    assert written == (
        '{"id": "intruder", "from": {"s": "seismic", "a": "acoustic"}, '
        '"within": [{"between": ["a", "s"], "lo_s": -1.0, "hi_s": 9.0, "threshold": 0.6}], "sensors": "different"}'
    )


def test_limits_of_a_query_are_read_and_written_back_and_keep_its_activation() -> None:
    query = Query.from_json(intruder(limits={"max_matches_per_s": 7}))
    assert query.to_json()["limits"] == {"max_matches_per_s": 7}
    assert Query.from_json(query.to_json()) == query
    assert query.keeps_activation(Query.from_json(intruder()))


@pytest.mark.parametrize("value", [0, 1_000_001, 1.5, True, "7", None])
def test_a_limit_is_a_whole_number(value: object) -> None:
    with pytest.raises(QueryError, match=r"limits\.max_matches_per_s"):
        Query.from_json(intruder(limits={"max_matches_per_s": value}))


def valley(**changes: Any) -> dict[str, Any]:
    """Three roles, two of them on one stream."""
    roles, within = {"gate": "gas", "bridge": "gas", "tower": "wind"}, [{"lo_s": 0, "hi_s": 60, "threshold": 0.5}]
    made = {"id": "valley", "from": roles, "within": within, "form": "path", **changes}
    return {name: value for name, value in made.items() if value is not None}


def some(count: Any, *of: str) -> dict[str, Any]:
    """So many of some roles."""
    return {"of": list(of), "count": count}


def between(*pairs: str, **more: Any) -> list[dict[str, Any]]:
    names = {"g": "gate", "b": "bridge", "t": "tower", "x": "nowhere"}
    return [{"between": [names[end] for end in pair], "window_s": 5, "threshold": 0.5, **more} for pair in pairs]


LATER = {"between": ["gate", "tower"], "lo_s": 20, "hi_s": 30, "threshold": 0.5}
UNSURE = {"between": ["bridge", "tower"], "window_s": 5}


def test_one_edge_stands_for_all_of_a_path() -> None:
    query = Query.from_json(valley())
    edges = [(edge.first, edge.second, edge.window.lo_us) for edge in query.within]
    assert edges == [("gate", "bridge", 0), ("bridge", "tower", 0)]
    assert (query.graph.form, query.graph.roles) == ("path", ("gate", "bridge", "tower"))
    assert query.to_json()["form"] == "path"
    assert Query.from_json(query.to_json()) == query


def graph_of(*pairs: Sequence[str]) -> dict[str, Any]:
    """A query whose roles are the letters of its edges, each edge with another window."""
    edges = [{"between": [*pair], "lo_s": -2, "hi_s": 2 + n, "threshold": 0.1} for n, pair in enumerate(pairs)]
    return {"id": "graph", "from": dict.fromkeys(sorted(set(chain(*pairs))), "gas"), "within": edges}


RING, MANY = ["ab", "bc", "cd", "de", "ef", "fa"], "abcdefghijklmnop"
CLIQUE_AND_TWO_BEHIND = ["ab", "ac", "ad", "bc", "bd", "cd", "de", "ef"]
TWO_TRIANGLES = ["ab", "bc", "ca", "de", "ef", "fd", "ad"]


@pytest.mark.parametrize("pairs", [RING, CLIQUE_AND_TWO_BEHIND, list(pairwise(MANY)), [("a", b) for b in MANY[1:]]])
def test_graphs_whose_joint_probability_is_soon_known(pairs: list[Any]) -> None:
    assert len(Query.from_json(graph_of(*pairs)).within) == len(pairs)


@pytest.mark.parametrize(
    "pairs", [[*RING[:5], "fg", "ga"], list(combinations("abcde", 2)), TWO_TRIANGLES, list(combinations(MANY, 2))]
)
def test_graphs_whose_joint_probability_takes_long_are_refused(pairs: list[Any]) -> None:
    with pytest.raises(QueryError, match="takes too long") as refused:
        Query.from_json(graph_of(*pairs))
    assert refused.value.field == "within"


def test_one_edge_stands_for_all_of_a_clique() -> None:
    query = Query.from_json(valley(form="clique", within=[{"window_s": 5}], joint_threshold=1, at_least=2))
    assert [edge.threshold for edge in query.within] == [None] * 3
    assert [edge.threshold for edge in query.graph.edges] == [1.0] * 3  # none can be less probable than all together
    pairs = [["gate", "bridge"], ["gate", "tower"], ["bridge", "tower"]]
    written = valley(form="clique", sensors="different", joint_threshold=1.0, at_least=2)
    assert query.to_json() == {**written, "within": [{"between": pair, "window_s": 5.0} for pair in pairs]}
    assert Query.from_json(query.to_json()) == query


def test_two_of_three_microphones_and_the_camera() -> None:
    roles = {"m1": "shot", "m2": "shot", "m3": "shot", "camera": "flash"}
    within = [{"between": ["camera", each], "window_s": 2.0, "threshold": 0.5} for each in ("m1", "m2", "m3")]
    document = {"id": "scene", "from": roles, "within": within, "sensors": "different"}
    query = Query.from_json({**document, "at_least": some(2, "m1", "m2", "m3")})
    assert query.to_json() == {**document, "at_least": some(2, "m1", "m2", "m3")}
    assert Query.from_json(query.to_json()) == query
    assert query.required == ("camera",)
    assert Query.from_json(document).required == tuple(roles)


def test_a_required_and_an_optional_role_cannot_be_swapped() -> None:
    bells = {"from": dict.fromkeys("abc", "bell"), "form": "clique", "within": [{"window_s": 5, "threshold": 0.5}]}
    assert Query.from_json({"id": "q", **bells, "at_least": 2}).interchange.groups == ((0, 1, 2),)
    assert Query.from_json({"id": "q", **bells, "at_least": some(1, "a", "b")}).interchange.groups == ((0, 1), (2,))


def test_edges_make_any_graph_and_a_form_checks_them() -> None:
    wedge = Query.from_json(valley(form=None, within=between("bg", "tb"), equal="attributes.object"))
    assert (wedge.graph.form, wedge.equal) == ("path", "attributes.object")
    assert Query.from_json(valley(form="graph", within=between("gb", "gt"))).graph.form == "path"
    assert Query.from_json(valley(form="path", within=between("tb", "bg"))).form == "path"
    assert Query.from_json(valley(form="clique", within=between("tb", "bg", "gt"))).form == "clique"


def test_roles_of_one_stream_can_be_swapped_where_that_changes_nothing() -> None:
    uniform = Query.from_json(valley(form="clique", within=[{"window_s": 5, "threshold": 0.5}]))
    assert uniform.interchange.groups == ((0, 1), (2,))
    assert Query.from_json(valley()).interchange.groups == ((0,), (1,), (2,))
    uneven = between("gb", "gt", "bt")
    uneven[1]["threshold"] = 0.6
    assert Query.from_json(valley(form=None, within=uneven)).interchange.groups == ((0,), (1,), (2,))
    at_least_joint = Query.from_json(valley(form=None, within=uneven, joint_threshold=0.7))
    assert at_least_joint.interchange.groups == ((0, 1), (2,))  # 0.7 for every edge


@pytest.mark.parametrize(
    ("known", "changed", "keeps"),
    [
        (intruder(), edge(threshold=0.9), True),
        (intruder(), edge(between=["a", "s"]), True),  # the same window, seen from the other side
        (intruder(), edge(window_s=2.5), False),
        (intruder(), intruder(sensors="any"), False),
        (intruder(), {**intruder(), "from": {"s": "seismic", "a": "seismic"}}, False),
        (
            intruder(),
            {**intruder(), "from": {"a": "acoustic", "s": "seismic"}},
            False,
        ),  # other match ids
        (valley(), valley(within=[{"lo_s": 0, "hi_s": 60, "threshold": 0.4}]), True),
        (valley(), valley(joint_threshold=0.4), True),
        (valley(), valley(within=[{"lo_s": 0, "hi_s": 60}], joint_threshold=0.4), True),
        (valley(), valley(form=None, within=Query.from_json(valley()).to_json()["within"]), True),
        (valley(), valley(within=[{"lo_s": 0, "hi_s": 61, "threshold": 0.5}]), False),
        (valley(), valley(form="clique"), False),
        (valley(), valley(equal="attributes.object"), False),
        (valley(), valley(**{"from": {"gate": "gas", "bridge": "wind", "tower": "gas"}}), False),
        (valley(form="clique"), valley(form="clique", at_least=2), False),
        (valley(form="clique", at_least=2), valley(form="clique", at_least=some(2, "gate", "bridge", "tower")), True),
        (valley(at_least=some(1, "gate", "tower")), valley(at_least=some(1, "tower", "gate")), True),
        (valley(at_least=some(1, "gate", "tower")), valley(at_least=some(0, "tower")), False),
        (valley(form="clique", at_least=some(0, "gate")), valley(form="clique", at_least=some(0, "tower")), False),
    ],
)
def test_what_keeps_the_activation(known: dict[str, Any], changed: dict[str, Any], keeps: bool) -> None:
    assert Query.from_json(known).keeps_activation(Query.from_json(changed)) is keeps


@pytest.mark.parametrize(
    ("obj", "field", "what"),
    [
        (valley(form="ring"), "form", "path, clique, graph"),
        (valley(form=["path"]), "form", "path, clique, graph"),
        (valley(form="graph"), "within[0].between", "a path or a clique only"),
        (valley(form=None), "within[0].between", "two roles"),
        (valley(within=between("gb")), "within", "lacks the edge 'bridge' - 'tower'"),
        (valley(within=between("gb", "gt")), "within", "lacks the edge 'bridge' - 'tower'"),
        (valley(within=between("gb", "bt", "gt")), "within", "has the edge 'gate' - 'tower'"),
        (valley(form="clique", within=between("gb", "bt")), "within", "lacks the edge 'gate' - 'tower'"),
        (valley(form=None, within=between("gb")), "within", "chains of edges"),
        (valley(form=None, within=between("gb", "bg", "bt")), "within", "one edge for each pair"),
        (valley(form=None, within=[*between("gb", "bt"), LATER]), "within", "these contradict"),
        (valley(form=None, within=between("gb", "bx")), "within[1].between", "no role"),
        (valley(within=[{"lo_s": 0, "hi_s": 60}]), "within[0].threshold", "joint_threshold"),
        (valley(form=None, within=[*between("gb"), UNSURE]), "within[1].threshold", "joint_threshold"),
        (valley(joint_threshold=0), "joint_threshold", "above 0 and at most 1"),
        (valley(joint_threshold=True), "joint_threshold", "above 0 and at most 1"),
        (valley(joint_threshold="0.5"), "joint_threshold", "above 0 and at most 1"),
        ({**valley(), "joint_threshold": None}, "joint_threshold", "leave it out"),
        ({**valley(), "form": None}, "form", "leave it out"),
        (valley(at_least=2), "at_least", "in a path"),
        (valley(form="clique", at_least=1), "at_least", "from 2 to less than the 3 roles"),
        (valley(form="clique", at_least=3), "at_least", "from 2 to less than the 3 roles"),
        (valley(form="clique", at_least=2.0), "at_least", "whole number"),
        (valley(form="clique", at_least=True), "at_least", "whole number"),
        (intruder(at_least=2), "at_least", "less than the 2 roles"),
        (intruder(at_least=some(0, "a")), "at_least.count", "from 1 to less than the one role"),
        (valley(at_least=some(0, "bridge")), "at_least.of", "without, 'gate' and ['tower'] are apart"),
        (valley(at_least=some(1, "bridge", "tower")), "at_least.of", "'tower' has none"),
        (valley(at_least=some(2, "gate", "tower")), "at_least.count", "from 1 to less than the 2 roles"),
        (valley(at_least=some("1", "gate", "tower")), "at_least.count", "whole number"),
        (valley(at_least=some(1, "gate", "gate")), "at_least.of", "each once"),
        (valley(at_least=some(1, "gate", "pier")), "at_least.of", "['gate', 'bridge', 'tower']"),
        (valley(at_least=some(1)), "at_least.of", "['gate', 'bridge', 'tower']"),
        (valley(at_least={"of": "gate", "count": 1}), "at_least.of", "a list of roles"),
        (valley(at_least={"of": ["gate"]}), "at_least.count", "is missing"),
        (valley(at_least={"count": 1}), "at_least.of", "is missing"),
        (valley(at_least={"of": ["gate"], "count": 0, "most": 1}), "at_least.most", "is unknown"),
        (valley(at_least=[2]), "at_least", "whole number"),
        (valley(equal="object"), "equal", "'attributes.'"),
        (valley(equal="attributes."), "equal", "'attributes.'"),
        (valley(equal="attributes." + "x" * 101), "equal", "at most 100"),
        (valley(equal=1), "equal", "'attributes.'"),
        (valley(**{"from": {f"r{n}": "gas" for n in range(17)}}), "from", "2 to 16"),
        (valley(**{"from": {f"r{n}": "gas" for n in range(100_000)}}, form="clique"), "from", "2 to 16"),
    ],
)
def test_what_no_graph_can_be_made_of_is_refused(obj: dict[str, Any], field: str, what: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(obj)
    assert refused.value.field == field
    assert what in refused.value.message


UNUSABLE: list[tuple[str, list[Any]]] = [
    ("query", [[], None]),
    ("id", [{"from": {}, "within": []}, intruder(id=""), intruder(id="a b"), intruder(id="x" * 101), intruder(id=7)]),
    ("from", [{"id": "x", "within": []}, intruder(**{"from": []}), intruder(**{"from": {"s": "seismic"}})]),
    ("from", [intruder(**{"from": {"s": "seismic", "a-b": "x"}})]),
    ("within", [{"id": "x", "from": {}}, intruder(**{"from": {"s": "x", "a": "x", "b": "x"}}), intruder(within={})]),
    ("within", [intruder(within=[]), intruder(within=edge()["within"] * 2)]),
    ("more", [intruder(more=1)]),
    ("from.a", [intruder(**{"from": {"s": "seismic", "a": 1}})]),
    ("within[0]", [intruder(within=[1])]),
    ("within[0].more", [edge(more=1)]),
    ("within[0].equal", [edge(equal="x")]),
    ("within[0].between", [edge(between=None), edge(between=["s"]), edge(between=["s", "s"])]),
    ("within[0].between", [edge(between=["s", "x"]), edge(between=["s", 1])]),
    ("within[0].window_s", [edge(window_s=None), edge(lo_s=1), edge(window_s=None, lo_s=1), edge(window_s=-1)]),
    ("within[0].window_s", [edge(window_s="2"), edge(window_s=True), edge(window_s=float("nan"))]),
    ("within[0].window_s", [edge(window_s=1e308), {**edge(), "within": [{"between": ["s", "a"], "window_s": None}]}]),
    ("within[0].window_s", [edge(window_s=10**400)]),
    ("within[0].lo_s", [edge(window_s=None, lo_s=2, hi_s=1)]),
    ("within[0].threshold", [edge(threshold=None), edge(threshold=0), edge(threshold=1.01), edge(threshold=True)]),
    ("within[0].threshold", [edge(threshold="0.5"), edge(threshold=float("nan")), edge(threshold=10**400)]),
    ("sensors", [intruder(sensors="none"), intruder(sensors=None), intruder(sensors=["any"])]),
]


@pytest.mark.parametrize(("field", "obj"), [(field, obj) for field, objs in UNUSABLE for obj in objs])
def test_what_cannot_be_used_is_refused_with_the_field(field: str, obj: object) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(obj)
    assert refused.value.field == field
    assert refused.value.message


def test_an_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(QueryError("within", "is wrong")))
    assert (error.field, error.message, str(error)) == ("within", "is wrong", "within is wrong")


def test_a_limit_that_is_nested_as_deep_as_json_may_be_is_refused() -> None:
    nested: object = 7
    for _ in range(500):
        nested = [nested]
    with pytest.raises(QueryError, match=r"limits\.max_matches_per_s"):
        Query.from_json(intruder(limits={"max_matches_per_s": nested}))
