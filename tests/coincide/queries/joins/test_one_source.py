"""What a query says of one source: what is read, and what is refused, by which name."""

from typing import Any

import pytest

from coincide.errors import QueryError
from coincide.queries import Query
from coincide.queries.sql import query_from_sql, sql_of

SHOT = {"speed_m_s": 343, "slack_s": 0.05, "reach_m": 800, "threshold": 0.3}
LAYERS = {"travel_times": [[0, 0], [20_000, 4], [100_000, 16]], "slack_s": 0.5, "reach_m": 60_000, "threshold": 0.3}
QUAKE = {**LAYERS, "depth_m": [0, 15_000]}


def asked(source: object, roles: int = 4) -> dict[str, Any]:
    return {
        "id": "bang",
        "from": {f"m{nth}": "shot" for nth in range(roles)},
        "form": "clique",
        "within": [{"window_s": 2.0, "threshold": 0.6}],
        "source": source,
    }


@pytest.mark.parametrize("source", [SHOT, QUAKE, {**SHOT, "height_m": [0, 40]}, {**SHOT, "depth_m": 5}])
def test_it_is_read_and_written_back_in_both_languages(source: dict[str, Any]) -> None:
    query = Query.from_json(asked(source))
    assert Query.from_json(query.to_json()) == query
    assert query_from_sql(sql_of(query), "bang") == query


def test_a_depth_is_a_height_downwards() -> None:
    query = Query.from_json(asked(QUAKE))
    assert query.one_source is not None
    assert query.one_source.rule.height_m == (-15_000, 0)


def test_another_threshold_goes_on_and_another_source_begins_anew() -> None:
    query = Query.from_json(asked(SHOT))
    assert query.keeps_activation(Query.from_json(asked({**SHOT, "threshold": 0.5})))
    assert not query.keeps_activation(Query.from_json(asked({**SHOT, "reach_m": 900})))


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ([], "source"),
        ({**SHOT, "margin_m": 3}, "source.margin_m"),
        ({name: value for name, value in SHOT.items() if name != "reach_m"}, "source.reach_m"),
        ({name: value for name, value in SHOT.items() if name != "speed_m_s"}, "source.speed_m_s"),
        ({**SHOT, "travel_times": [[0, 0], [1, 1]]}, "source.speed_m_s"),
        ({**SHOT, "speed_m_s": "fast"}, "source.speed_m_s"),
        ({**SHOT, "speed_m_s": float("nan")}, "source.speed_m_s"),
        ({**SHOT, "slack_s": 0}, "source.slack_s"),
        ({**SHOT, "slack_s": None}, "source.slack_s"),
        ({**SHOT, "reach_m": -1}, "source.reach_m"),
        ({**SHOT, "threshold": 1.5}, "source.threshold"),
        ({**SHOT, "height_m": 0, "depth_m": 0}, "source.height_m"),
        ({**SHOT, "height_m": [5, 1]}, "source.height_m"),
        ({**SHOT, "depth_m": [5, 1]}, "source.depth_m"),
        ({**SHOT, "depth_m": "deep"}, "source.depth_m"),
        ({**SHOT, "depth_m": ["a", 1]}, "source.depth_m"),
        ({**LAYERS, "travel_times": [[0, 0], [1]]}, "source.travel_times"),
        ({**LAYERS, "travel_times": [[0, 0], [5, 1], [6, 9]]}, "source.travel_times.time_s[1]"),
        ({**LAYERS, "travel_times": 3}, "source.travel_times"),
    ],
)
def test_a_refusal_names_the_field(source: object, field: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(asked(source))
    assert refused.value.field == field


def test_windows_by_distance_may_have_many_roles_where_no_joint_probability_decides() -> None:
    near = {**asked(SHOT, roles=12), "within": [{"speed_m_s": 343, "slack_s": 0.1, "up_to_m": 2000, "threshold": 0.5}]}
    query = Query.from_json(near)
    assert len(query.graph.roles) == 12
    assert Query.from_json(query.to_json()) == query
    without = {name: value for name, value in near.items() if name != "source"}
    for refused in (without, {**near, "joint_threshold": 0.1}, {**near, "event": {"per_day": 1, "heard_by": 0.5}}):
        with pytest.raises(QueryError, match="takes too long"):
            Query.from_json(refused)


def test_too_few_roles_determine_no_place() -> None:
    with pytest.raises(QueryError, match="determined by 4 or more"):
        Query.from_json(asked(QUAKE, roles=3))
