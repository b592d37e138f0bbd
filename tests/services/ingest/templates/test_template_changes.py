"""/v1/templates/{name}: a change reaches every sensor that names it, and no template goes that a sensor names."""

import asyncio
import json
from typing import Any

import pytest

from coincide import Histogram
from services.common.access.audit import AuditTrail
from services.common.access.caller import NOBODY
from services.ingest.registry import followed_changes
from services.ingest.registry.sensor_changes import SensorChanges, WantedSensor
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_file import load_declared
from tests.services.ingest.building import NOW_US, STREAMS
from tests.services.ingest.registry.test_sensor_changes import PATCH, Line

CABLE, LONGER = {"uniform": [-3, 0]}, {"uniform": [-5, 0]}


def change(line: Line, method: str, name: str, content: Any = None, kind: str = "application/json", **seen: str) -> Any:
    headers = {"content-type": kind, **{header.replace("_", "-"): value for header, value in seen.items()}}
    body = None if content is None else json.dumps(content)
    return line.client.request(method, f"/v1/templates/{name}", content=body, headers=headers)


def named(line: Line, *ids: str, template: str = "cable") -> None:
    """Register sensors that name a template."""
    for id_ in ids:
        put = line.change("PUT", id_, {"area": "bay", "streams": {"seismic": template}})
        assert put.status_code == 201, put.text


@pytest.fixture
def line() -> Line:
    line = Line()
    assert change(line, "PUT", "cable", CABLE).status_code == 201
    return line


def test_a_change_reaches_every_sensor_that_names_the_template(line: Line) -> None:
    named(line, "mic-1", "mic-2")
    shown = line.client.get("/v1/sensors/mic-1").json()
    assert (shown["templates"], shown["streams"]) == ({"seismic": "cable"}, {"seismic": Histogram.uniform(-3, 0).id})
    assert line.template_of("mic-1") == Histogram.uniform(-3, 0).id

    changed = change(line, "PUT", "cable", LONGER, if_match='"1"')
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert {line.template_of(each) for each in ("mic-1", "mic-2")} == {Histogram.uniform(-5, 0).id}
    assert line.template_of("geo") == Histogram.uniform(-2, 1).id
    sensor = line.client.get("/v1/sensors/mic-2").json()
    assert (sensor["version"], sensor["changed_by"], sensor["changed_at_us"]) == (2, "template cable", NOW_US)

    patched = change(line, "PATCH", "cable", {"edges_s": [-6, 0]}, PATCH, if_match='"2"')
    assert (patched.json()["edges_s"], patched.json()["sensors"], patched.json()["behind"]) == ([-6, 0], 2, 0)
    assert line.template_of("mic-2") == Histogram.uniform(-6, 0).id


def test_the_trail_tells_what_the_template_and_its_sensors_were(line: Line) -> None:
    named(line, "mic-1")
    change(line, "PUT", "cable", LONGER, if_match="*")
    of_template, of_sensor = line.trail.changes[-2:]
    assert (of_template["action"], of_template["subject"]) == ("template.changed", "cable")
    sides = [(each["before"], each["after"]) for each in (of_template, of_sensor)]
    assert sides[0] == tuple({"edges_s": [float(start_s), 0.0], "mass": [1.0]} for start_s in (-3, -5))
    assert [each["streams"] for each in sides[1]] == [{"seismic": "cable"}] * 2
    assert [each["templates"]["cable"]["edges_s"][0] for each in sides[1]] == [-3, -5]


def test_a_template_is_removed_once_no_sensor_names_it(line: Line) -> None:
    named(line, "mic-1")
    refused = change(line, "DELETE", "cable", if_match="*")
    assert (refused.status_code, "1 sensors name the template 'cable'" in refused.json()["detail"]) == (409, True)
    own = line.change("PATCH", "mic-1", {"streams": {"seismic": {"point": True}}}, PATCH, if_match="*")
    assert own.json()["templates"] == {}
    assert change(line, "DELETE", "cable", if_match='"1"').status_code == 204
    assert change(line, "GET", "cable").status_code == 404
    assert change(line, "DELETE", "cable", if_match="*").status_code == 404
    assert line.template_of("mic-1") == Histogram.point().id
    assert change(line, "PUT", "cable", CABLE).headers["etag"] == '"3"'  # no version is given twice


