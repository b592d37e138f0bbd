import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram
from coincide.wire.content_ids import content_id
from coincide.wire.declarations.sensor_record import Particulars
from services.ingest.registry.sensors import Sensor
from services.ingest.settings import IngestSettings
from services.ingest.stamping.posted import attributes_json
from services.ingest.stamping.stamp import default_id
from tests.services.ingest.building import CLOCK, NOW_US, SENSORS, Ingest, detection, registry_of


def stamped(sigma_digits: int | None = None, **members: Any) -> dict[str, Any]:
    ingest = Ingest(IngestSettings(sigma_digits=sigma_digits))
    response = ingest.post_items(detection(**members))
    assert response.status_code == 202, response.text
    (only,) = ingest.publisher.detections
    return only


def test_the_only_stream_of_a_sensor_is_implied() -> None:
    assert stamped()["stream"] == "seismic"
    assert stamped(sensor="both", stream="acoustic")["stream"] == "acoustic"


def test_a_detection_may_be_as_far_ahead_as_is_allowed() -> None:
    """One microsecond more is refused: see test_refusals."""
    ahead_us = round(IngestSettings().max_future_s * 1e6)
    assert stamped(detected_at=NOW_US + ahead_us)["detected_at_us"] == NOW_US + ahead_us


def test_a_given_id_is_kept_and_a_missing_one_follows_the_content() -> None:
    assert stamped(id="mine")["id"] == "mine"
    content: dict[str, Any] = {"attributes": {"a": 1, "b": 2}}
    same = stamped(**content)["id"]
    assert same == stamped(attributes={"b": 2, "a": 1})["id"]  # the order of keys is no content
    assert same == stamped(**content, detected_at="2025-10-09T08:53:19Z")["id"]
    others = [
        stamped(attributes={"a": 1, "b": 3}),
        stamped(**content, detected_at=NOW_US),
        stamped(**content, sensor="both", stream="seismic"),
        stamped(**content, sensor="both", stream="acoustic"),
        stamped(**content, uncertainty={"sigma_s": 0.5}),
    ]
    assert len({same, *(each["id"] for each in others)}) == 6


def test_the_default_id_never_changes() -> None:
    """A changed id would make every retry across an upgrade a new detection."""
    assert default_id("imb", "neutrino", 541_064_141_374_000, b"{}", None) == "h-64f742689bbf8c3a776913e0053c7f18"


@given(st.dictionaries(st.text("abc", max_size=2), st.integers(-9, 9), max_size=4), st.randoms())
def test_the_default_id_is_that_of_the_content_and_does_not_see_the_order_of_keys(
    attributes: dict[str, int], random: Any
) -> None:
    shuffled = list(attributes.items())
    random.shuffle(shuffled)
    made = default_id("a", "b", 1, attributes_json(dict(shuffled)), None)
    assert made == content_id("h", ("a", "b", 1, attributes, None))


@pytest.mark.parametrize(
    ("uncertainty", "template"),
    [
        ({"sigma_s": 0.5}, Histogram.normal(sigma_s=0.5)),
        ({"sigma_s": 2}, Histogram.normal(sigma_s=2)),
        # absolute, so relative to detected_at, which is NOW - 1 s
        ({"earliest": NOW_US - 3_000_000, "latest": NOW_US}, Histogram.uniform(-2, 1)),
        ({"earliest": "2025-10-09T08:53:17Z", "latest": NOW_US}, Histogram.uniform(-2, 1)),
        ({"earliest": NOW_US - 1_000_000, "latest": NOW_US - 1_000_000}, Histogram.point()),
        ({"edges_s": [-4, -1, 0], "mass": [0.25, 0.75]}, Histogram([-4, -1, 0], [0.25, 0.75])),
    ],
)
def test_an_event_s_own_uncertainty_replaces_the_template(uncertainty: dict[str, Any], template: Histogram) -> None:
    ingest = Ingest()
    ingest.post_items(detection(uncertainty=uncertainty))
    (only,) = ingest.publisher.detections
    assert only["template"] == template.id
    assert only["detected_at_us"] == NOW_US - 1_000_000
    assert f'"{template.id}":{{"edges_s"'.encode() in ingest.publisher.frames[0].value


