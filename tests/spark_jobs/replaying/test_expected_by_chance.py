"""Chance matches of a run are those of the library's chance rate, area by area and sensor by sensor."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Window, chance_rate
from coincide.thresholds import graph_chance_rate
from coincide.thresholds.chance import SensorRate
from spark_jobs.replaying.expected_by_chance import ExpectedMatches, chance_matches, role_counts
from spark_jobs.replaying.match_curves import with_threshold
from spark_jobs.replaying.played_rows import PlayedRows
from tests.spark_jobs.replaying.test_answers import PAIR, SELF, THREE, frames_of, played, some_rows
from tests.spark_jobs.replaying.test_match_curves import PATH

FRAMES = frames_of(some_rows(3, 300))
SPAN_S = 60.0
ASYMMETRIC = {**SELF, "within": [{"between": ["a", "b"], "lo_s": -0.5, "hi_s": 2, "threshold": 0.3}]}


@pytest.mark.parametrize(
    "query", [PAIR, {**PAIR, "sensors": "any"}, SELF, {**SELF, "sensors": "same"}, ASYMMETRIC], ids=range(5)
)
def test_it_is_the_librarys_rate_in_every_area(query: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.replaying.expected_by_chance.GROUPS_AT_ONCE", 3)
    of_run = played(query, FRAMES)
    told = [each.matches for each in chance_of(of_run, [0.3, 0.6, 0.9]).values()]
    areas = ("area-0", "area-1")
    expected = [sum(expected_in(of_run, area, at) for area in areas) for at in (0.3, 0.6, 0.9)]
    assert told == pytest.approx(expected, rel=1e-5)
    assert expected[0] > 1


def expected_in(of_run: Any, area: str, threshold: float) -> float:
    query = of_run.query
    rates = [sensor_rates(of_run, area, stream) for stream in query.streams]
    is_self = query.streams[0] == query.streams[1]
    window: Window = query.window
    hz = chance_rate(rates[0], None if is_self else rates[1], window, threshold, sensors=query.sensors)
    return hz * SPAN_S


def sensor_rates(of_run: Any, area: str, stream: str) -> list[SensorRate]:
    rows = [row for row in of_run.rows.to_pylist() if (row["area"], row["stream"]) == (area, stream)]
    counts = Counter((row["sensor_id"], row["template"]) for row in rows)
    templates: dict[str, Histogram] = of_run.templates
    return [SensorRate(sensor, templates[id_], count / SPAN_S) for (sensor, id_), count in counts.items()]


def chance_of(of_run: PlayedRows, thresholds: list[float]) -> dict[float, ExpectedMatches]:
    """What is told if the rows come in two chunks, which see each other's rows."""
    is_own = np.arange(len(of_run.rows)) % 3 > 0
    counts = [role_counts(replace(of_run, is_own=each)) for each in (is_own, ~is_own)]
    return chance_matches(of_run.query, counts, of_run.templates, thresholds, SPAN_S)


@pytest.mark.parametrize("query", [THREE, {**THREE, "sensors": "any"}, PATH], ids=["three", "any", "path"])
def test_of_graphs_it_is_the_librarys_estimate_in_every_area(query: dict[str, Any]) -> None:
    of_run = played(query, FRAMES)
    told = chance_of(of_run, [0.05, 0.1, 0.3, 0.5])
    for threshold in (0.05, 0.5):
        asked = with_threshold(of_run.query, threshold)
        expected = 0.0
        for area in ("area-0", "area-1"):
            rates = {role: sensor_rates(of_run, area, stream) for role, stream in asked.roles}
            streams, joint = dict(asked.roles), asked.joint_threshold
            rate = graph_chance_rate(rates, asked.graph, joint, sensors=asked.sensors, streams=streams)
            expected += rate.rate_hz * SPAN_S
        assert abs(told[threshold].matches - expected) < 6 * told[threshold].error + 1e-9
        assert 0 < told[threshold].error < 0.2 * expected


def test_it_is_estimated_at_few_thresholds_and_the_querys_own_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.replaying.expected_by_chance.MOST_ESTIMATES", 6)  # of two areas
    assert [*chance_of(played(THREE, FRAMES), [nth / 20 for nth in range(1, 20)])] == [0.05, 0.1, 0.95]


@pytest.mark.parametrize("query", [{**PAIR, "equal": "attributes.object"}, {**THREE, "at_least": 2}])
def test_where_it_is_not_known_it_is_not_told(query: dict[str, Any]) -> None:
    assert chance_of(played(query, FRAMES), [0.5]) == {}
