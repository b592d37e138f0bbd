"""PUT, PATCH and DELETE /v1/sensors/{id}: nobody overwrites what they have not seen, and stamping follows at once."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from coincide import Histogram
from services.common.access.audit import AuditTrail
from services.common.log.records import Record
from services.common.topics.compacted_topic import TopicView
from services.ingest.app import create_app
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.named_templates import TEMPLATES
from services.ingest.registry.registered_clocks import CLOCKS
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import CLOCK, NOW_US, KeepingPublisher, registry_of
from tests.services.kept_records import KeptRecords

BOUY = {"area": "bay", "streams": {"seismic": {"uniform": [-3, 0]}}, "model": "B-1", "place": {"lat": 47.5, "lon": -3}}
PATCH = "application/merge-patch+json"


class Line(KeepingPublisher):
    """Ingest whose registry follows what it writes, as Kafka would have it."""

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged = True
        self.registry = registry_of()
        self.records: list[tuple[str, bytes | None]] = []
        parts = (IngestSettings(), self.registry, self, IngestMetrics(CollectorRegistry()))
        self.trail = KeptRecords()
        audit = AuditTrail("ingest", self.trail)
        self.app = create_app(*parts, audit=audit, clock_us=lambda: NOW_US)
        self.client = TestClient(self.app)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        followed: dict[str, TopicView] = {TEMPLATES: self.registry.templates, CLOCKS: self.registry.clocks}
        assert topic in {SENSORS, *followed}
        if self.acknowledged and topic in followed:
            followed[topic].apply([Record(topic, 0, 0, 0, key, value)])
        elif self.acknowledged:
            self.records.append((key.decode(), value))
            self.registry.apply({key.decode(): None if value is None else Sensor.from_record(value)})
        return self.acknowledged

    def change(self, method: str, sensor: str, content: Any = None, kind: str = "application/json", **seen: str) -> Any:
        headers = {"content-type": kind, **{name.replace("_", "-"): value for name, value in seen.items()}}
        body = None if content is None else json.dumps(content)
        return self.client.request(method, f"/v1/sensors/{sensor}", content=body, headers=headers)

    def template_of(self, sensor: str) -> str:
        """Post a detection and return the template that its frame names."""
        posted = self.client.post("/v1/detections", json={"sensor": sensor, "detected_at": NOW_US})
        assert posted.status_code == 202, posted.text
        return str(self.detections[-1]["template"])


@pytest.fixture
def line() -> Line:
    return Line()


def test_a_sensor_is_created_changed_and_removed_and_stamping_follows(line: Line) -> None:
    created = line.change("PUT", "buoy", BOUY)
    assert (created.status_code, created.headers["etag"]) == (201, '"1"')
    assert line.template_of("buoy") == Histogram.uniform(-3, 0).id
    body = line.client.get("/v1/sensors/buoy").json()
    assert {name: body[name] for name in ("model", "place", "version", "changed_at_us", "changed_by")} == {
        "model": "B-1",
        "place": {"lat": 47.5, "lon": -3.0},
        "version": 1,
        "changed_at_us": NOW_US,
        "changed_by": None,
    }

    patch = {"streams": {"seismic": {"normal": {"sigma_s": 0.5}}}, "model": None, "labels": {"site": "north"}}
    changed = line.change("PATCH", "buoy", patch, PATCH, if_match='"1"')
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert (changed.json()["model"], changed.json()["labels"]) == (None, {"site": "north"})
    assert line.template_of("buoy") == Histogram.normal(0.5).id
    assert len({each["template"] for each in line.detections}) == 2  # the frame of before names the old one

    assert line.change("DELETE", "buoy", if_match='"2"').status_code == 204
    assert line.records[-1] == ("buoy", None)
    refused = line.client.post("/v1/detections", json={"sensor": "buoy", "detected_at": NOW_US})
    assert refused.json()["detections"][0]["reason"] == "unknown_sensor"
    again = line.change("PUT", "buoy", BOUY)
    assert again.headers["etag"] == '"4"'  # no version is given twice: who saw the second one cannot change this
    told = [(each["action"], each["subject"]) for each in line.trail.changes]
    assert told == [(f"sensor.{done}", "buoy") for done in ("created", "replaced", "removed", "created")]
    replaced = line.trail.changes[1]
    for side, template in (("before", Histogram.uniform(-3, 0)), ("after", Histogram.normal(0.5))):
        assert replaced[side]["streams"] == {"seismic": template.id}
        assert replaced[side]["templates"] == {template.id: template.to_json()}


def test_the_trail_tells_a_template_in_full_only_where_it_changed(line: Line) -> None:
    line.change("PATCH", "both", {"streams": {"acoustic": {"point": True}}}, PATCH, if_match="*")
    line.change("PATCH", "both", {"area": "hill"}, PATCH, if_match="*")
    of_template, of_area = line.trail.changes
    assert [each["id"] for each in (of_template["before"], of_template["after"])] == ["both", "both"]
    was = Histogram.normal(sigma_s=0.5)
    assert of_template["before"]["templates"] == {was.id: was.to_json()}
    assert list(of_template["after"]["templates"].values()) == [Histogram.point().to_json()]
    assert ("templates" in of_area["before"], "templates" in of_area["after"]) == (False, False)


def test_nobody_overwrites_what_they_have_not_seen(line: Line) -> None:
    assert line.client.get("/v1/sensors/geo").headers["etag"] == '"0"'
    document = {"area": "bay", "streams": {"seismic": CLOCK.id}}
    cases = [
        ({}, 428),
        ({"if_match": '"1"'}, 412),
        ({"if_none_match": "*"}, 412),
        ({"if_match": "x"}, 422),
    ]
    for seen, status in cases:
        refused = line.change("PUT", "geo", {**document, "area": "hill"}, **seen)
        assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    assert line.records == []
    assert line.change("PUT", "geo", document, if_match='"0"').headers["etag"] == '"0"'  # it is as it was
    assert line.records == []
    assert line.change("PUT", "geo", {**document, "area": "hill"}, if_match="*").headers["etag"] == '"1"'
    assert line.change("PUT", "nobody", document, if_match="*").status_code == 412
    assert line.change("PATCH", "nobody", {}, PATCH, if_match="*").status_code == 404
    assert line.change("DELETE", "nobody", if_match="*").status_code == 404


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"area": ""}, "area"),
        ({"streams": {}}, "streams"),
        ({"streams": {"undeclared": CLOCK.id}}, "'undeclared' is not declared"),
        ({"streams": {"seismic": "t-0"}}, "no template is named 't-0'"),
        ({"streams": {"seismic": {"uniform": [1, 0]}}}, "streams.seismic"),
        ({"streams": {"seismic": {"uniform": [-100, 0]}}}, "streams.seismic"),
        ({"streams": {"seismic": 7}}, "streams"),
        ({"place": {"lat": 91, "lon": 0}}, "place.lat is 91: decimal degrees north, from -90 to 90"),
        ({"place": {"lat": "47° 30' N", "lon": -3}}, "decimal degrees: this is 47.500000"),
        ({"place": {"lat": 0, "lon": 0}}, "0, 0 is in the sea off Ghana"),
        ({"place": {"lat": 47.5, "x_m": 3}}, "or x_m, y_m and z_m in a frame of the area"),
        ({"place": {"x_m": 1, "y_m": "12 ft"}}, "a number of metres: this is 3.66"),
        ({"place": {"latitude": 47.5, "lon": 3}}, "place.latitude is 47.5: written as lat"),
        ({"labels": {"a": 1}}, "labels"),
        ({"id": "another"}, "'another'"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(line: Line, change: dict[str, Any], said: str) -> None:
    refused = line.change("PUT", "buoy", {**BOUY, **change})
    assert refused.status_code == 422
    assert said in refused.json()["detail"]
    assert line.records == []


def test_places_of_one_area_are_of_one_kind(line: Line) -> None:
    line.change("PUT", "buoy", BOUY)
    crane = {**BOUY, "place": {"x_m": 3, "y_m": 4}}
    refused = line.change("PUT", "crane", crane)
    assert (refused.status_code, refused.json()["field"]) == (422, "place")
    assert "lat and lon, as sensor 'buoy' of area 'bay' has" in refused.json()["detail"]
    many = [{**crane, "id": "crane"}, {**crane, "id": "gate", "area": "hall"}, {**BOUY, "id": "door", "area": "hall"}]
    answer = line.client.post("/v1/sensors", json={"sensors": many}).json()["items"]
    assert [each["status"] for each in answer] == ["refused", "created", "refused"]
    assert "as sensor 'gate' of area 'hall' has" in answer[2]["detail"]
    assert line.change("PUT", "buoy", crane, if_match="*").status_code == 200  # the only one: the area's kind changes
    assert line.change("PUT", "crane", crane).status_code == 201
    both = [{**BOUY, "id": name} for name in ("buoy", "crane")]
    answer = line.client.post("/v1/sensors", json={"sensors": both}, params={"overwrite": True}).json()["items"]
    assert [each["status"] for each in answer] == ["replaced", "replaced"]  # all of the area at once


def test_bodies_are_bounded_and_json(line: Line) -> None:
    assert line.change("PUT", "buoy", BOUY, "text/plain").status_code == 415
    assert line.change("PUT", "buoy", "x" * 3_000_000).status_code == 413
    broken = line.client.put("/v1/sensors/buoy", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 422
    assert line.change("PUT", "n" * 201, BOUY).status_code == 422


def test_what_kafka_did_not_acknowledge_is_a_503_and_its_version_is_not_given_again(line: Line) -> None:
    line.acknowledged = False
    refused = line.change("PUT", "buoy", BOUY)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    line.acknowledged = True
    assert line.change("PUT", "buoy", BOUY).headers["etag"] == '"2"'
    line.registry.has_sensors = False
    assert line.change("DELETE", "buoy", if_match="*").status_code == 503
