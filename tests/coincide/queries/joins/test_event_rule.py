"""What a query says of events: what is read, and what is refused, by which name."""

from typing import Any

import pytest

from coincide.errors import QueryError
from coincide.queries import Query
from coincide.queries.sql import query_from_sql, sql_of

EVENT = {"per_day": 2, "heard_by": 0.8}
THREE = {"a": "shot", "b": "shot", "c": "flash"}
PATH = [
    {"between": ["a", "b"], "window_s": 1, "threshold": 0.5},
    {"between": ["b", "c"], "window_s": 1, "threshold": 1},
]


def asked(**changes: Any) -> dict[str, Any]:
    within = [{"between": ["a", "b"], "window_s": 2.0, "threshold": 0.6}]
    return {"id": "bang", "from": {"a": "shot", "b": "flash"}, "within": within, "event": EVENT, **changes}


@pytest.mark.parametrize("arrives", ["at_once", "within_window"])
@pytest.mark.parametrize("rates", ["declared", "learnt"])
def test_it_is_read_and_written_back_in_both_languages(arrives: str, rates: str) -> None:
    query = Query.from_json(asked(event={**EVENT, "arrives": arrives, "rates": rates}))
    assert query.to_json()["event"] == {"per_day": 2.0, "heard_by": 0.8, "arrives": arrives, "rates": rates}
    assert Query.from_json(query.to_json()) == query
    assert query_from_sql(sql_of(query), "bang") == query


def test_how_much_else_is_reported_may_be_said_too() -> None:
    query = Query.from_json(asked(event={**EVENT, "unpaired_per_day": 0.5}))
    assert query.event is not None
    assert query.event.unpaired_hz == 0.5 / 86_400
    assert query.to_json()["event"] == {
        "per_day": 2.0,
        "heard_by": 0.8,
        "arrives": "at_once",
        "unpaired_per_day": 0.5,
        "rates": "declared",
    }
    assert query_from_sql(sql_of(query), "bang") == query


def test_an_event_comes_at_once_unless_the_query_says_otherwise() -> None:
    rule = Query.from_json(asked()).event
    assert rule is not None
    assert (rule.arrives, rule.rates, rule.events_hz, rule.unpaired_hz) == ("at_once", "declared", 2 / 86_400, None)


def test_another_event_is_another_query_and_begins_anew() -> None:
    query = Query.from_json(asked())
    assert query.keeps_activation(query.with_threshold(0.3))
    assert not query.keeps_activation(Query.from_json(asked(event={**EVENT, "per_day": 3})))
    assert not query.keeps_activation(Query.from_json(asked(event={**EVENT, "rates": "learnt"})))


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"per_day": 2}, "event.heard_by"),
        ({"heard_by": 0.8}, "event.per_day"),
        ({**EVENT, "per_day": 0}, "event.per_day"),
        ({**EVENT, "per_day": True}, "event.per_day"),
        ({**EVENT, "per_day": 1e9}, "event.per_day"),
        ({**EVENT, "per_day": float("nan")}, "event.per_day"),
        ({**EVENT, "heard_by": 0}, "event.heard_by"),
        ({**EVENT, "unpaired_per_day": 0}, "event.unpaired_per_day"),
        ({**EVENT, "unpaired_per_day": "1"}, "event.unpaired_per_day"),
        ({**EVENT, "unpaired_per_day": None}, "event.unpaired_per_day"),
        ({**EVENT, "heard_by": 1.1}, "event.heard_by"),
        ({**EVENT, "heard_by": "often"}, "event.heard_by"),
        ({**EVENT, "arrives": "late"}, "event.arrives"),
        ({**EVENT, "arrives": []}, "event.arrives"),
        ({**EVENT, "rates": "guessed"}, "event.rates"),
        ({**EVENT, "rates": None}, "event.rates"),
        ({**EVENT, "arrives": None}, "event.arrives"),
        ({**EVENT, "per_hour": 1}, "event.per_hour"),
        (7, "event"),
    ],
)
def test_what_it_may_be(event: Any, field: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(asked(event=event))
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"sensors": "any"}, "event", "sensors is 'any'"),
        ({"equal": "attributes.kind"}, "event", "beside equal"),
        ({"from": {"a": {"stream": "shot", "sensors": ["mic-*"]}, "b": "flash"}}, "event", "only some detections"),
        ({"from": THREE, "within": PATH, "event": {**EVENT, "arrives": "within_window"}}, "event.arrives", "a and c"),
        (
            {
                "within": [{"between": ["a", "b"], "window_s": 0, "threshold": 1}],
                "event": {**EVENT, "arrives": "within_window"},
            },
            "event.arrives",
            "longer than 0 s",
        ),
        (
            {
                "from": {f"r{n}": "shot" for n in range(11)},
                "form": "clique",
                "within": [{"window_s": 1, "threshold": 0.5}],
            },
            "event",
            "11 roles: at most 10",
        ),
    ],
)
def test_a_query_that_it_does_not_fit(changes: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(asked(**changes))
    assert refused.value.field == field
    assert said in str(refused.value)


def test_a_path_tells_evidence_of_what_comes_at_once_and_areas_may_be_named() -> None:
    assert Query.from_json(asked(**{"from": THREE, "within": PATH}, areas=["bay*"])).event is not None
