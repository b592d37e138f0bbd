"""/v1/clocks/{id}: a change of its error reaches every sensor on it, and no clock goes that a sensor is on."""

import asyncio
import json
from typing import Any

import pytest

from coincide import Histogram
from coincide.clocks import Clock
from services.ingest.registry.sensors import Sensor
from tests.services.ingest.registry.test_sensor_changes import PATCH, Line

OWN = {"uniform": [-0.05, 0.05]}
GATEWAY = {"error": {"uniform": [-20, 20]}, "label": "on the pier"}


def on_clock(error_s: float, own: Histogram | None = None) -> Histogram:
    return Clock("gw-7", Histogram.uniform(-error_s, error_s)).template(own or Histogram.uniform(-0.05, 0.05))


def change(
    line: Line, method: str, clock: str, content: Any = None, kind: str = "application/json", **seen: str
) -> Any:
    headers = {"content-type": kind, **{header.replace("_", "-"): value for header, value in seen.items()}}
    body = None if content is None else json.dumps(content)
    return line.client.request(method, f"/v1/clocks/{clock}", content=body, headers=headers)


def sensor(stream: Any, **more: Any) -> dict[str, Any]:
    return {"area": "bay", "clock": "gw-7", "streams": {"seismic": stream}, **more}


@pytest.fixture
def line() -> Line:
    line = Line()
    assert change(line, "PUT", "gw-7", GATEWAY).status_code == 201
    for id_ in ("mic-1", "mic-2"):
        put = line.change("PUT", id_, sensor({"own": OWN}))
        assert put.status_code == 201, put.text
    return line


def test_sensors_on_a_clock_are_stamped_by_its_error_and_by_a_change_of_it(line: Line) -> None:
    assert line.template_of("mic-1") == on_clock(20).id
    shown = line.client.get("/v1/sensors/mic-1").json()
    own = Histogram.uniform(-0.05, 0.05).id
    assert (shown["clock"], shown["beside_clock"]) == ("gw-7", {"seismic": {"own": own, "template": None}})
    changed = change(line, "PATCH", "gw-7", {"error": {"edges_s": [-25, 25]}}, PATCH, if_match='"1"')
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"'), changed.text
    said = {name: changed.json()[name] for name in ("id", "label", "sensors", "behind")}
    assert said == {"id": "gw-7", "label": "on the pier", "sensors": 2, "behind": 0}
    assert {line.template_of(each) for each in ("mic-1", "mic-2")} == {on_clock(25).id}
    assert line.client.get("/v1/sensors/mic-2").json()["changed_by"] == "clock gw-7"
    assert line.trail.changes[-3]["action"] == "clock.changed"
    assert [each["id"] for each in line.client.get("/v1/sensors", params={"clock": "gw-7"}).json()["items"]] == [
        "mic-1",
        "mic-2",
    ]


def test_what_a_sensor_names_beside_its_clock_follows_too(line: Line) -> None:
    name = {"content-type": "application/json"}
    path = "/v1/templates/close"
    assert line.client.put(path, content=json.dumps(OWN), headers=name).status_code == 201
    put = line.change("PUT", "mic-1", sensor({"own": "close"}), if_match="*")
    assert put.json()["templates"] == {"seismic": "close"}, put.text
    wider = line.client.put(path, content='{"uniform": [-1, 1]}', headers={**name, "if-match": "*"})
    assert (wider.status_code, wider.json()["sensors"]) == (200, 1)
    assert line.template_of("mic-1") == on_clock(20, Histogram.uniform(-1, 1)).id
    refused = line.client.put(path, content='{"uniform": [-12, 12]}', headers={**name, "if-match": "*"})
    assert (refused.status_code, "at most 60 s" in refused.json()["detail"]) == (422, True)
    assert line.client.delete(path, headers={"if-match": "*"}).status_code == 409


