"""The sensors that alerting knows: records as ingest writes them, and a follower that begins again."""

import json
import threading
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from coincide import Histogram
from services.alerting.queries.registered_sensors import (
    PARTITION,
    RegisteredSensors,
    SensorsFollower,
    changes_in,
    sensor_of,
)
from services.ingest.registry.sensors import Sensor
from tests.services.alerting.records import Record, record

MIC = Histogram([-5.0, -1.0, 0.0], [0.25, 0.75])


def sensor_record(id_: str, area: str = "bay", **streams: Histogram) -> Record:
    value = Sensor(id_, area, MappingProxyType(streams)).to_record()
    return record("coincide.sensors", value, key=id_.encode())


def test_a_record_of_ingest_is_read_as_it_was_written() -> None:
    found = sensor_of(sensor_record("mic-1", acoustic=MIC, seismic=Histogram.point()).value or b"")
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
        json.dumps({"v": 1, "sensor": "x", "area": "bay", "streams": {"p": {"edges_s": [0], "mass": []}}}).encode(),
    ],
)
def test_a_record_that_cannot_be_used_stops_no_other(value: bytes) -> None:
    bad = record("coincide.sensors", value, key=b"x")
    assert list(changes_in([bad, sensor_record("mic-1", acoustic=MIC)])) == ["mic-1"]


def test_the_newest_record_of_a_sensor_counts_and_a_tombstone_removes_it() -> None:
    sensors = RegisteredSensors()
    assert sensors.all() == []
    sensors.replace([changes_in([sensor_record("b", acoustic=MIC), sensor_record("a", acoustic=MIC)])])
    assert [each.sensor for each in sensors.all()] == ["a", "b"]
    sensors.apply(changes_in([sensor_record("b", "hill", acoustic=MIC), record("coincide.sensors", None, key=b"a")]))
    assert [(each.sensor, each.area) for each in sensors.all()] == [("b", "hill")]


class ListConsumer:
    """The topic as a list, of which a poll returns two records."""

    def __init__(self, topic: list[Record], *, fails_at: int | None = None) -> None:
        self._topic, self._fails_at, self._at = topic, fails_at, 0
        self.closed = False

    def assign(self, _partitions: object) -> None: ...

    def seek_to_beginning(self, _partition: object) -> None: ...

    def end_offsets(self, _partitions: object, timeout_ms: int) -> dict[Any, int]:
        return {PARTITION: len(self._topic)}

    def position(self, _partition: object, timeout_ms: int) -> int:
        return self._at

    def poll(self, _timeout_ms: int) -> dict[Any, list[Record]]:
        if self._at == self._fails_at:
            raise KafkaTimeoutError
        records = self._topic[self._at : self._at + 2]
        self._at += len(records)
        if not records:
            time.sleep(0.005)  # as a poll without records waits
        return {PARTITION: records}

    def close(self, **_: object) -> None:
        self.closed = True


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def test_the_topic_is_read_whole_at_every_start_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.alerting.queries.registered_sensors.RETRY_S", 0.01)
    topic = [sensor_record(f"mic-{nth}", acoustic=MIC) for nth in range(5)]
    consumers = [ListConsumer(topic, fails_at=2), ListConsumer(topic)]
    left, sensors = iter(consumers), RegisteredSensors()
    follower = SensorsFollower(sensors, lambda: next(left))
    follower.start()
    until(lambda: len(sensors.all()) == 5)
    topic.append(record("coincide.sensors", None, key=b"mic-0"))
    until(lambda: len(sensors.all()) == 4)
    follower.stop()
    assert follower not in threading.enumerate()
    assert [each.closed for each in consumers] == [True, True]
