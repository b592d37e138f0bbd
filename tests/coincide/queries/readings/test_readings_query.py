"""Queries over readings: what is read, what is written back, what is refused and by which name."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coincide import Bounded, Equal, Quantised
from coincide.errors import QueryError
from coincide.queries import Query, ReadingsQuery, query_from_json
from coincide.sliding.questions import Lasting, Longest, Similar
from coincide.sliding.value_limits import ValueLimits
from deploy.host.machine import ROOT

SCHEMA = json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)

CELSIUS = {"from": "temperature", "by": "sensor", "value": "attributes.celsius"}
COALESCE = {**CELSIUS, "where": {"above": 100}, "window": {"time_s": 86400, "slide_s": 3600}}
HOT: dict[str, Any] = {"id": "hot", "coalesce": COALESCE, "longest": True}


def query(**coalesce: Any) -> dict[str, Any]:
    return {**HOT, "coalesce": {**HOT["coalesce"], **coalesce}}


def asking(**asked: Any) -> dict[str, Any]:
    coalesce = {name: value for name, value in HOT["coalesce"].items() if name != "where"}
    return {"id": "hot", "coalesce": coalesce, **asked}


def test_the_longest_hot_period() -> None:
    hot = ReadingsQuery.from_json(HOT)
    assert (hot.stream, hot.streams) == ("temperature", ("temperature",))
    assert (hot.by, hot.value) == (("sensor",), "attributes.celsius")
    assert (hot.time_us, hot.slide_us, hot.rule.hold_us) == (86_400_000_000, 3_600_000_000, 86_400_000_000)
    assert (hot.rule.limits, hot.rule.equivalence, hot.question) == (ValueLimits(above=100), None, Longest())
    assert hot.reads_numbers


@pytest.mark.parametrize(
    ("obj", "equivalence", "asked"),
    [
        (asking(lasting_s=7200), Equal(), Lasting(7_200_000_000)),
        (asking(join={"lasting_s": 240}), Equal(), Similar(0.0, 240_000_000)),
        (asking(join={"within": 2, "lasting_s": 0.5}), Equal(), Similar(2.0, 500_000)),
        (query(equivalence={"bounded": 0}), Bounded(0), Longest()),
        (query(equivalence={"relative": 0.05}), Bounded(0.05, relative=True), Longest()),
        (query(equivalence={"quantised": 5}, hold_s=60, by=["attributes.region", "sensor"]), Quantised(5), Longest()),
        (query(equivalence="any", by=[]), None, Longest()),
        (query(where={"at_least": 1, "below": 1.5}), None, Longest()),
    ],
)
def test_what_is_written_is_read_back(obj: dict[str, Any], equivalence: object, asked: object) -> None:
    read = query_from_json(obj)
    assert isinstance(read, ReadingsQuery)
    assert (read.rule.equivalence, read.question) == (equivalence, asked)
    assert query_from_json(json.loads(json.dumps(read.to_json()))) == read
    assert list(VALIDATOR.iter_errors(obj)) == []
    assert list(VALIDATOR.iter_errors(read.to_json())) == []


REFUSED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "no id": ("id", lambda q: q.pop("id")),
    "a field of joins": ("within", lambda q: q.update(within=[])),
    "nothing asked": ("longest", lambda q: q.pop("longest")),
    "two things asked": ("longest", lambda q: q.update(lasting_s=1)),
    "not asked": ("longest", lambda q: q.update(longest=False)),
    "lasting no time": ("lasting_s", lambda q: (q.pop("longest"), q.update(lasting_s=0))),
    "joined no time": ("join.lasting_s", lambda q: (q.pop("longest"), q.update(join={"within": 1}))),
    "a tolerance below 0": ("join.within", lambda q: (q.pop("longest"), q.update(join={"within": -1, "lasting_s": 1}))),
    "no value": ("coalesce.value", lambda q: q["coalesce"].pop("value")),
    "no attribute": ("coalesce.value", lambda q: q["coalesce"].update(value="celsius")),
    "null": ("coalesce.by", lambda q: q["coalesce"].update(by=None)),
    "grouped by nothing known": ("coalesce.by", lambda q: q["coalesce"].update(by="region")),
    "grouped twice by one": ("coalesce.by", lambda q: q["coalesce"].update(by=["sensor", "sensor"])),
    "no such bound": ("where.over", lambda q: q["coalesce"].update(where={"over": 1})),
    "a bound that is no number": ("where.above", lambda q: q["coalesce"].update(where={"above": True})),
    "two lower bounds": ("where.at_least", lambda q: q["coalesce"].update(where={"above": 1, "at_least": 2})),
    "no bound": ("where", lambda q: q["coalesce"].update(where={})),
    "no such equivalence": ("coalesce.equivalence", lambda q: q["coalesce"].update(equivalence="similar")),
    "a bad share": ("coalesce.equivalence.relative", lambda q: q["coalesce"].update(equivalence={"relative": -1})),
    "a bad step": ("coalesce.equivalence.quantised", lambda q: q["coalesce"].update(equivalence={"quantised": 0})),
    "no slide": ("coalesce.window.slide_s", lambda q: q["coalesce"]["window"].pop("slide_s")),
    "a slide of no time": ("coalesce.window.slide_s", lambda q: q["coalesce"]["window"].update(slide_s=0)),
    "held for ever": ("coalesce.hold_s", lambda q: q["coalesce"].update(hold_s=1e9)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_by_name_and_by_the_schema(what: str) -> None:
    field, spoil = REFUSED[what]
    spoiled = copy.deepcopy(HOT)
    spoil(spoiled)
    with pytest.raises(QueryError) as refused:
        query_from_json(spoiled)
    assert refused.value.field == field
    assert list(VALIDATOR.iter_errors(spoiled)) != []


@pytest.mark.parametrize(
    ("field", "obj"),
    [
        ("where", query(where={"above": 2, "below": 1})),
        ("coalesce.window.slide_s", query(window={"time_s": 86400, "slide_s": 17})),
        ("coalesce.equivalence", {"id": "hot", "coalesce": COALESCE, "join": {"lasting_s": 1}}),
    ],
)
def test_what_only_the_code_can_refuse(field: str, obj: dict[str, Any]) -> None:
    with pytest.raises(QueryError) as refused:
        query_from_json(obj)
    assert refused.value.field == field
    assert list(VALIDATOR.iter_errors(obj)) == []


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [
        (query(where={"above": 90}), True),
        (query(equivalence="increasing"), True),
        (query(window={"time_s": 43200, "slide_s": 60}), True),
        (asking(lasting_s=60), True),
        (query(hold_s=60), True),
        (query(window={"time_s": 86401, "slide_s": 3600}), False),
        (query(by="attributes.region"), False),
        (query(value="attributes.kelvin"), False),
        (query(**{"from": "humidity"}), False),
    ],
)
def test_a_change_keeps_the_readings_if_it_reads_alike_and_no_longer_ago(changed: dict[str, Any], keeps: bool) -> None:
    assert query_from_json(HOT).keeps_activation(query_from_json(changed)) is keeps


def test_a_query_of_the_other_kind_begins_anew() -> None:
    edge = {"between": ["a", "b"], "window_s": 2, "threshold": 0.6}
    join = query_from_json({"id": "hot", "from": {"a": "p", "b": "s"}, "within": [edge]})
    assert isinstance(join, Query)
    assert not join.keeps_activation(query_from_json(HOT))
    assert not query_from_json(HOT).keeps_activation(join)
    assert join.keeps_activation(join)


def test_only_what_is_compared_must_be_a_number() -> None:
    decreasing = {**asking(longest=True), "coalesce": {**asking()["coalesce"], "equivalence": "decreasing"}}
    joins = [asking(join={"lasting_s": 60, **more}) for more in ({}, {"within": 1})]
    queries = [asking(lasting_s=60), *joins, decreasing]
    assert [ReadingsQuery.from_json(obj).reads_numbers for obj in queries] == [False, False, True, True]
