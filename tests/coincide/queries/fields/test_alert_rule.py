"""Which episodes and matches somebody is told of: what is read, what is refused, and how severe it is."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coincide.errors import QueryError
from coincide.queries import AlertRule, query_from_json
from deploy.host.machine import ROOT

VALIDATOR = Draft202012Validator(json.loads((ROOT / "docs/contracts/query.schema.json").read_text(encoding="utf-8")))
EDGE = {"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}
PLAIN = {"id": "q", "from": {"s": "seismic", "a": "acoustic"}, "within": [EDGE], "sensors": "different"}
JOIN = {**PLAIN, "event": {"per_day": 2.0, "heard_by": 0.8, "arrives": "at_once", "rates": "declared"}}
WINDOW = {"time_s": 3600.0, "slide_s": 60.0}
SPELL = {"id": "s", "coalesce": {"from": "heat", "value": "attributes.c", "where": {"above": 40}}, "lasting_s": 60}
READINGS = {"id": "r", "coalesce": {"from": "heat", "value": "attributes.c", "window": WINDOW}, "longest": True}
FULL = {
    "severity": [[0.9, "critical"], [0.6, "warning"]],
    "min_probability": 0.7,
    "min_posterior": 0.9,
    "members": 2,
    "title": "{severity}: {query} in {area}, {{{probability}}}",
    "labels": {"site": "north"},
    "resolve_after_s": 5.0,
    "max_per_hour": 20,
    "to": ["ops", "night-shift"],
}


@pytest.mark.parametrize("rule", [{}, FULL, {"severity": "critical"}, {"severity": [[0.5, "low"]]}, {"members": 2}])
def test_a_rule_is_read_and_written_back(rule: dict[str, Any]) -> None:
    written = {**JOIN, "alert": rule}
    query = query_from_json(written)
    assert query.to_json() == written
    assert query_from_json(query.to_json()) == query
    assert VALIDATOR.is_valid(written)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (None, "alert"),
        ([], "alert"),
        ({"unknown": 1}, "alert.unknown"),
        ({"min_probability": 0}, "alert.min_probability"),
        ({"min_posterior": 0}, "alert.min_posterior"),
        ({"min_posterior": 1.5}, "alert.min_posterior"),
        ({"min_posterior": "0.9"}, "alert.min_posterior"),
        ({"members": 1.5}, "alert.members"),
        ({"members": True}, "alert.members"),
        ({"severity": []}, "alert.severity"),
        ({"severity": [[2, "x"]]}, "alert.severity"),
        ({"severity": [["0.5", "x"]]}, "alert.severity"),
        ({"severity": [[0.5, "two words"]]}, "alert.severity"),
        ({"severity": "two words"}, "alert.severity"),
        ({"title": ""}, "alert.title"),
        ({"title": "two\nlines"}, "alert.title"),
        ({"title": "{nobody}"}, "alert.title"),
        ({"title": "{area.__class__}"}, "alert.title"),
        ({"title": "{area!r}"}, "alert.title"),
        ({"title": "{area"}, "alert.title"),
        ({"title": "{stream}"}, "alert.title"),
        ({"labels": {"severity": "x"}}, "alert.labels"),
        ({"labels": {"a-b": "x"}}, "alert.labels"),
        ({"labels": {"a": 1}}, "alert.labels.a"),
        ({"resolve_after_s": -1}, "alert.resolve_after_s"),
        ({"resolve_after_s": float("nan")}, "alert.resolve_after_s"),
        ({"max_per_hour": 0}, "alert.max_per_hour"),
        ({"to": []}, "alert.to"),
        ({"to": "ops"}, "alert.to"),
        ({"to": ["ops", "ops"]}, "alert.to"),
        ({"to": ["a b"]}, "alert.to"),
        ({"to": [None]}, "alert.to"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_field(rule: Any, field: str) -> None:
    with pytest.raises(QueryError) as refused:
        query_from_json({**JOIN, "alert": rule})
    assert refused.value.field == field


def test_readings_have_no_probability_to_ask_for() -> None:
    plain = {**READINGS, "alert": {"severity": "critical"}}
    assert query_from_json(plain).alert == AlertRule(severity=((0.0, "critical"),))
    assert VALIDATOR.is_valid(query_from_json(plain).to_json())
    for rule in ({"min_probability": 0.5}, {"severity": [[0.5, "x"]]}, {"severity": [[0, "x"], [0.5, "y"]]}):
        with pytest.raises(QueryError, match="readings have none"):
            query_from_json({**READINGS, "alert": rule})


@pytest.mark.parametrize("query", [PLAIN, SPELL, READINGS], ids=["join without event", "spell", "window"])
@pytest.mark.parametrize(
    ("rule", "field"), [({"min_posterior": 0.5}, "alert.min_posterior"), ({"title": "{posterior}"}, "alert.title")]
)
def test_only_a_join_with_event_has_evidence_to_ask_for(
    query: dict[str, Any], rule: dict[str, Any], field: str
) -> None:
    with pytest.raises(QueryError, match="only a join with event has evidence") as refused:
        query_from_json({**query, "alert": rule})
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("query", "most"),
    [(JOIN, 2), ({**JOIN, "coalesce": {"gap_s": 1}}, 200), (SPELL, 0), (READINGS, 0)],
    ids=["match", "episode", "spell", "window"],
)
def test_more_members_than_there_can_be_are_refused(query: dict[str, Any], most: int) -> None:
    if most:
        assert query_from_json({**query, "alert": {"members": most}}).alert is not None
    allowed = f"at most {most}|from 1 to {most}" if most else "only joins"
    with pytest.raises(QueryError, match=allowed) as refused:
        query_from_json({**query, "alert": {"members": most + 1}})
    assert refused.value.field == "alert.members"


def test_a_rule_changes_nothing_that_a_query_may_use_of_before() -> None:
    with_rule, without = query_from_json({**JOIN, "alert": FULL}), query_from_json(JOIN)
    assert with_rule.keeps_activation(without)


def test_severity_is_the_greatest_level_that_is_reached() -> None:
    rule = AlertRule.from_json(FULL, has_evidence=True)
    told = {p: rule.severity_of(p, 3, 1.0) for p in (0.65, 0.7, 0.89, 0.9, 1.0)}
    assert told == {0.65: None, 0.7: "warning", 0.89: "warning", 0.9: "critical", 1.0: "critical"}
    assert rule.severity_of(0.95, 1, 1.0) is None
    assert [rule.severity_of(0.95, 3, posterior) for posterior in (None, 0.0, 0.89, 0.9, 1.0)] == [
        *[None] * 3,
        *["critical"] * 2,
    ]
    assert rule.is_worse("critical", than="warning")
    assert not rule.is_worse("warning", than="warning")
    assert rule.is_worse("warning", than="one of an older rule")
