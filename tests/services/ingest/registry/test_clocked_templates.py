from coincide import Histogram
from coincide.clocks import Clock
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.sensors import Sensor, template_of
from services.ingest.registry.sensors_file import load_declared, sensors_document
from tests.services.ingest.building import STREAMS

TEMPLATE = Clock("gw-7", Histogram.uniform(-1, 1)).template(Histogram.uniform(-0.05, 0.05))
SENSOR = Sensor("mic", "bay", {"seismic": TEMPLATE}, names={"seismic": "gateway-7"})


def test_records_of_a_sensor_and_of_a_template_keep_the_clock() -> None:
    assert Sensor.from_record(SENSOR.to_record()) == SENSOR
    named = NamedTemplate("gateway-7", TEMPLATE)
    assert NamedTemplate.from_record(b"gateway-7", named.to_record()) == named


def test_what_ingest_keeps_of_it_is_all_of_it() -> None:
    kept = template_of(TEMPLATE)
    assert (kept.id, kept.histogram) == (TEMPLATE.id, TEMPLATE)
    assert b"gw-7" in bytes(kept.json)


def test_the_file_of_sensors_says_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "sensors.yaml"
    path.write_text("".join(sensors_document(lambda: [SENSOR], [NamedTemplate("gateway-7", TEMPLATE)])))
    declared = load_declared(path, STREAMS)
    assert declared.sensors["mic"].streams["seismic"] == TEMPLATE
    assert declared.templates["gateway-7"].histogram == TEMPLATE
