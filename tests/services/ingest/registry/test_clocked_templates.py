import pytest

from coincide import Histogram
from coincide.clocks import Clock
from services.ingest.registry.declared_by_name import DeclaredError
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.sensors import Sensor, template_of
from services.ingest.registry.sensors_file import load_declared, sensors_document
from services.ingest.registry.template_renewal import renewed
from tests.services.ingest.building import STREAMS

CLOCK = RegisteredClock("gw-7", Histogram.uniform(-1, 1))
OWN, WHOLE = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-3, 3)
TEMPLATE = Clock("gw-7", CLOCK.error).template(OWN)
LEARNT = Clock("gw-7", CLOCK.error).template(OWN, WHOLE)
NAMED = NamedTemplate("close", OWN)
SENSOR = Sensor("mic", "bay", {"seismic": TEMPLATE, "acoustic": LEARNT}, names={"seismic": "close"})


def test_a_record_of_a_sensor_keeps_its_clock_and_none_of_a_template_may_be_on_one() -> None:
    assert Sensor.from_record(SENSOR.to_record()) == SENSOR
    with pytest.raises(DeclaredError, match="on no clock"):
        NamedTemplate.from_record(b"close", NamedTemplate("close", TEMPLATE).to_record())


def test_what_ingest_keeps_of_it_is_all_of_it() -> None:
    kept = template_of(TEMPLATE)
    assert (kept.id, kept.histogram, kept.clock, template_of(OWN).clock) == (TEMPLATE.id, TEMPLATE, "gw-7", None)
    assert b"gw-7" in bytes(kept.json)


def test_its_document_says_what_is_its_own_and_the_whole_only_if_that_was_learnt() -> None:
    streams = {"seismic": {"own": "close"}, "acoustic": {"own": OWN.id, "template": WHOLE.id}}
    assert SENSOR.document == {"id": "mic", "area": "bay", "clock": "gw-7", "streams": streams}
    assert SENSOR.templates == {"close": OWN, OWN.id: OWN, WHOLE.id: WHOLE}


def test_the_file_of_sensors_says_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "sensors.yaml"
    path.write_text("".join(sensors_document(lambda: [SENSOR], [NAMED], [CLOCK])))
    declared = load_declared(path, STREAMS)
    assert declared == ({"close": NAMED}, {"mic": SENSOR}, {"gw-7": CLOCK})


def test_it_follows_its_clock_and_what_it_names_but_what_was_learnt_stays() -> None:
    clocks, templates = {"gw-7": RegisteredClock("gw-7", Histogram.uniform(-5, 5))}, {"close": NAMED}
    assert renewed(SENSOR, templates, {}) is SENSOR
    streams = renewed(SENSOR, {"close": NamedTemplate("close", Histogram.uniform(-2, 2))}, clocks).streams
    slower = Clock("gw-7", Histogram.uniform(-5, 5))
    assert streams["seismic"] == slower.template(Histogram.uniform(-2, 2))
    assert streams["acoustic"] == slower.template(OWN, WHOLE)


def test_a_template_that_was_learnt_is_the_whole_error() -> None:
    accepted = SENSOR.with_template("seismic", WHOLE)
    assert (accepted.streams["seismic"], accepted.names) == (LEARNT, {"seismic": "close"})


def test_a_clock_is_read_as_it_was_written() -> None:
    assert RegisteredClock.from_record(b"gw-7", CLOCK.to_record()) == CLOCK
    for key, value in ((b"gw-8", CLOCK.to_record()), (b"gw-7", b"{}"), (b"gw-7", b"\xff")):
        with pytest.raises(DeclaredError):
            RegisteredClock.from_record(key, value)
