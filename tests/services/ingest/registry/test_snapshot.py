import pytest

from coincide import Histogram
from services.ingest.registry.sensors import Sensor, SensorError
from tests.services.ingest.building import CLOCK, SENSORS, registry_of


def test_a_snapshot_in_hand_never_changes_and_replacing_forgets_what_is_not_named() -> None:
    registry = registry_of()
    before = registry.snapshot
    registry.apply({"geo": None, "nobody": None, "new": Sensor("new", "bay", {"seismic": CLOCK})})
    assert "geo" in before.sensors
    assert "new" not in before.stamps
    assert registry.snapshot.stamps.keys() == registry.snapshot.sensors.keys() == {*SENSORS, "new"} - {"geo"}
    registry.replace({"imb": SENSORS["imb"]})
    assert list(registry.snapshot.sensors) == ["imb"]
    assert list(registry.snapshot.templates) == [Histogram.uniform(-0.05, 0.05).id]


def test_a_record_reads_back_as_the_same_sensor() -> None:
    for sensor in SENSORS.values():
        assert Sensor.from_record(sensor.to_record()) == sensor


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"v":2,"sensor":"a","area":"b","streams":{"s":{"edges_s":[0,1],"mass":[1]}}}',
        b'{"v":1,"sensor":"a","area":"b","streams":{}}',
        b'{"v":1,"sensor":"a","area":"","streams":{"s":{"edges_s":[0,1],"mass":[1]}}}',
        b'{"v":1,"sensor":"a","area":"b","streams":{"s":{"edges_s":[1,0],"mass":[1]}}}',
        b'{"v":1,"sensor":"a","area":"b","streams":{"s":{"edges_s":["x",0],"mass":[1]}}}',
        b'{"v":1,"sensor":"a","area":"b","streams":{"s":{"edges_s":[0,1]}}}',
        b'{"v":1,"sensor":"a","area":"b","streams":{"s":' + b"[" * 5000 + b"]" * 5000 + b"}}",
    ],
)
def test_a_record_that_is_no_sensor_is_refused(value: bytes) -> None:
    with pytest.raises(SensorError):
        Sensor.from_record(value)
