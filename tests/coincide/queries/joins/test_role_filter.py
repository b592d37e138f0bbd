"""Which detections may play a role: what is read, what is refused, and what the filters admit."""

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from coincide.errors import QueryError
from coincide.queries import Query
from coincide.queries.joins.role_filter import RoleFilter, fits_any
from deploy.host.machine import ROOT

SCHEMA = json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
LOUD = {
    "stream": "gunshot",
    "where": {"attributes.db": {"above": 100.0, "at_most": 140.0}, "attributes.kind": {"in": ["shot", 7, True]}},
    "sensors": ["mic-*", "pole-?"],
    "areas": ["harbour"],
}


def shots(played: Any, **changes: Any) -> dict[str, Any]:
    edge = {"between": ["m", "c"], "window_s": 2.0, "threshold": 0.6}
    return {"id": "shots", "from": {"m": played, "c": "camera"}, "within": [edge], "sensors": "different", **changes}


def test_filters_and_areas_are_read_and_written_back() -> None:
    written = shots(LOUD, areas=["harbour*"])
    query = Query.from_json(written)
    assert query.to_json() == written
    assert VALIDATOR.is_valid(written)
    assert query.roles == (("m", "gunshot"), ("c", "camera"))
    assert (query.is_filtered, Query.from_json(shots("gunshot")).is_filtered) == (True, False)
    assert Query.from_json(shots({"stream": "gunshot"})).to_json() == shots("gunshot")


def test_another_filter_is_another_query_to_what_came_before() -> None:
    query = Query.from_json(shots(LOUD))
    assert not query.keeps_activation(Query.from_json(shots("gunshot")))
    assert not query.keeps_activation(Query.from_json(shots(LOUD, areas=["*"])))


def test_roles_whose_filters_differ_cannot_be_swapped() -> None:
    pair = {"between": ["a", "b"], "window_s": 2.0, "threshold": 0.6}
    alike = {"id": "two", "from": {"a": "shot", "b": "shot"}, "within": [pair]}
    assert Query.from_json(alike).interchange.groups == ((0, 1),)
    north = {**alike, "from": {"a": {"stream": "shot", "sensors": ["north-*"]}, "b": "shot"}}
    assert Query.from_json(north).interchange.groups == ((0,), (1,))


@pytest.mark.parametrize(
    ("changed", "field", "what"),
    [
        ({"where": {"db": {"above": 1}}}, "from.m.where", "'attributes.' and the name of one"),
        ({"where": []}, "from.m.where", "no JSON object"),
        ({"where": {"attributes.db": {}}}, "from.m.where.attributes.db", "limits"),
        ({"where": {"attributes.db": {"over": 1}}}, "from.m.where.attributes.db.over", "is unknown"),
        ({"where": {"attributes.db": {"above": "1"}}}, "from.m.where.attributes.db.above", "a number"),
        ({"where": {"attributes.db": {"above": 1, "at_least": 2}}}, "from.m.where.attributes.db", "one of them"),
        ({"where": {"attributes.db": {"above": 3, "below": 2}}}, "from.m.where.attributes.db", "some number"),
        ({"where": {"attributes.db": {"is": 1, "above": 2}}}, "from.m.where.attributes.db", "limits"),
        ({"where": {"attributes.db": {"is": None}}}, "from.m.where.attributes.db.is", "is null"),
        ({"where": {"attributes.db": {"in": []}}}, "from.m.where.attributes.db.in", "a list of 1 to 100"),
        ({"where": {"attributes.db": {"in": [[]]}}}, "from.m.where.attributes.db.in", "a text, a number"),
        ({"where": {f"attributes.{n}": {"is": 1} for n in range(17)}}, "from.m.where", "at most 16"),
        ({"sensors": "mic-1"}, "from.m.sensors", "a list of 1 to 100 names"),
        ({"sensors": ["m"] * 101}, "from.m.sensors", "a list of 1 to 100 names"),
        ({"areas": [1]}, "from.m.areas", "a text of 1 to 200 characters"),
        ({"areas": ["a" * 201]}, "from.m.areas", "a text of 1 to 200 characters"),
        ({"stream": None}, "from.m.stream", "is null"),
        ({"colour": "red"}, "from.m.colour", "is unknown"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(changed: dict[str, Any], field: str, what: str) -> None:
    document = shots({"stream": "gunshot", **changed})
    with pytest.raises(QueryError, match=what) as refused:
        Query.from_json(document)
    assert refused.value.field == field
    if what != "some number":
        assert not VALIDATOR.is_valid(document)


def test_an_object_without_a_stream_is_refused() -> None:
    with pytest.raises(QueryError, match=r"from\.m\.stream is missing"):
        Query.from_json(shots({"sensors": ["mic-1"]}))


names = st.text("ab*?[]", max_size=6)


@given(names, names)
def test_globs_are_those_of_a_shell_without_brackets(name: str, pattern: str) -> None:
    assert fits_any(name, [pattern]) == fnmatchcase(name, pattern.replace("[", "[[]"))
    assert fits_any(name, [])


@pytest.mark.parametrize(
    ("db", "kind", "admitted"),
    [
        *((100.5, "shot", True), (140, 7.0, True), (100, "shot", False), (141, "shot", False), (True, "shot", False)),
        *(("120", "shot", True), (None, "shot", False), (120, "7", True), (120, 1, False), (120, None, False)),
        *(("112,5", "shot", False), ("1_20", "shot", False), ("1e999", "shot", False), ("9" * 500, "shot", False)),
        *((120, "true", True), (120, "1", False), (120, "007", True), (120, "7.5", False), (120, ["shot"], False)),
    ],
)
def test_a_text_counts_as_the_number_that_it_writes(db: object, kind: object, admitted: bool) -> None:
    loud, said = RoleFilter.from_json("from.m", LOUD), {"attributes.db": db, "attributes.kind": kind}
    assert loud.admits("mic-1", "harbour", said.get) == admitted
    assert not loud.admits("mic-1", "harbour-2", said.get)
    assert not loud.admits("pole-12", "harbour", said.get)


def test_a_glob_of_many_stars_is_no_work() -> None:
    """Tried at every place for every star, it would take longer than anybody lives."""
    assert not fits_any("a" * 200, ["*a" * 99 + "*b"])
    assert fits_any("a" * 200 + "b", ["*a" * 99 + "*b"])
