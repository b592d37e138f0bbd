from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition

from coincide import Histogram
from coincide.clocks import Clock
from coincide.wire.declarations.stream_records import StreamRecord
from coincide.wire.last_change import LastChange
from services.common.kafka import topic_reader
from services.common.kafka.connection import KafkaConnection
from services.common.settings import SettingsError, load_streams
from services.ingest.registry import seed as seeding
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.seed import Difference, _report, seed
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_file import Declared, load_declared, load_sensors
from tests.services.alerting.sample_records import record
from tests.services.ingest.building import CLOCK, SENSORS, STREAMS

GOOD = "templates: {clock: %s}\nsensors:\n  - {id: geo, area: bay, streams: {seismic: clock}}\n"


ON_CLOCK = "clocks: {gw-7: {error: {uniform: [-1, 1]}}}\n" + GOOD.replace("area: bay", "area: bay, clock: gw-7") % (
    "{point: true}"
)


def placed(place: str, sensor: str = "geo") -> str:
    of_sensor = f"  - {{id: {sensor}, area: bay, streams: {{seismic: clock}}, place: {place}}}\n"
    return of_sensor if sensor != "geo" else (GOOD % "{point: true}").partition("  - ")[0] + of_sensor


def load(tmp_path: Path, text: str) -> dict[str, Sensor]:
    path = tmp_path / "sensors.yaml"
    path.write_text(text, encoding="utf-8")
    return load_sensors(path, STREAMS)


def test_the_supernova_s_detectors_as_published() -> None:
    sensors = load_sensors(Path("config/sensors.yaml"), load_streams(Path("config/streams.yaml")))
    published = {"kamiokande-ii": (-60, 60), "imb": (-0.05, 0.05), "baksan": (-54, 2)}
    for sensor_id, (earliest_s, latest_s) in published.items():
        assert sensors[sensor_id].area == "sn1987a"
        template = sensors[sensor_id].streams["neutrino"]
        assert (template.edges_s.tolist(), template.mass.tolist()) == ([earliest_s, latest_s], [1.0])
        assert template == sensors[sensor_id].streams["burst"]


@pytest.mark.parametrize(
    ("form", "template"),
    [
        ("{uniform: [-2, 1]}", Histogram.uniform(-2, 1)),
        ("{normal: {sigma_s: 0.5}}", Histogram.normal(sigma_s=0.5)),
        ("{normal: {sigma_s: 0.5, buckets: 4}}", Histogram.normal(sigma_s=0.5, buckets=4)),
        ("{latency: [[0, 10, 0.6], [10, 20, 0.4]]}", Histogram([-20, -10, 0], [0.4, 0.6])),
        ("{point: true}", Histogram.point()),
        ("{edges_s: [-2, 0, 1], mass: [0.5, 0.5]}", Histogram([-2, 0, 1], [0.5, 0.5])),
    ],
)
def test_forms_of_templates(tmp_path: Path, form: str, template: Histogram) -> None:
    assert load(tmp_path, GOOD % form)["geo"].streams == {"seismic": template}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD % "{uniform: [1]}", "template 'clock': uniform is [1]: uniform takes [earliest, latest] in seconds"),
        (GOOD % "{uniform: [1, -1]}", "clock"),
        (GOOD % "{normal: {sigma: 1}}", "clock"),
        (GOOD % "{point: true, uniform: [0, 1]}", "clock"),
        (GOOD % "{unknown: 1}", "one of uniform, normal, latency, point, or edges_s with mass"),
        (GOOD % "{uniform: [-100, 100]}", "at most 60 s for stream seismic"),
        (GOOD.replace("seismic", "tidal") % "{point: true}", "stream 'tidal' is not declared"),
        (GOOD.replace("seismic: clock", "seismic: other") % "{point: true}", "template 'other'"),
        (GOOD % "{point: true}" + "  - {id: geo, area: bay, streams: {seismic: clock}}", "declared twice"),
        (GOOD.replace("id: geo", "id: 5") % "{point: true}", "sensors[0].id is a whole number: a text is allowed"),
        (GOOD.replace("area: bay", "site: bay") % "{point: true}", "site"),
        ("[]", "this is a list: a JSON object is allowed"),
        ("sensors: []", "templates"),
        (GOOD.replace("clock", "t-0123456789abcdef") % "{point: true}", "and no id of one is allowed"),
        (GOOD % "{clock: gw-7, error: {point: true}, own: {point: true}}", "a sensor names its clock"),
        (GOOD.replace("area: bay", "area: bay, clock: gw-7") % "{point: true}", "clock 'gw-7', which is not declared"),
        (GOOD.replace("seismic: clock", "seismic: {own: clock}") % "{point: true}", "the sensor has none"),
        (ON_CLOCK, "streams.seismic: own is None: what is left of the error once the clock is right: a template alone"),
        (ON_CLOCK.replace("seismic: clock", "seismic: {own: clock, error: clock}"), "beside a clock own, and template"),
        (ON_CLOCK.replace("seismic: clock", "seismic: {own: gps}"), "names template 'gps', which is not declared"),
        (ON_CLOCK.replace("uniform: [-1, 1]", "uniform: [1, -1]"), "clock 'gw-7': error.edges_s is [1, -1]"),
        (ON_CLOCK.replace("error: {", "label: '', error: {"), "label"),
        (placed("{lat: 47.5, lng: 3}"), "sensor 'geo': place.lng is 3: written as lon"),
        (placed("{lat: 4730.5, lon: 3}"), "47 degrees and 30.5 minutes are 47.508333"),
        (placed("{x_m: 1, y_m: 2}") + placed("{lat: 47.5, lon: 3}", "mic"), "as sensor 'geo' of area 'bay' has"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=r"sensors\.yaml") as caught:
        load(tmp_path, text)
    assert said in str(caught.value)


