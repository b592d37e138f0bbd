"""Queries for spells: what is read, what is written back, what is refused and by which name."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coincide import Bounded, Equal
from coincide.errors import QueryError
from coincide.queries import ReadingsQuery, SpellQuery, query_from_json
from coincide.sliding.value_limits import ValueLimits
from deploy.host.machine import ROOT

SCHEMA = json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


def hot(asked: dict[str, Any] | None = None, **coalesce: Any) -> dict[str, Any]:
    read = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 40}}
    return {"id": "hot", "coalesce": {**read, **coalesce}, "lasting_s": 60, **(asked or {})}


def test_above_40_degrees_for_a_minute() -> None:
    query = query_from_json(hot())
    assert isinstance(query, SpellQuery)
    assert (query.streams, query.by, query.value) == (("temperature",), ("sensor",), "attributes.celsius")
    assert (query.rule.lasting_us, query.rule.run.hold_us, query.rule.threshold) == (60_000_000, 60_000_000, 0.5)
    assert (query.rule.run.limits, query.rule.run.equivalence) == (ValueLimits(above=40), None)
    assert query.reads_numbers


@pytest.mark.parametrize(
    ("obj", "equivalence"),
    [
        (hot({"threshold": 0.9}, hold_s=30), None),
        (hot(by=["attributes.team", "sensor"], equivalence={"bounded": 1}), Bounded(1)),
        (hot(by=[], where={"at_least": 1, "below": 2}), None),
        (hot(where={"above": 80, "until_below": 75}), None),
        (hot(where={"at_least": 1, "at_most": 2, "until_below": 1, "until_above": 3.5}), None),
        ({"id": "stuck", "coalesce": {"from": "door", "value": "attributes.state"}, "lasting_s": 0.5}, Equal()),
    ],
)
def test_what_is_written_is_read_back(obj: dict[str, Any], equivalence: object) -> None:
    read = query_from_json(obj)
    assert isinstance(read, SpellQuery)
    assert read.rule.run.equivalence == equivalence
    assert query_from_json(json.loads(json.dumps(read.to_json()))) == read
    assert list(VALIDATOR.iter_errors(obj)) == []
    assert list(VALIDATOR.iter_errors(read.to_json())) == []


REFUSED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "no id": ("id", lambda q: q.pop("id")),
    "nothing asked": ("lasting_s", lambda q: q.pop("lasting_s")),
    "lasting no time": ("lasting_s", lambda q: q.update(lasting_s=0)),
    "what windows are asked": ("coalesce.window", lambda q: q.update(longest=True)),
    "a join": ("coalesce.window", lambda q: (q.pop("lasting_s"), q.update(join={"lasting_s": 1}))),
    "a field of joins": ("within", lambda q: q.update(within=[])),
    "a threshold of 0": ("threshold", lambda q: q.update(threshold=0)),
    "a threshold above 1": ("threshold", lambda q: q.update(threshold=1.5)),
    "no value": ("coalesce.value", lambda q: q["coalesce"].pop("value")),
    "no such bound": ("where.over", lambda q: q["coalesce"].update(where={"over": 1})),
    "bounds of nothing": ("where", lambda q: q["coalesce"].update(where={"above": 2, "below": 1})),
    "an end without a limit": ("where.until_below", lambda q: q["coalesce"].update(where={"until_below": 1})),
    "an end of the other side": (
        "where.until_above",
        lambda q: q["coalesce"].update(where={"above": 1, "until_above": 2}),
    ),
    "an end above its limit": (
        "where.until_below",
        lambda q: q["coalesce"].update(where={"above": 1, "until_below": 2}),
    ),
    "an end below its limit": (
        "where.until_above",
        lambda q: q["coalesce"].update(where={"at_most": 2, "until_above": 1}),
    ),
    "an end that is no number": (
        "where.until_below",
        lambda q: q["coalesce"].update(where={"above": 1, "until_below": "0"}),
    ),
    "an end in windows": (
        "where.until_below",
        lambda q: q["coalesce"].update(where={"above": 1, "until_below": 0}, window={"time_s": 120, "slide_s": 10}),
    ),
    "no hold": ("coalesce.hold_s", lambda q: q["coalesce"].update(hold_s=0)),
    "a gap": ("coalesce.gap_s", lambda q: q["coalesce"].update(gap_s=1)),
}


@pytest.mark.parametrize(("field", "change"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(
    field: str, change: Callable[[dict[str, Any]], object], request: pytest.FixtureRequest
) -> None:
    query = hot()
    change(query)
    with pytest.raises(QueryError) as refusal:
        query_from_json(query)
    assert refusal.value.field == field
    if field.startswith("where.until"):
        is_out_of_schema = "above its limit", "below its limit"  # JSON Schema compares no two numbers
        assert VALIDATOR.is_valid(query) is any(each in request.node.callspec.id for each in is_out_of_schema)


def test_a_window_makes_it_another_kind() -> None:
    windows = query_from_json(hot(window={"time_s": 120, "slide_s": 10}))
    assert isinstance(windows, ReadingsQuery)
    assert not windows.keeps_activation(query_from_json(hot()))
    with pytest.raises(QueryError, match="threshold"):
        query_from_json(hot({"threshold": 0.9}, window={"time_s": 120, "slide_s": 10}))


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [
        (hot(where={"above": 50}), True),
        (hot(where={"at_least": 1, "below": 2}), True),
        (hot(where={"above": 40, "until_below": 35}), True),
        (hot({"lasting_s": 30}), False),
        (hot({"threshold": 0.9}), False),
        (hot(hold_s=30), False),
        (hot(by=[]), False),
        (hot(equivalence="equal"), False),
    ],
)
def test_only_other_limits_let_spells_go_on(changed: dict[str, Any], *, keeps: bool) -> None:
    assert query_from_json(hot()).keeps_activation(query_from_json(changed)) is keeps
