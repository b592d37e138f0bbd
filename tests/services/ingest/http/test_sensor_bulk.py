"""POST /v1/sensors: a verdict on each sensor, and none that is wrong stops the others."""

import json
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from services.ingest.registry.sensor_changes import MOST_AT_ONCE
from tests.services.ingest.registry.test_sensor_changes import Line


@pytest.fixture
def line() -> Line:
    return Line()


def post(line: Line, document: Any, **asked: Any) -> Any:
    return line.client.post("/v1/sensors", json=document, params=asked)


def buoy(id_: str, template: Any = "clock", **said: Any) -> dict[str, Any]:
    return {"id": id_, "area": "bay", "streams": {"seismic": template}, **said}


TEMPLATES = {"clock": {"uniform": [-3, 0]}, "broken": {"uniform": [0, -3]}}


def test_each_sensor_of_a_list_is_judged_by_itself(line: Line) -> None:
    sensors = [
        buoy("b-1", expect_every_s=60),
        buoy("b-2", "broken"),
        buoy("b-3", {"uniform": [-1, 0]}, model="B-1"),
        buoy("b-1"),
        {"area": "bay"},
        buoy("b-4", "nowhere"),
        buoy("b-5", streams={"smell": "clock"}),
        "b-6",
        buoy("b-7", line.client.get("/v1/sensors/geo").json()["streams"]["seismic"]),
    ]
    answer = post(line, {"templates": TEMPLATES, "sensors": sensors})
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [each["index"] for each in items] == list(range(9))
    assert [each["status"] for each in items] == ["created", "refused", "created", *["refused"] * 5, "created"]
    assert "streams.seismic: template 'broken'" in items[1]["detail"]
    assert "id is missing" in items[3]["detail"]
    assert "neither the list nor the registry has a template 'nowhere'" in items[5]["detail"]
    assert "stream 'smell' is not declared" in items[6]["detail"]
    shown = line.client.get("/v1/sensors/b-1").json()
    assert (shown["version"], shown["expect_every_s"]) == (1, 60)
    assert line.template_of("b-3") == line.client.get("/v1/sensors/b-3").json()["streams"]["seismic"]
    assert [(each["action"], each["subject"]) for each in line.trail.changes] == [
        ("sensor.created", "b-1"),
        ("sensor.created", "b-3"),
        ("sensor.created", "b-7"),
    ]


def test_what_is_there_is_replaced_only_if_that_is_asked_for(line: Line) -> None:
    first = {"templates": TEMPLATES, "sensors": [buoy("b-1"), buoy("b-2")]}
    assert [each["status"] for each in post(line, first).json()["items"]] == ["created"] * 2
    second = {"templates": {"clock": {"uniform": [-5, 0]}}, "sensors": [buoy("b-1"), buoy("b-2", {"uniform": [-3, 0]})]}
    items = post(line, second).json()["items"]
    assert [(each["status"], each["version"]) for each in items] == [("refused", 1), ("unchanged", 1)]
    assert "overwrite=true" in items[0]["detail"]
    items = post(line, second, overwrite=True).json()["items"]
    assert [(each["status"], each["version"]) for each in items] == [("replaced", 2), ("unchanged", 1)]


