import gzip
import json

import pytest

from coincide import Histogram
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import CLOCK, NOW_US, Ingest, detection


def test_one_object_is_stamped_and_published_as_a_frame() -> None:
    ingest = Ingest()
    response = ingest.post(json.dumps(detection(id="d1", attributes={"depth_km": 3.5})))
    assert response.status_code == 202
    verdicts = [{"index": 0, "status": "accepted", "id": "d1"}]
    assert response.json() == {"accepted": 1, "refused": 0, "received_at_us": NOW_US, "detections": verdicts}
    (frame,) = ingest.publisher.frames
    assert frame.key == b"bay"
    assert json.loads(frame.value) == {
        "v": 2,
        "area": "bay",
        "received_at_us": NOW_US,
        "templates": {CLOCK.id: {"edges_s": [-2.0, 1.0], "mass": [1.0]}},
        "stamps": [{"sensor": "geo", "stream": "seismic", "template": CLOCK.id}],
        "detections": {
            "stamp": [0],
            "detected_at_us": [NOW_US - 1_000_000],
            "id": ["d1"],
            "attributes": [{"depth_km": 3.5}],
        },
    }


def test_detections_share_stamps_and_name_no_attributes_where_none_has_any() -> None:
    ingest, loose = Ingest(), {"uncertainty": {"sigma_s": 0.5}}
    of_both = {"sensor": "both", "stream": "seismic"}
    response = ingest.post_items(detection(), detection(**loose), detection(**of_both), detection(**loose), detection())
    assert response.status_code == 202
    (frame,) = ingest.publisher.frames
    written = json.loads(frame.value)
    assert written["detections"]["stamp"] == [0, 1, 2, 1, 0]
    assert [stamp["template"] for stamp in written["stamps"]] == [CLOCK.id, Histogram.normal(0.5).id, CLOCK.id]
    assert written["templates"].keys() == {CLOCK.id, Histogram.normal(0.5).id}
    assert "attributes" not in written["detections"]


def test_arrays_ndjson_and_gzip_say_the_same() -> None:
    items = [detection(id=f"d{n}") for n in range(3)]
    array, ndjson, squeezed = Ingest(), Ingest(), Ingest()
    lines = "\n".join(json.dumps(each) for each in items)
    assert array.post(json.dumps(items)).status_code == 202
    assert ndjson.post(lines, "application/x-ndjson; charset=utf-8").status_code == 202
    assert squeezed.post(gzip.compress(lines.encode()), "application/x-ndjson", content_encoding="gzip").is_success
    assert array.publisher.frames == ndjson.publisher.frames == squeezed.publisher.frames


def test_frames_are_grouped_by_area_and_verdicts_keep_the_order() -> None:
    ingest = Ingest()
    items = [detection(id="a"), detection(sensor="imb", id="b"), detection(sensor="nobody"), detection(id="c")]
    verdicts = ingest.post_items(*items).json()["detections"]
    assert [(each["index"], each.get("id")) for each in verdicts] == [(0, "a"), (1, "b"), (2, None), (3, "c")]
    assert {frame.key: [*frame.indices] for frame in ingest.publisher.frames} == {b"bay": [0, 3], b"sn1987a": [1]}


@pytest.mark.parametrize(
    ("body", "reasons"), [('[{"sensor":"nobody","detected_at":1}]', ["unknown_sensor"]), ("[]", []), ("  [ ] ", [])]
)
def test_nothing_accepted_is_422_and_lists_the_items(body: str, reasons: list[str]) -> None:
    response = Ingest().post(body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert [each["reason"] for each in response.json()["detections"]] == reasons


def test_an_unacknowledged_frame_makes_503_with_the_items_listed() -> None:
    ingest = Ingest()
    ingest.publisher.acknowledges = [False, True]
    response = ingest.post_items(detection(id="a"), detection(sensor="imb", id="b"), detection(sensor="nobody"))
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    problem = response.json()
    assert (problem["accepted"], problem["refused"], problem["unacknowledged"]) == (1, 1, 1)
    assert [each["status"] for each in problem["detections"]] == ["unacknowledged", "accepted", "refused"]
    assert problem["detections"][0] == {"index": 0, "status": "unacknowledged", "id": "a", "retryable": True}
    assert ingest.metric("coincide_ingest_detections_unacknowledged_total") == 1
    assert ingest.metric("coincide_ingest_detections_accepted_total") == 1


def test_while_kafka_is_known_to_be_away_nobody_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ingest = Ingest()
    monkeypatch.setattr(ingest.publisher, "problem", "Kafka does not answer")
    monkeypatch.setattr(ingest.publisher, "publish", lambda *_: pytest.fail("Kafka was asked"))
    response = ingest.post_items(detection())
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "Kafka is away; nothing was taken" in response.json()["detail"]


def test_a_busy_publisher_makes_503_and_nothing_is_counted_or_buried() -> None:
    ingest = Ingest()
    ingest.publisher.busy = "Kafka is away"
    response = ingest.post_items(detection(), detection(sensor="nobody"))
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert "Kafka is away" in response.json()["detail"]
    assert not ingest.publisher.dead_letters
    assert ingest.metric("coincide_ingest_detections_refused_total", reason="unknown_sensor") == 0
    ingest.publisher.takes_dead_letters = False
    assert ingest.post_items(detection(sensor="nobody")).status_code == 422  # refusing needs no Kafka
    assert ingest.metric("coincide_ingest_dead_letters_dropped_total") == 1


def test_before_the_registry_is_read_no_sensor_is_called_unknown() -> None:
    ingest = Ingest()
    ingest.registry.has_sensors = False
    assert ingest.post_items(detection()).status_code == 503
    assert not ingest.publisher.frames


def test_too_many_items_are_413_before_any_is_taken() -> None:
    ingest = Ingest(IngestSettings(max_detections_per_post=2))
    assert ingest.post_items(*[detection()] * 3).status_code == 413
    assert ingest.post_items(*[detection()] * 2).status_code == 202


def test_another_content_type_or_encoding_is_415() -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "nonsense", ""):
        assert Ingest().post(json.dumps(detection()), content_type).status_code == 415, content_type
    response = Ingest().post(b"x", content_encoding="br")
    assert response.status_code == 415
    assert response.headers["accept-encoding"] == "gzip"


def test_a_failure_of_ours_is_500_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ingest = Ingest()
    monkeypatch.setattr(ingest.publisher, "publish", None)  # whatever it may be
    assert ingest.post_items(detection()).status_code == 500
    assert ingest.metric("coincide_ingest_posts_total", status="500") == 1


def test_the_name_of_an_unknown_field_is_shown_as_text() -> None:
    ingest = Ingest()
    names = {r"\ud800": r"\ud800", "x" * 5_000: "x" * 99 + "…"}
    body = ",".join(f'{{"sensor":"geo","detected_at":{NOW_US},"{name}":"geo"}}' for name in names)
    answer = ingest.post(f"[{body}]")
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["detections"]] == list(names.values())


def test_posts_are_counted_by_status() -> None:
    ingest = Ingest()
    ingest.post_items(detection())
    ingest.post("{")
    assert ingest.metric("coincide_ingest_posts_total", status="202") == 1
    assert ingest.metric("coincide_ingest_posts_total", status="400") == 1
    assert ingest.metric("coincide_ingest_frames_total") == 1
