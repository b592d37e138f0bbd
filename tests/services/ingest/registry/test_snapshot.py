import msgspec
import pytest

from coincide import Histogram
from services.ingest.registry.sensors import Sensor, SensorError, template_of
from tests.services.ingest.building import CLOCK, SENSORS, registry_of


def test_a_snapshot_in_hand_never_changes_and_replacing_forgets_what_is_not_named() -> None:
    registry = registry_of()
    before = registry.snapshot
    registry.apply({"geo": None, "nobody": None, "new": Sensor("new", "bay", {"seismic": CLOCK})})
    assert "geo" in before.stamps
    assert "new" not in before.stamps
    assert registry.snapshot.ids == sorted({*SENSORS, "new"} - {"geo"})
    registry.replace([{"imb": SENSORS["imb"], "geo": SENSORS["geo"]}, {"geo": None}])
    assert list(registry.snapshot.stamps) == ["imb"]


def test_equal_templates_are_one_and_one_that_no_sensor_has_is_forgotten() -> None:
    registry = registry_of()
    both, geo = registry.snapshot.stamps["both"], registry.snapshot.stamps["geo"]
    assert geo[0].template is both[0].template is registry.snapshot.template(CLOCK.id)
    registry.replace([{"imb": Sensor.from_record(SENSORS["imb"].to_record())}])
    assert registry.snapshot.template(CLOCK.id) is None
    assert registry.snapshot.template(Histogram.uniform(-0.05, 0.05).id) is not None


@pytest.mark.parametrize("histogram", [Histogram.point(), CLOCK, Histogram([-4, -1, -1, 0.1], [0.25, 0.5, 0.25])])
def test_a_template_gives_back_the_histogram_it_is_made_of(histogram: Histogram) -> None:
    template = template_of(histogram)
    assert template.id == histogram.id == template.histogram.id
    assert template.histogram == histogram
    assert Histogram.from_json(msgspec.json.decode(template.json)) == histogram


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