def test_what_the_registry_writes_of_sensors_on_clocks_can_be_posted_again(line: Line) -> None:
    error = {"uniform": [-2, 2]}
    line.client.put("/v1/clocks/gw-7", json={"error": error}).raise_for_status()
    on_clock = buoy("b-1", {"own": {"uniform": [-1, 1]}}, clock="gw-7")
    line.client.put("/v1/sensors/b-1", json={key: on_clock[key] for key in on_clock if key != "id"}).raise_for_status()
    written = yaml.safe_load(line.client.get("/v1/sensors?format=yaml").text)
    [verdict] = [each for each in post(line, written).json()["items"] if each["id"] == "b-1"]
    assert verdict["status"] == "unchanged"

    def refusal(clocks: Any) -> str:
        [verdict] = post(line, {"sensors": [on_clock], "clocks": clocks}, overwrite=True).json()["items"]
        return f"{verdict['status']} {verdict['detail']}"

    assert refusal({"gw-7": {"error": {"uniform": [-9, 9]}}}) == (
        "refused clock: 'gw-7': its error is another one than that of the registry: PUT /v1/clocks/gw-7 first"
    )
    assert refusal({"gw-7": {"error": {"uniform": [9, -9]}}}).startswith("refused clock: 'gw-7': error.edges_s")
    elsewhere = {"sensors": [{**on_clock, "clock": "gw-8"}], "clocks": {"gw-8": {"error": error}}}
    [verdict] = post(line, elsewhere).json()["items"]
    assert verdict["detail"] == "clock: 'gw-8': it is not registered: PUT /v1/clocks/gw-8 first"


def test_what_kafka_did_not_acknowledge_is_said_and_the_list_can_be_repeated(line: Line) -> None:
    document = {"templates": TEMPLATES, "sensors": [buoy("b-1"), buoy("b-2", "broken")]}
    line.acknowledged = False
    answer = post(line, document)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert [each["status"] for each in answer.json()["items"]] == ["unacknowledged", "refused"]
    line.acknowledged = True
    assert [each["status"] for each in post(line, document).json()["items"]] == ["created", "refused"]
    assert line.client.get("/v1/sensors/b-1").json()["version"] == 2  # the first may have been written


@pytest.mark.parametrize(
    "document", [{}, {"sensors": []}, {"sensors": [1] * (MOST_AT_ONCE + 1)}, {"sensors": [{}], "sensor": 1}, [], "x"]
)
def test_a_list_that_is_none_is_refused(line: Line, document: Any) -> None:
    answer = post(line, document)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("the list is not usable: ")
    assert line.records == []


def test_a_thousand_sensors_are_one_request(line: Line) -> None:
    sensors = [buoy(f"b-{nth}") for nth in range(MOST_AT_ONCE)]
    answer = line.client.post(
        "/v1/sensors",
        content=json.dumps({"templates": TEMPLATES, "sensors": sensors}),
        headers={"content-type": "application/json"},
    )
    assert {each["status"] for each in answer.json()["items"]} == {"created"}
    assert len(line.registry.snapshot.ids) >= MOST_AT_ONCE


@pytest.mark.parametrize(
    "id_", ["hall/mic", ".", "..", " ", "mic ", "mic\n", "mic\x85", "mic\u202e", "mic\u2066", "mic\u200b", "mic\u2028"]
)
def test_an_id_that_no_path_can_name_or_that_garbles_a_sentence_is_refused(line: Line, id_: str) -> None:
    [verdict] = post(line, {"sensors": [buoy(id_)], "templates": TEMPLATES}).json()["items"]
    assert verdict["status"] == "refused"
    assert verdict["detail"].startswith("the sensor is not usable: id: a text without "), verdict["detail"]
    assert line.records == []


@pytest.mark.parametrize("id_", ["Boje Süd", "מיקרופון", "👨\u200d👩\u200d👧", "a'b\"c\\d", "...", "<b>"])
def test_every_other_id_is_taken_and_leads_to_its_sensor(line: Line, id_: str) -> None:
    [verdict] = post(line, {"sensors": [buoy(id_)], "templates": TEMPLATES}).json()["items"]
    assert verdict["status"] == "created"
    assert line.client.get(f"/v1/sensors/{quote(id_, safe='')}").json()["id"] == id_


def test_an_area_may_hold_a_slash_and_no_sign_that_garbles_a_sentence(line: Line) -> None:
    sensors = [buoy("a") | {"area": "hall/north"}, buoy("b") | {"area": "hall\u202e"}]
    one, other = post(line, {"sensors": sensors, "templates": TEMPLATES}).json()["items"]
    assert (one["status"], other["status"]) == ("created", "refused")
    assert other["detail"].startswith("the sensor is not usable: area: a text without ")
