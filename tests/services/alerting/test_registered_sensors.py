"""The sensors that alerting knows: records as ingest writes them."""

import json

import pytest

from coincide import Histogram
from services.alerting.records.registered_sensors import (
    RegisteredSensors,
    changes_in,
    sensor_of,
)
from tests.services.alerting.sample_records import record, sensor_record

MIC = Histogram([-5.0, -1.0, 0.0], [0.25, 0.75])


def test_a_record_of_ingest_is_read_as_it_was_written() -> None:
    found = sensor_of(sensor_record("mic-1", acoustic=MIC, seismic=Histogram.point()).value or b"").streams
    assert [(each.sensor, each.area, each.stream, each.template) for each in found] == [
        ("mic-1", "bay", "acoustic", MIC),
        ("mic-1", "bay", "seismic", Histogram.point()),
    ]


@pytest.mark.parametrize(
    "value",
    [
        b"no JSON",
        b"\xff",
        json.dumps({"v": 2, "sensor": "x", "area": "bay", "streams": {}}).encode(),
        json.dumps({"v": 1, "sensor": "x", "area": "bay", "streams": {}, "changed_at_us": 10**400}).encode(),
        json.dumps({"v": 1, "sensor": "x", "area": "bay", "streams": {"p": {"edges_s": [0], "mass": []}}}).encode(),
    ],
)
def test_a_record_that_cannot_be_used_stops_no_other(value: bytes) -> None:
    bad = record("coincide.sensors", value, key=b"x")
    assert list(changes_in([bad, sensor_record("mic-1", acoustic=MIC)])) == ["mic-1"]


def test_the_newest_record_of_a_sensor_counts_and_a_tombstone_removes_it() -> None:
    sensors = RegisteredSensors()
    assert sensors.all() == []
    sensors.replace([[sensor_record("b", acoustic=MIC), sensor_record("a", acoustic=MIC)]])
    assert [each.sensor for each in sensors.all()] == ["a", "b"]
    sensors.apply([sensor_record("b", "hill", acoustic=MIC), record("coincide.sensors", None, key=b"a")])
    assert [(each.sensor, each.area) for each in sensors.all()] == [("b", "hill")]