HERE, THERE = {"lat": 45.65, "lon": 13.75, "height_m": 0.0}, {"lat": 45.7, "lon": 13.8, "height_m": 2.0}


def placed(place: dict[str, float] | None) -> dict[str, Sensor]:
    mic = Sensor("mic", "quay", {"seismic": CLOCK}, Particulars(place=place))
    return {"mic": mic, "geo": SENSORS["geo"]}


def test_a_detection_has_the_place_that_its_sensor_has_then_or_its_own() -> None:
    ingest = Ingest(registry=registry_of(placed(HERE)))
    mic = {"sensor": "mic", "detected_at": NOW_US}
    ingest.post_items(mic, {**mic, "place": THERE}, {**mic, "place": THERE, "id": "again"}, detection())
    ingest.registry.apply(placed(THERE))
    ingest.post_items(mic)
    ingest.registry.apply(placed(None))
    ingest.post_items({**mic, "place": {"x_m": 1, "y_m": 2}})  # no sensor of the area says of which kind it is
    assert [each.get("place") for each in ingest.publisher.detections] == [
        HERE,
        THERE,
        THERE,
        None,
        THERE,
        {"x_m": 1, "y_m": 2, "z_m": 0},
    ]
    assert [len(json.loads(frame.value)["stamps"]) for frame in ingest.publisher.frames] == [2, 1, 1, 1]


def test_its_own_place_is_content_and_its_sensor_s_is_not() -> None:
    ids = []
    for place, own in (
        (HERE, {}),
        (THERE, {}),
        (HERE, {"place": HERE}),
        (HERE, {"place": {"lat": 45.65, "lon": 13.75}}),
    ):
        ingest = Ingest(registry=registry_of(placed(place)))
        ingest.post_items({"sensor": "mic", "detected_at": NOW_US, **own})
        ids.append(ingest.publisher.detections[0]["id"])
    assert [ids[0] == each for each in ids] == [True, True, False, False]
    assert ids[2] == ids[3]


def test_a_place_of_another_kind_than_the_area_has_is_refused_alone() -> None:
    ingest = Ingest(registry=registry_of(placed(HERE)))
    mic = {"sensor": "mic", "detected_at": NOW_US}
    same_numbers = {"x_m": THERE["lat"], "y_m": THERE["lon"], "z_m": THERE["height_m"]}
    items = {**mic, "place": THERE}, {**mic, "place": same_numbers}, mic
    moved, refused, taken = ingest.post_items(*items).json()["detections"]
    assert (moved["status"], taken["status"]) == ("accepted", "accepted")
    assert (refused["reason"], refused["field"]) == ("bad_place", "place")
    assert "lat and lon, as sensor 'mic' of area 'quay' has" in refused["allowed"]


@pytest.mark.parametrize(("digits", "sigma_s"), [(None, 0.5012), (3, 0.502), (2, 0.51)])
def test_a_sigma_is_rounded_up_where_that_is_asked_for(digits: int | None, sigma_s: float) -> None:
    assert stamped(digits, uncertainty={"sigma_s": 0.5012})["template"] == Histogram.normal(sigma_s).id


def test_bounds_are_facts_and_stay_as_they_are() -> None:
    uncertainty = {"earliest": NOW_US - 3_250_000, "latest": NOW_US}
    assert stamped(1, uncertainty=uncertainty)["template"] == Histogram.uniform(-2.25, 1).id


def test_own_uncertainty_helps_a_sensor_whose_template_is_too_long() -> None:
    assert stamped(sensor="vague", uncertainty={"sigma_s": 1})["template"] == Histogram.normal(sigma_s=1).id


def test_attributes_of_exactly_1_kib_and_the_ends_of_64_bits_pass() -> None:
    assert stamped(attributes={"a": "x" * 1016})["attributes"]["a"] == "x" * 1016
    ends = {"least": -(2**63), "most": 2**63 - 1, "deep": [[[{"a": None}]]], "ö": "☃", "real": 1e-300}
    assert stamped(attributes=ends)["attributes"] == ends