def test_the_difference_is_by_content() -> None:
    present = {each: SENSORS[each] for each in ("geo", "imb", "vague")}
    declared = {**SENSORS, "imb": Sensor("imb", "elsewhere", {"neutrino": CLOCK})}
    del declared["vague"]
    difference = Difference.between(present, declared)
    assert difference == Difference(added=["both", "strange"], changed=["imb"], edited=[], surplus=["vague"])
    assert _report(difference, 4, prune=False, dry_run=True, overwrite=False) == [
        "would be added both",
        "would be added strange",
        "would be changed imb",
        "kept, although not declared (--prune removes it): vague",
        "1 of 4 declared sensors were as declared",
    ]
    assert "removed vague" in _report(difference, 4, prune=True, dry_run=False, overwrite=False)


def test_what_was_edited_since_it_was_seeded_is_kept_unless_it_shall_be_changed_back() -> None:
    edited = replace(SENSORS["geo"], area="hill", change=LastChange(3, 5, "somebody"))
    seeded = replace(SENSORS["imb"], area="hill", change=LastChange(2, 5, "seed"))
    difference = Difference.between({"geo": edited, "imb": seeded}, {"geo": SENSORS["geo"], "imb": SENSORS["imb"]})
    assert difference == Difference([], ["imb"], ["geo"], [])
    kept, changed_back = (
        _report(difference, 2, prune=False, dry_run=False, overwrite=overwrite)[1] for overwrite in (False, True)
    )
    assert kept == "kept, because it was edited since (--overwrite changes it back): geo"
    assert changed_back == "changed back geo"
    same = replace(SENSORS["geo"], change=LastChange(3, 5, "somebody"))
    assert Difference.between({"geo": same}, {"geo": SENSORS["geo"]}) == Difference([], [], [], [])


