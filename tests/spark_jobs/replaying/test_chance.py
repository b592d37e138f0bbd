"""Chance matches of a run are those of the library's chance rate, area by area and sensor by sensor."""

from collections import Counter
from typing import Any

import pytest

from coincide import Histogram, Window, chance_rate
from coincide.offsets.chance import SensorRate
from coincide.queries import Query
from spark_jobs.replaying.chance import chance_matches
from tests.spark_jobs.replaying.test_answers import PAIR, SELF, THREE, frames_of, played, some_rows

FRAMES = frames_of(some_rows(3, 300))
SPAN_S = 60.0
ASYMMETRIC = {**SELF, "within": [{"between": ["a", "b"], "lo_s": -0.5, "hi_s": 2, "threshold": 0.3}]}


@pytest.mark.parametrize(
    "query", [PAIR, {**PAIR, "sensors": "any"}, SELF, {**SELF, "sensors": "same"}, ASYMMETRIC], ids=range(5)
)
def test_it_is_the_librarys_rate_in_every_area(query: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.replaying.chance.GROUPS_AT_ONCE", 3)
    of_run = played(query, FRAMES)
    told = chance_matches(of_run, [0.3, 0.6, 0.9], SPAN_S)
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


@pytest.mark.parametrize("query", [THREE, {**PAIR, "equal": "attributes.object"}], ids=["three", "equal"])
def test_where_it_is_not_known_it_is_not_told(query: dict[str, Any]) -> None:
    assert Query.from_json(query)
    assert chance_matches(played(query, FRAMES), [0.5], SPAN_S) is None
