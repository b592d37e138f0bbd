import pytest

from coincide import Histogram
from services.common.http.pages import encode_cursor
from tests.services.ingest.building import CLOCK, SENSORS, STREAMS, Ingest


def test_sensors_are_listed_in_pages_without_gap_or_double() -> None:
    client = Ingest().client
    page = client.get("/v1/sensors", params={"limit": 2}).json()
    seen = [sensor["id"] for sensor in page["items"]]
    while page["next_cursor"] is not None:
        assert len(page["items"]) == 2
        page = client.get("/v1/sensors", params={"limit": 2, "cursor": page["next_cursor"]}).json()
        seen += [sensor["id"] for sensor in page["items"]]
    assert seen == sorted(SENSORS)


def test_a_cursor_of_another_list_is_refused() -> None:
    client = Ingest().client
    for cursor in (encode_cursor("sensors", 7), encode_cursor("matches", "geo"), "x"):
        refused = client.get("/v1/sensors", params={"cursor": cursor})
        assert (refused.status_code, "cursor" in refused.json()["detail"]) == (422, True)


def test_one_sensor_and_its_template() -> None:
    client = Ingest().client
    of = {"id": "geo", "area": "bay", "streams": {"seismic": CLOCK.id}}
    unsaid: dict[str, object] = {"model": None, "place": None, "labels": {}, "expect_every_s": None}
    unsaid |= {"changed_at_us": None, "changed_by": None, "templates": {}, "clock": None, "beside_clock": {}}
    assert client.get("/v1/sensors/geo").json() == {**of, **unsaid, "version": 0, "health": {}}
    shown = client.get(f"/v1/templates/{CLOCK.id}").json()
    assert shown.pop("id") == CLOCK.id
    assert Histogram.from_json(shown) == CLOCK


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/sensors?limit=0", 422),
        ("/v1/sensors?limit=1001", 422),
        ("/v1/sensors?after=geo", 422),
        ("/v1/sensors/nobody", 404),
        ("/v1/templates/t-0", 404),
        ("/v1/nothing", 404),
        ("/v1/detections?limit=0", 422),
        ("/v1/detections?before=1", 422),
    ],
)
def test_every_refusal_is_a_problem_document(path: str, status: int) -> None:
    response = Ingest().client.get(path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


def test_readiness_says_what_is_missing_and_life_does_not_depend_on_it() -> None:
    ingest = Ingest()
    assert ingest.client.get("/readyz").status_code == 200
    ingest.log_answers = False
    ingest.publisher.problem = "the producer is not connected"
    ingest.registry.has_sensors = False
    response = ingest.client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["detail"].count(";") == 2
    assert "coincide_ready 0.0" in ingest.client.get("/metrics").text
    assert ingest.client.get("/livez").status_code == 200


def test_streams_are_shown_with_how_many_sensors_report_each() -> None:
    ingest = Ingest()
    items = ingest.client.get("/v1/streams").json()["items"]
    assert [each["name"] for each in items] == sorted(STREAMS)
    sensors = ingest.client.get("/v1/sensors").json()["items"]
    for each in items:
        declared = STREAMS[each["name"]]
        assert (each["max_delay_s"], each["longest_template_s"]) == (declared.max_delay_s, declared.longest_template_s)
        assert each["sensors"] == sum(each["name"] in sensor["streams"] for sensor in sensors)
        assert ingest.client.get(f"/v1/streams/{each['name']}").json() == each
    assert sum(each["sensors"] for each in items) > 0
    missing = ingest.client.get("/v1/streams/smell")
    assert missing.status_code == 404
    assert "'smell'" in missing.json()["detail"]
