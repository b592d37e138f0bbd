"""GET /v1/detections: what was taken last, in order, bounded, and thinned out where there is too much."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.ingest.http import recent_detections
from services.ingest.http.recent_detections import RecentDetections
from services.ingest.publishing.frame import Frame
from services.ingest.settings import IngestSettings
from services.ingest.stamping.frames import FrameDraft
from tests.services.ingest.building import NOW_US, Ingest, detection, registry_of


def frame(first: int, count: int) -> Frame:
    stamp = registry_of().snapshot.stamps["geo"][0]
    draft = FrameDraft("bay")
    for nth in range(count):
        draft.add(nth, stamp, NOW_US + first + nth, f"d-{first + nth}", b"{}")
    return draft.frames(NOW_US)[0]


def get(ingest: Ingest, **parameters: int) -> dict[str, object]:
    return dict(ingest.client.get("/v1/detections", params=parameters).json())


def test_what_was_accepted_is_listed_with_its_template() -> None:
    ingest = Ingest()
    place = {"x_m": 1.0, "y_m": 2.0, "z_m": 0.0}
    first = detection(attributes={"db": 3}, place=place)
    ingest.post_items(first, detection(sensor="nobody"), detection(sensor="imb"))
    answer = ingest.client.get("/v1/detections").json()
    assert [(each["number"], each["area"], each["sensor"]) for each in answer["items"]] == [
        (1, "bay", "geo"),
        (2, "sn1987a", "imb"),
    ]
    assert answer["items"][0]["attributes"] == {"db": 3}
    assert [each["place"] for each in answer["items"]] == [place, None]
    assert answer["items"][0]["detected_at_us"] == NOW_US - 1_000_000
    assert answer["templates"][answer["items"][0]["template"]] == {"edges_s": [-2.0, 1.0], "mass": [1.0]}
    assert (answer["newest"], answer["left_out"]) == (2, 0)


def test_what_kafka_did_not_acknowledge_is_not_listed() -> None:
    ingest = Ingest()
    ingest.publisher.acknowledges = [False]
    ingest.post_items(detection())
    assert get(ingest)["items"] == []


def test_none_are_kept_where_none_are_wanted() -> None:
    ingest = Ingest(settings=IngestSettings(recent_detections=0))
    ingest.post_items(detection())
    assert get(ingest) == {"items": [], "templates": {}, "newest": 1, "left_out": 1}


def test_a_number_of_another_process_begins_anew() -> None:
    ingest = Ingest()
    ingest.post_items(detection())
    assert len(get(ingest, after=1000)["items"]) == 1  # type: ignore[arg-type]


@given(
    counts=st.lists(st.integers(1, 7), max_size=12),
    after=st.integers(0, 60),
    limit=st.integers(1, 20),
    most=st.integers(0, 40),
)
def test_nothing_is_listed_twice_and_all_are_counted(counts: list[int], after: int, limit: int, most: int) -> None:
    recent = RecentDetections(most)
    total = 0
    for count in counts:
        recent.keep(frame(total, count))
        total += count
    body = recent.after(after, limit)
    after = after if after <= total else 0
    numbers = [each.number for each in body.items]
    assert body.newest == total
    assert numbers == sorted(set(numbers))
    assert all(after < number <= total for number in numbers)
    assert len(numbers) <= limit
    assert len(numbers) + body.left_out == total - after
    assert [each.id for each in body.items] == [f"d-{number - 1}" for number in numbers]
    assert numbers[-1:] == ([total] if most and total > after else [])
    assert len({later - number for number, later in pairwise(numbers)}) <= 1
    if total - after <= min(limit, most):
        assert len(numbers) == total - after


def test_the_bytes_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(frame(0, 1).value)
    monkeypatch.setattr(recent_detections, "MOST_BYTES", 3 * one)
    recent = RecentDetections(1000)
    for nth in range(9):
        recent.keep(frame(nth, 1))
    assert [each.number for each in recent.after(0, 1000).items] == [7, 8, 9]
