"""PUT, PATCH and DELETE /v1/streams/{name}: what is refused, and that stamping goes by it at once."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from services.common.access.audit import AUDIT, AuditTrail
from services.common.settings import load_streams
from services.ingest.app import create_app
from services.ingest.metrics import IngestMetrics
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import NOW_US, STREAMS, KeepingPublisher, registry_of
from tests.services.kept_records import KeptRecords

PATCH = "application/merge-patch+json"


class Line(KeepingPublisher):
    """Ingest whose streams follow what it writes, as Kafka would have it."""

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged = True
        self.registry = registry_of()
        self.trail = KeptRecords()
        parts = (IngestSettings(), self.registry, self, IngestMetrics(CollectorRegistry()))
        app = create_app(*parts, audit=AuditTrail("ingest", self.trail), clock_us=lambda: NOW_US)
        self.client = TestClient(app)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        if self.acknowledged:
            self.follow(key, value, topic)
        return self.acknowledged

    def follow(self, key: bytes, value: bytes | None, topic: str = "queries") -> None:
        assert topic == "queries"
        record: Any = SimpleNamespace(topic=topic, key=key, value=value)
        self.registry.streams.apply([record])

    def change(self, method: str, stream: str, content: Any = None, kind: str = "application/json", **seen: str) -> Any:
        headers = {"content-type": kind, **{name.replace("_", "-"): value for name, value in seen.items()}}
        body = None if content is None else json.dumps(content)
        return self.client.request(method, f"/v1/streams/{stream}", content=body, headers=headers)

    def post(self, sensor: str) -> int:
        return self.client.post("/v1/detections", json={"sensor": sensor, "detected_at": NOW_US}).status_code


@pytest.fixture
def line() -> Line:
    return Line()


def test_a_stream_is_declared_changed_and_removed(line: Line) -> None:
    created = line.change("PUT", "infrasound", {"max_delay_s": 5, "longest_template_s": 40})
    assert (created.status_code, created.headers["etag"]) == (201, '"1"')
    shown = line.client.get("/v1/streams/infrasound").json()
    assert shown == {
        "name": "infrasound",
        "max_delay_s": 5,
        "longest_template_s": 40,
        "echo_s": None,
        "sensors": 0,
        "queries": [],
        "version": 1,
        "changed_at_us": NOW_US,
        "changed_by": None,
    }
    assert line.change("PUT", "infrasound", {}).status_code == 428
    assert line.change("PATCH", "infrasound", {"max_delay_s": 7}, PATCH, if_match='"9"').status_code == 412
    changed = line.change("PATCH", "infrasound", {"max_delay_s": 7}, PATCH, if_match='"1"')
    assert (changed.json()["max_delay_s"], changed.json()["longest_template_s"], changed.headers["etag"]) == (
        7,
        40,
        '"2"',
    )
    again = line.change("PATCH", "infrasound", {"max_delay_s": 7}, PATCH, if_match='"2"')
    assert (again.status_code, again.headers["etag"]) == (200, '"2"')
    assert line.change("DELETE", "infrasound", if_match='"2"').status_code == 204
    assert line.client.get("/v1/streams/infrasound").status_code == 404
    anew = line.change("PUT", "infrasound", {})
    assert (anew.status_code, anew.headers["etag"]) == (201, '"4"')
    kept = [json.loads(value)["action"] for _, value in line.trail.topics[AUDIT] if value]
    assert kept == ["stream.created", "stream.changed", "stream.removed", "stream.created"]


def test_sensors_fit_or_not_as_soon_as_their_stream_has_changed(line: Line) -> None:
    assert (line.post("geo"), line.post("vague"), line.post("strange")) == (202, 422, 422)
    assert line.change("PUT", "seismic", {"longest_template_s": 200}, if_match='"0"').status_code == 200
    assert line.change("PUT", "undeclared", {}).status_code == 201
    assert (line.post("geo"), line.post("vague"), line.post("strange")) == (202, 202, 202)
    assert line.change("PATCH", "seismic", {"longest_template_s": 1}, PATCH, if_match='"1"').status_code == 200
    assert (line.post("geo"), line.post("vague")) == (422, 422)


def test_echoes_of_a_stream_are_declared_and_taken_back(line: Line) -> None:
    assert line.change("PUT", "smell", {"echo_s": 0.5}).json()["echo_s"] == 0.5
    assert line.registry.streams["smell"].echo_us == 500_000
    changed = line.change("PATCH", "smell", {"max_delay_s": 7}, PATCH, if_match='"1"').json()
    assert (changed["max_delay_s"], changed["echo_s"]) == (7, 0.5)
    assert line.change("PATCH", "smell", {"echo_s": None}, PATCH, if_match='"2"').json()["echo_s"] is None
    assert line.registry.streams["smell"].echo_us is None


def test_a_stream_in_use_is_not_removed(line: Line) -> None:
    by_sensor = line.change("DELETE", "seismic", if_match="*")
    assert (by_sensor.status_code, by_sensor.json()["detail"][:9]) == (409, "3 sensors")
    line.change("PUT", "smell", {})
    query = {
        "id": "q",
        "from": {"a": "smell", "b": "smell"},
        "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}],
    }
    line.follow(b"q", json.dumps({"v": 1, "id": "q", "version": 1, "changed_at_us": 0, "query": query}).encode())
    refused = line.change("DELETE", "smell", if_match="*")
    assert (refused.status_code, "query 'q' reads the stream" in refused.json()["detail"]) == (409, True)
    assert line.client.get("/v1/streams/smell").json()["queries"] == ["q"]
    line.follow(b"q", json.dumps({"v": 1, "id": "q", "version": 2, "changed_at_us": 0, "removed": True}).encode())
    assert line.change("DELETE", "smell", if_match="*").status_code == 204


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("smell", {"max_delay_s": -1}, "max_delay_s"),
        ("smell", {"max_delay_s": "1"}, "max_delay_s"),
        ("smell", {"colour": 1}, "colour"),
        ("smell", [], "object"),
        ("smell", {"name": "taste"}, "taste"),
        ("-smell", {}, "name"),
        ("smell", {"longest_template_s": 1e9}, "longest_template_s"),
        ("smell", {"echo_s": -0.5}, "echo_s"),
        ("smell", {"echo_s": "1"}, "echo_s"),
    ],
)
def test_what_is_no_stream_is_refused_by_its_field(line: Line, name: str, content: Any, says: str) -> None:
    refused = line.change("PUT", name, content)
    assert refused.status_code == 422
    assert says in refused.json()["detail"]


def test_a_change_that_kafka_did_not_take_is_no_change_and_its_version_is_not_given_again(line: Line) -> None:
    line.acknowledged = False
    assert line.change("PUT", "smell", {}).status_code == 503
    line.acknowledged = True
    assert line.change("PUT", "smell", {}).headers["etag"] == '"2"'


def test_the_file_that_is_given_back_declares_the_same(line: Line, tmp_path: Any) -> None:
    line.change("PUT", "smell", {"max_delay_s": 1.5, "echo_s": 0})
    given = line.client.get("/v1/streams?format=yaml")
    assert given.headers["content-type"].startswith("application/yaml")
    assert set(yaml.safe_load(given.text)["streams"]) == {*STREAMS, "smell"}
    (tmp_path / "streams.yaml").write_text(given.text)
    assert load_streams(tmp_path / "streams.yaml") == dict(line.registry.streams)
