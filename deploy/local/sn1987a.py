"""The demo's detections (config/examples/sn1987a) and what to see in their matches, pair of detectors by pair."""

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from coincide import Window, match_probability
from deploy.local.paths import ROOT
from services.common.streams import load_streams
from services.ingest.sensors_file import load_sensors

EXAMPLES = ROOT / "config" / "examples" / "sn1987a"
#: Ids as in config/sensors.yaml, and the names that people know.
DETECTORS = {"kamiokande-ii": "Kamiokande II", "imb": "IMB", "baksan": "Baksan"}
STREAM = "neutrino"


@dataclass(frozen=True)
class DetectorPair:
    """What was found between two detectors.

    Attributes
    ----------
    first_events_apart_s
        Between their first events, as their own clocks put them; positive where the second's is later.
    first_events_probability
        Of the match of their first events; None where there is none.
    matches
        How many pairs of their events match.
    point_matches
        How many would, were every clock believed: reported times at most the window apart.
    """

    detectors: tuple[str, str]
    first_events_apart_s: float
    first_events_probability: float | None
    matches: int
    point_matches: int


def posts() -> dict[str, bytes]:
    """Return what each detector's gateway posts, by sensor: one JSON object a line."""
    return {sensor: _file(sensor).read_bytes() for sensor in DETECTORS}


def expected_matches(window_s: float, threshold: float) -> set[frozenset[str]]:
    """Return the detection ids of each pair that must match, worked out with the library alone, pair by pair."""
    sensors = load_sensors(ROOT / "config/sensors.yaml", load_streams(ROOT / "config/streams.yaml"))
    window, expected = Window(window_s), set()
    for first, second in itertools.combinations(DETECTORS, 2):
        u, v = sensors[first].streams[STREAM], sensors[second].streams[STREAM]
        for (a, a_s), (b, b_s) in itertools.product(_reported_s(first).items(), _reported_s(second).items()):
            if match_probability(u, v, b_s - a_s, window) >= threshold:
                expected.add(frozenset({a, b}))
    return expected


def by_detectors(matches: Iterable[Mapping[str, Any]], window_s: float) -> list[DetectorPair]:
    """Sum up ``matches``, as GET /v1/matches serves them, for each pair of detectors."""
    probability = {frozenset(each["id"] for each in match["members"]): match["probability"] for match in matches}
    return [_sum_up(pair, probability, window_s) for pair in itertools.combinations(DETECTORS, 2)]


def _sum_up(pair: tuple[str, str], probability: Mapping[frozenset[str], float], window_s: float) -> DetectorPair:
    events = list(itertools.product(_reported_s(pair[0]).items(), _reported_s(pair[1]).items()))
    apart_s = {frozenset({a, b}): b_s - a_s for (a, a_s), (b, b_s) in events}
    first_events = next(iter(apart_s))  # a file is in the order of time
    return DetectorPair(
        detectors=pair,
        first_events_apart_s=apart_s[first_events],
        first_events_probability=probability.get(first_events),
        matches=len(apart_s.keys() & probability.keys()),
        point_matches=sum(abs(each_s) <= window_s for each_s in apart_s.values()),
    )


def _reported_s(sensor: str) -> dict[str, float]:
    """Return the reported time of each detection of ``sensor``, in seconds since the epoch, by detection id."""
    detections = [json.loads(line) for line in _file(sensor).read_text(encoding="utf-8").splitlines()]
    return {each["id"]: datetime.fromisoformat(each["detected_at"]).timestamp() for each in detections}


def _file(sensor: str) -> Path:
    return EXAMPLES / f"{sensor}.ndjson"
