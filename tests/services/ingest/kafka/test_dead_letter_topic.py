import json

import pytest
from prometheus_client import CollectorRegistry

from services.ingest.kafka.dead_letter_topic import DeadLetters
from services.ingest.metrics import IngestMetrics
from services.ingest.settings import Settings
from services.ingest.stamping.verdicts import Reason, Refused
from tests.services.ingest.building import NOW_US, Ingest, KeepingPublisher, detection


def test_a_dead_letter_says_all_that_is_known() -> None:
    ingest = Ingest()
    ingest.post_items(detection(stream="acoustic", id="d1"))
    ((key, letter),) = ingest.publisher.dead_letters
    assert key == b"bay"
    assert letter.pop("detail").startswith('stream "acoustic" is refused (wrong_stream)')
    assert letter.pop("dead_id").startswith("d-")
    assert letter == {
        "v": 1,
        "source": "ingest",
        "reason": "wrong_stream",
        "received_at_us": NOW_US,
        "area": "bay",
        "stream": "acoustic",
        "sensor": "geo",
        "id": "d1",
        "late_by_us": None,
        "record": detection(stream="acoustic", id="d1"),
    }


@pytest.mark.parametrize(
    "body",
    [
        b'{"sensor":"' + b"x" * 100_000 + b'"}',
        b'{"sensor":"geo","detected_at":NaN,"id":"' + b"\\u0001" * 50_000 + b'"}',
        b'{"a":' + b'{"a":' * 900 + b"1" + b"}" * 901,
        b'{"a":' + b"9" * 100_000 + b"}",
        '{"sensor":"\U0001f300"}'.encode(),
    ],
)
def test_dead_letters_are_short_whatever_the_item(body: bytes) -> None:
    ingest = Ingest()
    assert ingest.post(body).status_code == 422
    ((_, letter),) = ingest.publisher.dead_letters
    assert len(json.dumps(letter)) < 32 * 1024


def test_the_rate_is_bounded_and_what_is_dropped_is_counted() -> None:
    ingest = Ingest(Settings(dead_letters_per_s=2.0))
    response = ingest.post_items(*[detection(sensor=f"nobody-{n}") for n in range(100)])
    assert len(response.json()["detections"]) == 100
    assert 10 <= len(ingest.publisher.dead_letters) <= 12  # 5 s worth at once, and the test may take a moment
    dropped = ingest.metric("coincide_ingest_dead_letters_dropped_total")
    assert dropped + len(ingest.publisher.dead_letters) == 100
    assert ingest.metric("coincide_ingest_dead_letters_total") == len(ingest.publisher.dead_letters)


def test_a_rate_of_zero_writes_none() -> None:
    publisher = KeepingPublisher()
    letters = DeadLetters(publisher, IngestMetrics(CollectorRegistry()), per_s=0)
    letters.write(Refused(Reason.BAD_TIME, "detected_at", "x", "a time"), {}, None, NOW_US)
    assert not publisher.dead_letters
