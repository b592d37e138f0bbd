"""The neutrinos of SN1987A through the whole system: the figures that a window over plain times cannot give."""

from typing import Any

import pytest

from deploy.local.demo import applied_query, post_all, wait_for_matches
from deploy.local.sn1987a import by_detectors, expected_matches
from deploy.local.system import System

pytestmark = pytest.mark.jvm

LATER = {"sensor": "baksan", "stream": "neutrino", "id": "later", "detected_at": "1987-02-23T07:36:11.900Z"}


@pytest.fixture(scope="module")
def matches(system: System) -> list[dict[str, Any]]:
    window_s, threshold = applied_query(system)
    assert (window_s, threshold) == (10, 0.15)
    post_all(system)
    return wait_for_matches(system, expected_matches(window_s, threshold))


@pytest.mark.parametrize(
    ("first", "second", "probability"),
    [
        ("imb-1", "baksan-1", 20 / 56),  # Baksan's clock leaves 56 s, IMB's event may be anywhere in 20 s of them
        ("kamiokande-ii-1", "imb-1", 20 / 120),  # Kamiokande II's leaves 120 s
    ],
)
def test_first_events_within_10_s(matches: list[dict[str, Any]], first: str, second: str, probability: float) -> None:
    [served] = [match for match in matches if {member["id"] for member in match["members"]} == {first, second}]
    assert served["probability"] == pytest.approx(probability, abs=1e-12)


def test_every_pair_of_detectors_matches_and_no_other_pair(matches: list[dict[str, Any]]) -> None:
    pairs = [frozenset(member["id"] for member in match["members"]) for match in matches]
    assert len(pairs) == len(set(pairs)) == 11 * 8 + 11 * 5 + 8 * 5
    assert set(pairs) == expected_matches(10, 0.15)


def test_plain_times_never_pair_baksan_with_another(matches: list[dict[str, Any]]) -> None:
    summary = {pair.detectors: pair for pair in by_detectors(matches, window_s=10)}
    assert summary["imb", "baksan"].first_events_apart_s == pytest.approx(30.444, abs=1e-6)
    assert summary["imb", "baksan"].point_matches == summary["kamiokande-ii", "baksan"].point_matches == 0
    assert summary["imb", "baksan"].matches == 8 * 5


def test_posting_again_changes_nothing(system: System, matches: list[dict[str, Any]]) -> None:
    post_all(system)
    # One area has one order: when what was posted after the repeat has matched, the repeat has been looked at.
    assert system.ingest.post("/v1/detections", json=LATER).status_code == 202
    served = wait_for_matches(system, {frozenset({"later", "imb-1"})})
    without_later = [match for match in served if "later" not in {member["id"] for member in match["members"]}]
    assert sorted(match["id"] for match in without_later) == sorted(match["id"] for match in matches)