def test_a_sensor_may_be_changed_as_it_is_shown_and_moved_to_another_clock(line: Line) -> None:
    learnt = {"uniform": [-22, 22]}
    put = line.change("PUT", "mic-1", sensor({"own": OWN, "template": learnt}), if_match="*")
    shown = put.json()["beside_clock"]
    assert shown == {"seismic": {"own": Histogram.uniform(-0.05, 0.05).id, "template": Histogram.uniform(-22, 22).id}}
    again = line.change("PUT", "mic-1", sensor(shown["seismic"]), if_match="*")
    assert again.headers["etag"] == put.headers["etag"], again.text
    change(line, "PUT", "gw-8", {"error": {"point": True}})
    moved = line.change("PATCH", "mic-2", {"clock": "gw-8"}, PATCH, if_match="*")
    assert moved.json()["clock"] == "gw-8", moved.text
    left = line.change("PATCH", "mic-2", {"clock": None, "streams": {"seismic": "t-1"}}, PATCH, if_match="*")
    assert (left.status_code, "no template is named" in left.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (sensor(OWN), "streams.seismic: own is None: what is left of the error once the clock is right: a template"),
        (sensor({"template": OWN}), "a template alone is not enough"),
        (sensor({"own": OWN, "error": OWN}), "beside a clock own, and template if the whole was learnt"),
        (sensor({"own": {"uniform": [2, 1]}}), "own.edges_s is [2, 1]"),
        (sensor({"own": "nowhere"}), "no template is named 'nowhere'"),
        (sensor({"own": {"clock": "gw-7", "error": OWN, "own": OWN}}), "a sensor names its clock"),
        (sensor({"own": on_clock(20).id}), "a template that is on no clock"),
        (sensor({"own": {"uniform": [-20, 20]}}), "at most 60 s for stream seismic"),
        ({**sensor({"own": OWN}), "clock": "gw-9"}, "no clock is registered as 'gw-9'"),
        ({"area": "bay", "streams": {"seismic": {"own": OWN}}}, "the sensor has none"),
        ({"area": "bay", "streams": {"seismic": on_clock(20).id}}, "a template that is on no clock"),
    ],
)
def test_what_does_not_go_beside_a_clock_is_refused(line: Line, document: dict[str, Any], says: str) -> None:
    refused = line.change("PUT", "mic-3", document)
    assert (refused.status_code, says in refused.json()["detail"]) == (422, True), refused.text
    listed = line.client.post("/v1/sensors", json={"sensors": [{"id": "mic-3", **document}]})
    [verdict] = listed.json()["items"]
    assert (verdict["status"], "mic-3" in line.registry.snapshot.stamps) == ("refused", False)


@pytest.mark.parametrize(
    ("clock", "document", "says"),
    [
        ("gw-8", {"label": "no error"}, "error"),
        ("gw-8", {"error": {"uniform": [1, 0]}}, "error.edges_s is [1, 0]"),
        ("gw-8", {"error": {"uniform": [-90_000, 0]}}, "within 86400 s"),
        ("gw-8", {"error": {"clock": "gw-7"}}, "one of uniform"),
        ("gw-8", {"error": OWN, "label": ""}, "label"),
        ("gw-8", {"error": OWN, "drift": 1}, "drift"),
        ("gw-8", {"error": OWN, "id": "gw-9"}, "the path says 'gw-8'"),
        ("gw-7", {"error": {"uniform": [-31, 31]}}, "at most 60 s for stream seismic"),
    ],
)
def test_what_is_no_clock_or_does_not_fit_its_sensors_is_refused(
    line: Line, clock: str, document: dict[str, Any], says: str
) -> None:
    refused = (
        change(line, "PUT", clock, document, if_match="*") if clock == "gw-7" else change(line, "PUT", clock, document)
    )
    assert (refused.status_code, says in refused.json()["detail"]) == (422, True), refused.text
    assert [*line.registry.clocks] == ["gw-7"]
    assert line.template_of("mic-1") == on_clock(20).id


def test_a_clock_is_removed_once_no_sensor_is_on_it(line: Line) -> None:
    refused = change(line, "DELETE", "gw-7", if_match="*")
    assert (refused.status_code, "2 sensors are on the clock 'gw-7'" in refused.json()["detail"]) == (409, True)
    for id_ in ("mic-1", "mic-2"):
        assert line.change("DELETE", id_, if_match="*").status_code == 204
    assert change(line, "DELETE", "gw-7", if_match="*").status_code == 204
    assert change(line, "GET", "gw-7").status_code == 404
    assert line.client.get("/v1/clocks").json()["items"] == []


def test_a_change_that_was_cut_short_is_finished(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = line.publish_record

    async def publish_all_but_one(topic: str, key: bytes, value: bytes | None) -> bool:
        return key != b"mic-2" and await publish(topic, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(line, "publish_record", publish_all_but_one)
        cut = change(line, "PUT", "gw-7", {**GATEWAY, "error": {"uniform": [-25, 25]}}, if_match="*")
    assert (cut.status_code, "not all its sensors have it yet" in cut.json()["detail"]) == (503, True)
    assert change(line, "GET", "gw-7").json()["behind"] == 1
    asyncio.run(line.app.state.unfinished[0]())
    assert line.template_of("mic-2") == on_clock(25).id


def test_a_list_of_sensors_may_be_on_clocks_and_the_file_declares_them(line: Line) -> None:
    listed = {"templates": {"close": OWN}, "sensors": [{"id": "mic-3", **sensor({"own": "close"})}]}
    assert line.client.post("/v1/sensors", json=listed).json()["items"][0]["status"] == "created"
    assert line.template_of("mic-3") == on_clock(20).id
    text = line.client.get("/v1/sensors", params={"format": "yaml", "clock": "gw-7"}).text
    assert text.startswith("clocks:\n  gw-7:\n")
    assert Sensor.from_record(line.records[-1][1] or b"").clock == "gw-7"