class Topics:
    """Kafka's place for the seed: what is on the topics of sensors and templates."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sensors: dict[str, Sensor] = {}
        self.templates: dict[str, NamedTemplate] = {}
        self.clocks: dict[str, RegisteredClock] = {}
        present = lambda *_: seeding.Present(dict(self.sensors), dict(self.templates), dict(self.clocks))  # noqa: E731
        monkeypatch.setattr(seeding, "present_registry", present)
        monkeypatch.setattr(seeding, "_publish", self._publish)

    def _publish(self, _bootstrap: str, _names: Any, *written: Any) -> None:
        topics: tuple[dict[str, Any], ...] = (self.clocks, self.templates, self.sensors)
        for known, (_, changes) in zip(topics, written, strict=True):
            for name, each in changes.items():
                known[name] = each
                if each is None:
                    del known[name]

    def seed(self, declared: Declared, *, overwrite: bool = False, prune: bool = False) -> list[str]:
        parts = declared.sensors, declared.templates, declared.clocks
        return seed(KafkaConnection(), *parts, prune=prune, dry_run=False, overwrite=overwrite)


def test_sensors_follow_the_templates_that_they_name_whoever_edited_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def declared(form: str) -> Declared:
        (tmp_path / "sensors.yaml").write_text(GOOD % form)
        return load_declared(tmp_path / "sensors.yaml", STREAMS)

    topics = Topics(monkeypatch)
    assert topics.seed(declared("{point: true}"))[:2] == [
        "added template clock",
        "0 of 1 declared templates were as declared",
    ]
    topics.sensors["geo"] = replace(topics.sensors["geo"], area="hill", change=LastChange(1, 5, "somebody"))
    lines = topics.seed(declared("{uniform: [-1, 0]}"))
    assert ("changed template clock" in lines, topics.sensors["geo"].area) == (True, "hill")
    assert topics.sensors["geo"].streams["seismic"] == Histogram.uniform(-1, 0)

    by_hand = NamedTemplate("clock", Histogram.uniform(-3, 0), LastChange(7, 5, "somebody"))
    topics.templates["clock"] = by_hand
    topics.sensors.clear()
    topics.seed(declared("{uniform: [-1, 0]}"))
    assert (topics.templates["clock"], topics.sensors["geo"].streams["seismic"]) == (by_hand, by_hand.histogram)
    topics.seed(declared("{uniform: [-1, 0]}"), overwrite=True)
    assert topics.sensors["geo"].streams["seismic"] == Histogram.uniform(-1, 0)
    assert topics.templates["clock"].change.version == 8

    topics.templates["unused"] = replace(by_hand, name="unused")
    topics.seed(Declared({}, dict(topics.sensors)), prune=True)
    assert [*topics.templates] == ["clock"]  # a sensor names it


def test_sensors_follow_the_clock_that_they_are_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def declared(text: str) -> Declared:
        (tmp_path / "sensors.yaml").write_text(text.replace("seismic: clock", "seismic: {own: clock}"))
        return load_declared(tmp_path / "sensors.yaml", STREAMS)

    topics = Topics(monkeypatch)
    lines = topics.seed(declared(ON_CLOCK))
    assert lines[:2] == ["added clock gw-7", "0 of 1 declared clocks were as declared"]
    assert topics.sensors["geo"].streams["seismic"] == Clock("gw-7", Histogram.uniform(-1, 1)).template(
        Histogram.point()
    )
    topics.sensors["geo"] = replace(topics.sensors["geo"], area="hill", change=LastChange(1, 5, "somebody"))
    topics.seed(declared(ON_CLOCK.replace("[-1, 1]", "[-9, 9]")))
    assert (topics.sensors["geo"].area, topics.sensors["geo"].streams["seismic"].latest_s) == ("hill", 9.0)
    topics.clocks["gw-8"] = replace(topics.clocks["gw-7"], name="gw-8")
    topics.seed(Declared({}, dict(topics.sensors)), prune=True)
    assert [*topics.clocks] == ["gw-7"]  # a sensor is on it


class TopicConsumer:
    """Stands for a consumer of a topic that holds these records."""

    def __init__(self, records: list[Any]) -> None:
        self._records, self._position = records, 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._partition = partitions[0]

    def seek_to_beginning(self, _partition: TopicPartition) -> None:
        self._position = 0

    def end_offsets(self, partitions: list[TopicPartition], **_within: int) -> dict[TopicPartition, int]:
        return {partitions[0]: len(self._records)}

    def position(self, _partition: TopicPartition, **_within: int) -> int:
        return self._position

    def poll(self, _within_ms: int) -> dict[TopicPartition, list[Any]]:
        self._position = len(self._records)
        return {self._partition: self._records}

    def close(self, **_within: int) -> None:
        pass


def test_streams_declared_over_rest_are_known_and_those_removed_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [
        StreamRecord(v=1, stream="sound", version=1, max_delay_s=60, longest_template_s=10),
        StreamRecord(v=1, stream="seismic", version=1, removed=True),
    ]
    records = [record("queries", each.to_record(), each.key) for each in changes]
    monkeypatch.setattr(topic_reader, "create_consumer", lambda _kafka: TopicConsumer(records))
    known = seeding.present_streams(KafkaConnection(servers="broker:9092"), STREAMS)
    assert known["sound"].max_delay_s == 60
    assert "seismic" not in known
    assert known.keys() == {*STREAMS, "sound"} - {"seismic"}
