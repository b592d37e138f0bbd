"""The demo's example file says what the papers say, and the library's own answer about it."""

import itertools
import json

import pytest

from deploy.local.sn1987a import DETECTORS, by_detectors, expected_matches, posts


def test_the_example_has_every_event_in_order() -> None:
    events = {sensor: [json.loads(line) for line in body.splitlines()] for sensor, body in posts().items()}
    assert {sensor: len(each) for sensor, each in events.items()} == {"kamiokande-ii": 11, "imb": 8, "baksan": 5}
    for sensor, each in events.items():
        assert [event["id"] for event in each] == [f"{sensor}-{place}" for place in range(1, len(each) + 1)]
        assert sorted(each, key=lambda event: event["detected_at"]) == each


def test_every_pair_is_expected_at_the_shipped_threshold_and_none_at_certainty() -> None:
    assert len(expected_matches(10, 0.15)) == 11 * 8 + 11 * 5 + 8 * 5
    assert len(expected_matches(10, 0.3)) == 8 * 5  # only IMB and Baksan know the time well enough
    assert expected_matches(10, 1.0) == set()


def test_the_summary_counts_what_was_served() -> None:
    served = [{"probability": 0.25, "members": [{"id": "baksan-1"}, {"id": "imb-1"}]}]
    summary = {pair.detectors: pair for pair in by_detectors(served, window_s=10)}
    assert set(summary) == set(itertools.combinations(DETECTORS, 2))
    assert summary["imb", "baksan"].first_events_probability == 0.25
    assert summary["imb", "baksan"].first_events_apart_s == pytest.approx(30.444, abs=1e-6)
    assert {pair.matches for pair in summary.values()} == {0, 1}
    # by the clocks' word, Kamiokande II's 12 s and IMB's 6 s overlap; Baksan stands apart
    assert [summary[pair].point_matches for pair in summary] == [75, 0, 0]
