"""Edges whose windows follow distances: JSON and SQL both ways, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from coincide import Detections, Histogram, Stream, window_join
from coincide.command.faults import CommandError
from coincide.command.query_files import read_queries
from coincide.constraints.window import Window
from coincide.errors import GraphError, QueryError
from coincide.live import WindowJoin
from coincide.places import DistanceWindow, TravelTimes
from coincide.queries import Query
from coincide.queries.sql import query_from_sql, sql_of
from services.history.replaying.request import RunError, RunRequest


def query(**edge: Any) -> dict[str, Any]:
    within = [{"between": ["a", "b"], **edge, "threshold": 0.5}]
    return {"id": "bang", "from": {"a": "noise", "b": "noise"}, "within": within}


BY_SPEED = {"speed_m_s": 343, "slack_s": 0.2, "up_to_m": 5000}
BY_TABLE = {"travel_times": [[0, 0], [20_000, 4], [100_000, 16]], "slack_s": 0.5, "up_to_m": 100_000}


@pytest.mark.parametrize("edge", [BY_SPEED, BY_TABLE, {"speed_m_s": 6000}])
def test_an_edge_by_distance_is_read_and_written(edge: dict[str, Any]) -> None:
    asked = Query.from_json(query(**edge))
    assert asked.needs_places
    assert asked.graph.edges[0].by_distance is not None
    assert Query.from_json(asked.to_json()) == asked
    assert query_from_sql(sql_of(asked), asked.id) == asked


def test_its_widest_window_is_that_of_sensors_as_far_apart_as_may_be() -> None:
    [edge] = Query.from_json(query(**BY_SPEED)).within
    assert edge.by_distance == DistanceWindow(343, 0.2, 5000)
    assert edge.window == Window(14.778)
    [edge] = Query.from_json(query(**BY_TABLE)).within
    assert edge.by_distance == DistanceWindow(TravelTimes([0, 20_000, 100_000], [0, 4, 16]), 0.5, 100_000)
    assert edge.window == Window(16.5)


def test_sql_says_it_as_a_person_does() -> None:
    asked = query_from_sql(
        "SELECT * FROM noise a, noise b WHERE WINDOW(a, b) = DISTANCE / 343 + 0.2 WITH THRESHOLD 0.5", "bang"
    )
    assert asked == Query.from_json(query(speed_m_s=343, slack_s=0.2))
    assert "DISTANCE / 343 + 0.2 s UP TO 100000" in sql_of(asked)


@pytest.mark.parametrize(
    ("edge", "field", "said"),
    [
        ({"speed_m_s": 343, "window_s": 2}, "within[0].window_s", "an edge has one window"),
        ({"slack_s": 0.2}, "within[0].speed_m_s", "either speed_m_s or travel_times"),
        ({"speed_m_s": 0}, "within[0].speed_m_s", "sound in air makes 343"),
        ({"speed_m_s": 343, "slack_s": -1}, "within[0].slack_s", "a number of seconds"),
        ({"speed_m_s": 343, "up_to_m": 1e9}, "within[0].up_to_m", "metres, from 0 to"),
        ({"speed_m_s": 0.001, "up_to_m": 1e7}, "within[0].up_to_m", "at most 1000000 s"),
        ({"travel_times": [[0, 0], [1]]}, "within[0].travel_times", "a distance in metres and a time in seconds"),
        ({"travel_times": [[0, 0], [10, 1], [20, 9]]}, "within[0].travel_times.time_s[1]", "no speed that falls"),
    ],
)
def test_a_slip_is_refused_with_what_is_allowed(edge: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query.from_json(query(**edge))
    assert refused.value.field == field
    assert said in refused.value.message


def test_evidence_is_refused_beside_it() -> None:
    with pytest.raises(QueryError, match="beside a window by distance"):
        Query.from_json({**query(**BY_SPEED), "event": {"per_day": 2, "heard_by": 0.8}})


def test_detections_without_places_are_not_joined_by_distance() -> None:
    graph = Query.from_json(query(**BY_SPEED)).graph
    heard = Detections([0, 1], [Histogram.point()])
    with pytest.raises(GraphError, match="these detections have no places"):
        window_join({"a": heard, "b": heard}, graph)
    with pytest.raises(GraphError, match="these detections have no places"):
        WindowJoin(graph, [Stream(name, longest_template_s=0) for name in "ab"])


def test_who_does_not_answer_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bang.json"
    path.write_text(json.dumps(query(**BY_SPEED)), encoding="utf-8")
    with pytest.raises(CommandError, match="coincide join and replay answer it"):
        read_queries([path])
    with pytest.raises(RunError, match="slides cannot tell what chance gives it"):
        RunRequest(Query.from_json(query(**BY_SPEED)), 0, 1_000_000, source="archive", slides=10)
