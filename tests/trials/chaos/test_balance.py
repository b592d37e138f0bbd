"""The oracle and the balance notice what is lost, extra, twice, late untold, or told late wrongly."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from coincide import Histogram
from tests.reference.silence import SlowSilence
from trials.chaos.balance import Balance, compared
from trials.chaos.ledger import Ledger, Name
from trials.chaos.load import HALF_TEMPLATE_S
from trials.chaos.oracle import Judged, expected_matches

NOW_US = 1_700_000_000_000_000
S = 1_000_000
TEMPLATE = Histogram.uniform(-HALF_TEMPLATE_S, HALF_TEMPLATE_S)


def frame(received_us: int, *heard: tuple[str, str, int]) -> bytes:
    """Return a frame of the area "yard" as ingest writes it: sensor, id and time of each detection."""
    content = {
        "v": 2,
        "area": "yard",
        "received_at_us": received_us,
        "templates": {TEMPLATE.id: TEMPLATE.to_json()},
        "stamps": [{"sensor": sensor, "stream": "noise", "template": TEMPLATE.id} for sensor, _, _ in heard],
        "detections": {
            "stamp": [*range(len(heard))],
            "id": [id_ for _, id_, _ in heard],
            "detected_at_us": [at_us for _, _, at_us in heard],
        },
    }
    return json.dumps(content).encode()


LOG = [
    frame(NOW_US, ("a", "1", NOW_US), ("b", "1", NOW_US + 100_000)),
    b"[" * 20_000,
    frame(NOW_US + 60 * S, ("a", "2", NOW_US + 60 * S), ("b", "1", NOW_US + 100_000)),  # again, and too late by now
    frame(NOW_US + 61 * S, ("b", "2", NOW_US + 61 * S), ("b", "3", NOW_US + 30 * S)),
]
ACKNOWLEDGED = {("a", "1"): NOW_US, ("b", "1"): NOW_US + 100_000, ("b", "3"): NOW_US + 30 * S}


@pytest.fixture
def log() -> Judged:
    judged = Judged(20 * S, SlowSilence(30 * S))
    for value in LOG:
        judged.read(0, value)
    return judged


def compare(log: Judged, served: list[str], told: set[Name], **more: Any) -> Balance:
    return compared(
        Ledger({**ACKNOWLEDGED, **more.get("acknowledged", {})}), log, expected_matches(log.on_time), served, told
    )


def wrong(found: Balance) -> dict[str, list[str]]:
    return {name: each for name, each in asdict(found).items() if isinstance(each, list) and each}


def test_a_pair_near_enough_is_a_match_and_what_came_late_is_late(log: Judged) -> None:
    assert [*expected_matches(log.on_time).values()] == [(("a", "1"), ("b", "1"))]
    assert log.late == {("b", "1"), ("b", "3")}
    found = compare(log, [*expected_matches(log.on_time)], log.late)
    assert found.is_even
    assert (found.acknowledged, found.matches, found.late) == (3, 1, 1)  # b 1 was on time the first time


def test_each_thing_that_is_wrong_is_named(log: Judged) -> None:
    [right] = expected_matches(log.on_time)
    assert wrong(compare(log, [], log.late)) == {"missing": [right]}
    assert wrong(compare(log, [right, "m-0"], log.late)) == {"extra": ["m-0"]}
    assert wrong(compare(log, [right, right], log.late)) == {"twice": [right]}
    assert wrong(compare(log, [right], {("b", "1")})) == {"late_untold": ["b 3"]}
    assert wrong(compare(log, [right], {*log.late, ("a", "1")})) == {"told_late_wrongly": ["a 1"]}
    lost = {("a", "9"): NOW_US}
    assert wrong(compare(log, [right], log.late, acknowledged=lost)) == {"lost_detections": ["a 9"]}
