"""The Central Italy hour, asked again: a run as live is the live records, whatever went wrong while they were made.

Thresholds change amid the posts, processes are killed, and some detections come a quarter of an hour late.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest

from coincide import Detections, Window, timing_join
from tests.acceptance import italy
from tests.acceptance.hour import CHANGED, LATE, Hour
from tests.acceptance.line import Line
from tests.acceptance.on_italy import on_both
from tests.patience import until
from tests.reference import central_italy
from tests.reference.oracle import Detection

pytestmark = on_both

AREA = "past"


@dataclass
class Past:
    """The hour, dealt with, and when that began."""

    line: Line
    begun_us: int
    accepted: list[Detection]

    def run(self, query: str, **more: Any) -> dict[str, Any]:
        """Ask for a run at alerting's address, and return its summary when it is done."""
        door = self.line.system.alerting
        asked = {"query": query, "from": self.begun_us, "to": time.time_ns() // 1_000, **more}
        run = door.post("/v1/history-runs", json=asked).raise_for_status().json()["run"]
        url = f"/v1/history-runs/{run}"
        until(lambda: door.get(url).json()["state"] not in {"queued", "running"})
        said: dict[str, Any] = door.get(url).json()
        assert said["state"] == "done", said
        return said

    def compared(self, run: str) -> dict[str, int]:
        answer = self.line.system.alerting.get(f"/v1/history-runs/{run}/compare", timeout=60)
        counts: dict[str, int] = answer.raise_for_status().json()["counts"]
        return counts

    def matches_of(self, run: str) -> dict[str, dict[str, Any]]:
        """Return the matches of a run by their ids."""
        lines = self.line.system.alerting.get(f"/v1/history-runs/{run}/matches", timeout=60).text.splitlines()
        return {match["id"]: match for match in map(json.loads, lines)}

    def of_phase(self, phase: str) -> tuple[Detections, list[str]]:
        """Return all picks of a phase, and their ids."""
        of = [*{each.id: each for each in self.accepted if each.stream == f"{phase.lower()}_pick"}.values()]
        columns = ([getattr(each, name) for each in of] for name in ("detected_at_us", "area", "sensor"))
        at_us, area, sensor = columns
        template = italy.histogram(central_italy.templates()[phase])
        return Detections(at_us, [template], None, area, sensor), [each.id for each in of]


@pytest.fixture
def past(posted: Hour) -> Past:
    return Past(posted.line, posted.begun_us, posted.past.accepted)


@pytest.mark.parametrize("query", [italy.OWN_S.query, CHANGED.query])
def test_as_live_is_the_live_records_id_by_id(past: Past, query: str) -> None:
    served = past.line.pages("/v1/matches", {"query": query})
    live = {match["id"]: match for match in served if match["received_at_us"] >= past.begun_us}
    said = past.run(query, as_live=True)
    assert past.compared(said["run"]) == {"added": 0, "gone": 0, "changed": 0, "same": len(live), "older": 0}
    again = past.matches_of(said["run"])
    assert again.keys() == live.keys()
    told = ("query_version", "probability", "received_at_us", "members")
    assert all(again[id_][name] == live[id_][name] for id_ in live for name in told)
    assert len(live) > 600
    assert said["replayed"]["late"] >= LATE
    if query == CHANGED.query:
        assert {match["query_version"] for match in live.values()} >= {1, 4, 5}
    else:  # of one threshold all the time
        assert own_matches(said) == len(live)


def own_matches(said: dict[str, Any]) -> int:
    """Return how many matches the curve of a run has at the query's own threshold."""
    [own] = [point["matches"] for point in said["curve"] if point["threshold"] == said["own_threshold"]]
    return int(own)


def test_complete_has_what_was_late_too_and_its_curve_says_how_many_there_are(past: Past) -> None:
    times_us = [pick.detected_at_us for pick in central_italy.picks()]
    span = {"from": min(times_us), "to": max(times_us) + 1}
    said = past.run(italy.OWN_S.query, **span, min_threshold=0.1)
    counts = past.compared(said["run"])
    assert (counts["gone"], counts["changed"]) == (0, 0)
    assert counts["added"] > 0
    url = f"/v1/queries/{italy.OWN_S.query}/what-if"
    answer = past.line.system.alerting.post(url, json={**span, "min_threshold": 0.1})
    what_if = past.run(italy.OWN_S.query, **span, min_threshold=0.1, keeps_matches=False)
    assert answer.json()["run"] == what_if["run"]
    assert what_if["curve"] == said["curve"]
    assert own_matches(said) == said["matches"] == counts["same"] + counts["added"]


def test_complete_is_the_librarys_join_of_the_hour_id_by_id(past: Past) -> None:
    times_us = [each.detected_at_us for each in past.accepted]
    said = past.run(italy.OWN_S.query, **{"from": min(times_us), "to": max(times_us) + 1})
    of_area = [match for match in past.matches_of(said["run"]).values() if match["area"] == AREA]
    found = sorted(tuple(member["id"] for member in match["members"]) for match in of_area)
    (p, p_ids), (s, s_ids) = past.of_phase("P"), past.of_phase("S")
    window = Window(lo_s=italy.OWN_S.lo_s, hi_s=italy.OWN_S.hi_s)
    pairs = timing_join(p, s, window, italy.OWN_S.threshold, sensors=italy.OWN_S.sensors)
    joined = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    assert found == sorted((p_ids[left], s_ids[right]) for left, right in joined)
    assert len(found) > 600