@pytest.mark.parametrize(
    ("seen", "status"),
    [({}, 428), ({"if_match": '"7"'}, 412), ({"if_none_match": "*"}, 412), ({"if_match": '"1"'}, 200)],
)
def test_nobody_overwrites_what_they_have_not_seen(line: Line, seen: dict[str, str], status: int) -> None:
    assert change(line, "PUT", "cable", LONGER, **seen).status_code == status
    now = change(line, "GET", "cable")
    assert (now.headers["etag"], now.json()["edges_s"][0]) == (('"2"', -5) if status == 200 else ('"1"', -3))


@pytest.mark.parametrize(
    ("name", "form", "says"),
    [
        ("cable", {"uniform": [-100, 0]}, "at most 60 s for stream seismic"),
        ("long", {"uniform": [-90_000, 0]}, "within 86400 s"),
        ("wide", {"normal": {"sigma_s": 1, "buckets": 65}}, "at most 64 buckets"),
        ("radio", {"uniform": [0, -1]}, "edges_s is [0, -1]"),
        ("radio", {"square": 1}, "one of uniform"),
        ("radio", [1], "object"),
        ("radio", {"clock": "gw-7", "error": CABLE, "own": CABLE}, "a sensor names its clock"),
        ("t-0123456789abcdef", CABLE, "no id of one"),
    ],
)
def test_what_is_no_template_or_does_not_fit_its_sensors_is_refused(
    line: Line, name: str, form: Any, says: str
) -> None:
    named(line, "mic-1")
    refused = change(line, "PUT", name, form, **({"if_match": "*"} if name == "cable" else {}))
    assert refused.status_code == 422, refused.text
    assert says in refused.json()["detail"]
    assert [*line.registry.templates] == ["cable"]
    assert line.template_of("mic-1") == Histogram.uniform(-3, 0).id


