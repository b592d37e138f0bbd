"""What the API says of thresholds, by the sensors registered: on PUT, on PATCH and when asked."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from coincide import Histogram, Window, attainable, chance_rate
from coincide.thresholds import SensorRate
from services.alerting.api import query_explanations
from services.alerting.api.query_explanations import figures_of
from services.common.access.asgi import Guarded
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import query, record, sensor_record, shard_record

GEOPHONE, BUOY = Histogram.uniform(-0.1, 0.1), Histogram.uniform(-10, 10)
MOST = attainable(GEOPHONE, BUOY, Window(2.0)).probability
PATH = "/v1/queries/intruder"


def register(api: Api) -> None:
    """Two areas with a geophone and a buoy each; that of the hill is exact."""
    for area, template in (("bay", BUOY), ("hill", GEOPHONE)):
        geophone = sensor_record("geo", area, f"geo-{area}", seismic=GEOPHONE)
        api.sensors.apply([geophone, sensor_record("buoy", area, f"buoy-{area}", acoustic=template)])
    api.sensors.is_caught_up = True


def vague(api: Api) -> None:
    register(api)
    api.sensors.apply([record("coincide.sensors", None, key=b"buoy-hill")])


def test_the_answer_to_a_change_says_what_can_be_reached(api: Api) -> None:
    assert api.client.put(PATH, json=query()).json()["explanation"] is None  # the sensors are not known yet
    register(api)
    changed = api.client.put(PATH, json=query(threshold=0.5), headers={"If-Match": "*"}).json()
    [edge] = changed["explanation"]["edges"]
    assert (edge["sensor_pairs"], edge["share"], edge["greatest"]) == (2, 0.5, 1.0)
    assert edge["least"] == pytest.approx(MOST)
    assert changed["explanation"]["is_reachable"] is True
    assert api.client.get(PATH).json()["explanation"] is None


def test_a_threshold_that_nothing_registered_reaches_is_refused_unless_that_is_allowed(api: Api) -> None:
    vague(api)
    refused = api.client.put(PATH, json=query(threshold=0.5))
    assert (refused.status_code, refused.json()["field"]) == (422, "within")
    assert f"the probability is at most {MOST:.3g}" in refused.json()["detail"]
    assert '"unreachable": "allow"' in refused.json()["detail"]
    assert api.client.get(PATH).status_code == 404
    allowed = api.client.put(PATH, json={**query(threshold=0.5), "unreachable": "allow"})
    assert allowed.status_code == 201
    assert allowed.json()["explanation"]["is_reachable"] is False
    assert allowed.json()["query"]["unreachable"] == "allow"


def test_a_threshold_cannot_be_raised_out_of_reach(api: Api) -> None:
    vague(api)
    assert api.client.put(PATH, json=query(threshold=0.1)).status_code == 201
    seen = {"If-Match": "*"}
    assert api.client.patch(f"{PATH}/threshold", json={"threshold": 0.9}, headers=seen).status_code == 422
    assert api.client.patch(f"{PATH}/threshold", json={"threshold": 0.15}, headers=seen).status_code == 200


def test_a_query_of_streams_without_sensors_is_accepted(api: Api) -> None:
    api.sensors.is_caught_up = True
    assert api.client.put(PATH, json=query(threshold=1.0)).json()["explanation"]["is_reachable"] is None


def test_explain_says_it_in_figures_and_sentences_with_chance_in_all_areas(api: Api) -> None:
    register(api)
    api.client.put(PATH, json=query(threshold=0.1))
    without = api.client.get(f"{PATH}/explain").json()
    assert (without["version"], without["explanation"]["chance"], without["least_threshold"]) == (1, None, None)
    bay, hill, moor = ({"seismic": hz, "acoustic": 2 * hz} for hz in (0.02, 0.01, 3.0))
    api.store(shard_record(0, rates_hz={"areas": {"bay": bay, "moor": moor}, "elsewhere": hill}))
    answer = api.client.get(f"{PATH}/explain", params={"chance_per_day": 200}).json()

    def a_day(threshold: float) -> float:
        """Chance matches in the bay and on the hill, the only place elsewhere; on the moor no sensor is registered."""
        of_areas = (
            chance_rate(
                [SensorRate("geo", GEOPHONE, hz)], [SensorRate("buoy", template, 2 * hz)], Window(2.0), threshold
            )
            for hz, template in ((0.02, BUOY), (0.01, GEOPHONE))
        )
        return 86_400 * sum(of_areas)

    assert 24 * answer["explanation"]["chance"]["per_hour"] == pytest.approx(a_day(0.1))
    assert any("Chance alone gives about" in sentence for sentence in answer["sentences"])
    least = answer["least_threshold"]
    assert a_day(least) <= 200 < a_day(least - 0.001)
    assert f"From a threshold of {least:g} on, chance gives at most 200 matches a day." in answer["sentences"]


def test_a_threshold_that_is_null_has_a_sentence_that_says_why(api: Api) -> None:
    register(api)
    api.client.put(PATH, json=query(threshold=0.1))

    def answered(per_day: float) -> tuple[float | None, str]:
        answer = api.client.get(f"{PATH}/explain", params={"chance_per_day": per_day}).json()
        return answer["least_threshold"], " ".join(answer["sentences"])

    least, said = answered(200)
    assert least is None
    assert "From which threshold on chance gives at most 200 matches a day is not known without the rates" in said
    api.store(shard_record(0, rates_hz={"areas": {"hill": {"seismic": 0.1, "acoustic": 0.1}}, "elsewhere": {}}))
    least, said = answered(1e-9)
    assert least is None
    assert "is so high that chance gives at most 1e-09 matches a day. All reports count here as if" in said


def test_rates_of_several_shards_are_put_together(api: Api) -> None:
    register(api)
    api.client.put(PATH, json=query(threshold=0.1))
    bay, hill = {"seismic": 0.02, "acoustic": 0.04}, {"seismic": 0.1, "acoustic": 0.2}
    api.store(shard_record(0, rates_hz={"areas": {"bay": bay, "hill": hill}, "elsewhere": {}}))
    together = api.client.get(f"{PATH}/explain").json()["explanation"]["chance"]
    api.store(
        shard_record(0, rates_hz={"areas": {"bay": bay}, "elsewhere": {}}),
        shard_record(1, rates_hz={"areas": {"hill": hill}, "elsewhere": {}}),
    )
    assert api.client.get(f"{PATH}/explain").json()["explanation"]["chance"] == together


def test_many_slow_explanations_keep_no_other_request_waiting(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    register(api)
    api.client.put(PATH, json=query(threshold=0.1))
    begun, may_end = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return figures_of(*given)

    monkeypatch.setattr(query_explanations, "figures_of", slow)
    with ThreadPoolExecutor(64) as readers:  # more than the server has threads
        explanations = [readers.submit(api.client.get, f"{PATH}/explain") for _ in range(60)]
        assert begun.wait(60)
        try:
            assert readers.submit(api.client.get, PATH).result(60).status_code == 200
        finally:
            may_end.set()
        assert {each.result().status_code for each in explanations} == {200}


def test_what_cannot_be_explained_says_why(api: Api) -> None:
    assert api.client.get(f"{PATH}/explain").status_code == 404
    api.client.put(PATH, json=query())
    assert api.client.get(f"{PATH}/explain").status_code == 503
    register(api)
    assert api.client.get(f"{PATH}/explain", params={"chance_per_day": 0}).status_code == 422
    steady = {"coalesce": {"from": "seismic", "value": "attributes.db", "window": {"time_s": 60, "slide_s": 10}}}
    assert api.client.put("/v1/queries/steady", json={**steady, "lasting_s": 5}).json()["explanation"] is None
    assert api.client.get("/v1/queries/steady/explain").status_code == 409


def test_a_query_can_be_explained_before_it_is_stored(api: Api) -> None:
    register(api)
    assert api.client.put(PATH, json=query(threshold=0.1)).status_code == 201
    wanted = {"chance_per_day": 200}
    api.store(shard_record(0, rates_hz={"areas": {"bay": {"seismic": 0.02, "acoustic": 0.04}}, "elsewhere": {}}))
    stored = api.client.get(f"{PATH}/explain", params=wanted).json()
    published, changes = list(api.kafka.topic), list(api.records.changes)
    answer = api.client.post(f"{PATH}/explain", params=wanted, json=query(threshold=0.1))
    assert (answer.status_code, answer.json()) == (200, {**stored, "version": None})
    other = api.client.post("/v1/queries/other/explain", json=query("other", threshold=0.9)).json()
    assert (other["id"], other["least_threshold"]) == ("other", None)
    assert other["explanation"] != stored["explanation"]
    assert api.client.get("/v1/queries/other").status_code == 404
    assert (api.kafka.topic, api.records.changes) == (published, changes)


def test_a_body_that_cannot_be_explained_says_why(api: Api) -> None:
    path = f"{PATH}/explain"
    assert api.client.post(path, json=query()).status_code == 503
    register(api)
    assert api.client.post(path, json={**query(), "id": "other"}).json()["field"] == "id"
    assert api.client.post(path, json={**query(), "within": []}).json()["field"] == "within"
    assert api.client.post(path, content="{", headers={"Content-Type": "application/json"}).status_code == 422
    assert api.client.post(path, json=query(), params={"chance_per_day": 0}).status_code == 422
    steady = {"coalesce": {"from": "seismic", "value": "attributes.db", "window": {"time_s": 60, "slide_s": 10}}}
    refused = api.client.post(path, json={**steady, "lasting_s": 5})
    assert (refused.status_code, "over readings" in refused.json()["detail"]) == (422, True)


def test_a_key_that_may_read_may_have_a_body_explained(api: Api) -> None:
    register(api)
    guarded = TestClient(Guarded(api.client.app, api.access.guard), base_url="http://localhost")
    reader = {"Authorization": f"Bearer {api.records.make('ann', ['read'])}"}
    assert guarded.post(f"{PATH}/explain", json=query(), headers=reader).status_code == 200
    gateway = {"Authorization": f"Bearer {api.records.make('gateway', ['ingest'])}"}
    assert guarded.post(f"{PATH}/explain", json=query(), headers=gateway).status_code == 403
    assert guarded.put(PATH, json=query(), headers=reader).status_code == 403
    assert guarded.post("/v1/queries/explain/pause", headers=reader).status_code == 403
