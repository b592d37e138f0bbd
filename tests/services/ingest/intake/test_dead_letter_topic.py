import json

import pytest

from services.ingest.settings import IngestSettings
from tests.services.ingest.building import NOW_US, Ingest, detection


def test_a_dead_letter_says_all_that_is_known() -> None:
    ingest = Ingest()
    record = detection(stream="acoustic", id="d1")
    ingest.post_items(record)
    ((key, letter),) = ingest.publisher.dead_letters
    assert key == b"bay"
    assert letter.pop("detail").startswith('stream "acoustic" is refused (wrong_stream)')
    assert letter.pop("dead_id").startswith("d-")
    known = {"reason": "wrong_stream", "area": "bay", "stream": "acoustic", "sensor": "geo", "id": "d1"}
    others = {"v": 1, "source": "ingest", "received_at_us": NOW_US, "late_by_us": None, "record": record}
    assert letter == {**known, **others}


def test_a_repeated_post_of_a_refused_item_makes_the_same_dead_letter() -> None:
    ingest = Ingest()
    for sensor in ("nobody", "nobody", "no one"):
        ingest.post_items(detection(sensor=sensor))
    first, second, other = (letter["dead_id"] for _, letter in ingest.publisher.dead_letters)
    assert first == second != other


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


@pytest.mark.parametrize(("per_s", "least", "most"), [(2.0, 10, 12), (0.0, 0, 0)])
def test_the_rate_is_bounded_and_what_is_dropped_is_counted(per_s: float, least: int, most: int) -> None:
    ingest = Ingest(IngestSettings(dead_letters_per_s=per_s))
    response = ingest.post_items(*[detection(sensor=f"nobody-{n}") for n in range(100)])
    assert len(response.json()["detections"]) == 100
    assert least <= (sent := len(ingest.publisher.dead_letters)) <= most  # 5 s worth, and the test may take a moment
    assert ingest.metric("coincide_ingest_dead_letters_total") == sent
    assert ingest.metric("coincide_ingest_dead_letters_dropped_total") == 100 - sent