def cut_short(line: Line, untaken: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change the template while Kafka does not take one of the sensors."""
    publish = line.publish_record

    async def publish_all_but_one(topic: str, key: bytes, value: bytes | None) -> bool:
        return key != untaken.encode() and await publish(topic, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(line, "publish_record", publish_all_but_one)
        return change(line, "PUT", "cable", LONGER, if_match='"1"')


def test_sensors_that_kafka_did_not_take_are_behind_and_follow_when_asked_again(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(line, "mic-1", "mic-2")
    refused = cut_short(line, "mic-2", monkeypatch)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    shown = change(line, "GET", "cable")
    assert (shown.headers["etag"], shown.json()["sensors"], shown.json()["behind"]) == ('"2"', 2, 1)
    assert line.template_of("mic-2") == Histogram.uniform(-3, 0).id
    again = change(line, "PUT", "cable", LONGER, if_match='"2"')
    assert (again.status_code, again.headers["etag"], again.json()["behind"]) == (200, '"2"', 0)
    assert line.template_of("mic-2") == Histogram.uniform(-5, 0).id


def test_what_was_begun_is_finished_once_all_is_read_and_kafka_takes_it(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(line, "mic-1", "mic-2")
    cut_short(line, "mic-2", monkeypatch)
    monkeypatch.setattr(followed_changes, "TRY_AGAIN_S", 0.01)
    monkeypatch.setattr(line.registry.templates, "is_caught_up", False)
    published, publish = [], line.publish_record

    async def publish_at_the_third_try(topic: str, key: bytes, value: bytes | None) -> bool:
        published.append(key)
        return len(published) > 2 and await publish(topic, key, value)

    monkeypatch.setattr(line, "publish_record", publish_at_the_third_try)

    async def finish() -> None:
        finishing = asyncio.create_task(line.app.state.unfinished[1]())
        await asyncio.sleep(0.1)
        assert not published
        monkeypatch.setattr(line.registry.templates, "is_caught_up", True)
        await asyncio.wait_for(finishing, 10)

    asyncio.run(finish())
    assert published == [b"mic-2"] * 3
    assert line.template_of("mic-2") == Histogram.uniform(-5, 0).id
    assert change(line, "GET", "cable").json()["behind"] == 0


def test_more_sensors_than_follow_at_once_all_follow(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.ingest.registry.sensor_changes.MOST_AT_ONCE", 2)
    named(line, *(f"mic-{nth}" for nth in range(5)))
    assert change(line, "PUT", "cable", LONGER, if_match="*").json()["behind"] == 0
    assert {line.template_of(f"mic-{nth}") for nth in range(5)} == {Histogram.uniform(-5, 0).id}


def test_a_list_of_sensors_names_templates_that_are_registered(line: Line) -> None:
    sensors = [{"id": f"mic-{name}", "area": "bay", "streams": {"seismic": name}} for name in ("cable", "own", "none")]
    answer = line.client.post("/v1/sensors", json={"templates": {"own": LONGER}, "sensors": sensors})
    assert [each["status"] for each in answer.json()["items"]] == ["created", "created", "refused"]
    shown = [line.client.get(f"/v1/sensors/mic-{name}").json()["templates"] for name in ("cable", "own")]
    assert shown == [{"seismic": "cable"}, {}]


def test_a_list_that_was_read_before_a_change_gets_the_template_as_it_is(line: Line) -> None:
    read = Sensor("mic-1", "bay", {"seismic": Histogram.uniform(-3, 0)}, names={"seismic": "cable"})
    change(line, "PUT", "cable", LONGER, if_match="*")
    changes = SensorChanges(line.registry, line, AuditTrail("ingest", line.trail), lambda: NOW_US)
    asyncio.run(changes.make_many([WantedSensor(0, read)], overwrite=False, who=NOBODY))
    assert line.template_of("mic-1") == Histogram.uniform(-5, 0).id
    assert change(line, "GET", "cable").json()["behind"] == 0


def test_templates_are_listed_in_pages_and_so_many_at_most(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("radio", "buoy"):
        change(line, "PUT", name, {"point": True})
    page = line.client.get("/v1/templates", params={"limit": 2}).json()
    rest = line.client.get("/v1/templates", params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [each["name"] for each in (*page["items"], *rest["items"])] == ["buoy", "cable", "radio"]
    assert (len(page["items"]), rest["next_cursor"]) == (2, None)
    monkeypatch.setattr("services.ingest.registry.followed_changes.MOST_OF_A_KIND", 3)
    assert change(line, "PUT", "a fourth", CABLE).status_code == 409
    assert change(line, "PUT", "radio", CABLE, if_match="*").status_code == 200


def test_the_file_that_is_given_back_declares_the_names(line: Line, tmp_path: Any) -> None:
    for id_ in ("strange", "vague"):  # what they report does not fit, which the file would be refused for
        line.change("DELETE", id_, if_match="*")
    named(line, "mic-1")
    change(line, "PUT", "spare", {"point": True})
    (tmp_path / "sensors.yaml").write_text(line.client.get("/v1/sensors?format=yaml").text)
    declared = load_declared(tmp_path / "sensors.yaml", STREAMS)
    assert declared.templates == dict(line.registry.templates)
    assert declared.sensors == {id_: line.registry.snapshot.sensor(id_) for id_ in line.registry.snapshot.ids}
    assert declared.sensors["mic-1"].names == {"seismic": "cable"}


def test_nothing_changes_before_all_was_read_or_without_kafka(line: Line) -> None:
    line.registry.templates.is_caught_up = False
    assert change(line, "PUT", "radio", CABLE).status_code == 503
    assert line.client.get("/readyz").status_code == 503
    line.registry.templates.is_caught_up = True
    line.acknowledged = False
    assert change(line, "PUT", "radio", CABLE).status_code == 503
    line.acknowledged = True
    assert change(line, "PUT", "radio", CABLE).headers["etag"] == '"2"'
