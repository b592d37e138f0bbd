"""Chance matches of a run are those of the library's chance rate, area by area and sensor by sensor."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Window, chance_rate
from coincide.queries import Query
from coincide.queries.explaining import KnownSensor, explain
from coincide.thresholds import graph_chance_rate
from coincide.thresholds.chance import SensorRate
from services.history.replaying.expected_by_chance import ExpectedMatches, chance_matches, role_counts
from services.history.rows.played_rows import PlayedRows
from tests.coincide.fusion.inputs import frame
from tests.services.history.replaying.test_answers import PAIR, SELF, THREE, frames_of, played, some_rows
from tests.services.history.replaying.test_match_curves import PATH

FRAMES = frames_of(some_rows(3, 300))
DAY_S = 86_400.0
AREAS = 40
ASYMMETRIC = {**SELF, "within": [{"between": ["a", "b"], "lo_s": -0.5, "hi_s": 2, "threshold": 0.3}]}


@pytest.mark.parametrize(
    "query", [PAIR, {**PAIR, "sensors": "any"}, SELF, {**SELF, "sensors": "same"}, ASYMMETRIC], ids=range(5)
)
def test_it_is_the_librarys_rate_in_every_area(query: dict[str, Any]) -> None:
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
    return hz * span_s(of_run)


def span_s(of_run: Any) -> float:
    """Return the time in which somebody was heard; the range of the run is a day."""
    at_us = [row["detected_at_us"] for row in of_run.rows.to_pylist() if row["stream"] in of_run.query.streams]
    return float(max(at_us) - min(at_us)) / 1e6


def test_the_length_of_the_range_changes_nothing() -> None:
    of_run = played(PAIR, FRAMES)
    assert chance_of(of_run, [0.3], 60.0) == chance_of(of_run, [0.3], 30 * DAY_S)


def sensor_rates(of_run: Any, area: str, stream: str) -> list[SensorRate]:
    rows = [row for row in of_run.rows.to_pylist() if (row["area"], row["stream"]) == (area, stream)]
    counts = Counter((row["sensor_id"], row["template"]) for row in rows)
    templates: dict[str, Histogram] = of_run.templates
    return [SensorRate(sensor, templates[id_], count / span_s(of_run)) for (sensor, id_), count in counts.items()]


def chance_of(of_run: PlayedRows, thresholds: list[float], range_s: float = DAY_S) -> dict[float, ExpectedMatches]:
    """What is told if the rows come in two chunks, which see each other's rows."""
    is_own = np.arange(len(of_run.rows)) % 3 > 0
    counts = [role_counts(replace(of_run, is_own=each)) for each in (is_own, ~is_own)]
    return chance_matches(of_run.query, counts, of_run.templates, thresholds, range_s)


@pytest.mark.parametrize("query", [THREE, {**THREE, "sensors": "any"}, PATH], ids=["three", "any", "path"])
def test_of_graphs_it_is_the_librarys_estimate_in_every_area(query: dict[str, Any]) -> None:
    of_run = played({**query, **LENIENT[query["id"]]}, FRAMES)
    told = chance_of(of_run, [0.05, 0.1, 0.3, 0.5])
    for threshold in (0.05, 0.1, 0.3, 0.5):
        asked = of_run.query.with_threshold(threshold)
        expected = 0.0
        for area in ("area-0", "area-1"):
            rates = {role: sensor_rates(of_run, area, stream) for role, stream in asked.roles}
            streams, joint = dict(asked.roles), asked.joint_threshold
            rate = graph_chance_rate(rates, asked.graph, joint, sensors=asked.sensors, streams=streams)
            expected += rate.rate_hz * span_s(of_run)
        assert abs(told[threshold].matches - expected) < 6 * told[threshold].error + 1e-9
        assert 0 < told[threshold].error < 0.2 * expected
        assert not told[threshold].is_upper_bound


LENIENT: dict[str, dict[str, Any]] = {
    "three": {"joint_threshold": 0.05},
    "path": Query.from_json(PATH).with_threshold(0.05).to_json(),
}


@pytest.mark.parametrize("query", [{**THREE, "at_least": 2}, THREE, PATH], ids=["two of three", "three", "path"])
def test_in_any_number_of_areas_it_is_what_an_explanation_says_at_every_threshold(query: dict[str, Any]) -> None:
    rows = some_rows(4, 500)
    areas = [frame(nth, rows[nth::AREAS], f"area-{nth}", nth % 2, 1e9 + nth) for nth in range(AREAS)]
    thresholds = [0.3, 0.45, 0.7]
    document = Query.from_json(query).with_threshold(thresholds[0]).to_json()
    of_run = played(document, areas)
    told = chance_of(of_run, thresholds)
    assert [*told] == thresholds
    every = [
        KnownSensor(rate.sensor, f"area-{nth}", stream, rate.template, rate.rate_hz)
        for nth in range(AREAS)
        for stream in dict.fromkeys(of_run.query.streams)
        for rate in sensor_rates(of_run, f"area-{nth}", stream)
    ]
    for threshold in thresholds:
        chance = explain(of_run.query.with_threshold(threshold), every).chance
        assert chance is not None
        expected, error = (each * span_s(of_run) / 3_600 for each in (chance.per_hour, chance.error_per_hour))
        assert told[threshold].matches == pytest.approx(expected, abs=5 * np.hypot(told[threshold].error, error))
        assert told[threshold].matches > 0
    assert told[0.7].matches < told[0.3].matches


def test_with_equal_it_is_a_bound() -> None:
    [without, equal] = (
        chance_of(played(query, FRAMES), [0.5])[0.5] for query in (PAIR, {**PAIR, "equal": "attributes.object"})
    )
    assert equal == replace(without, is_upper_bound=True)
    assert equal.to_json() == {"chance": without.matches, "chance_is_upper_bound": True}


def test_of_a_role_that_nobody_plays_there_is_none() -> None:
    absent = {**THREE, "from": {"a": "p", "b": "p", "c": "quiet"}}
    assert chance_of(played(absent, FRAMES), [0.1]) == {0.1: ExpectedMatches(0.0, 0.0, is_upper_bound=False)}
    assert chance_matches(Query.from_json(PAIR), [], {}, [0.5], DAY_S)[0.5].matches == 0.0
