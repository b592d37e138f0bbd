"""Windows by distance in the fusion core, beside fixed ones: CPU time of a detection through `push`.

200 sensors stand in a square of 20 km and hear noise of their own; a query asks for pairs within the time that sound
takes from one to the other, and 0.2 s. The fixed window is the mean of the 19,900 windows, so both look at as many
pairs and find about as many. Each of 8 kinds of sensor has its own template.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.rounds import Stopwatch, Work
from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.places import DistanceWindow, FramePlace, Places, form_of_place

START_US = 1_700_000_000_000_000
SENSORS, SQUARE_M, FRAME_ROWS = 200, 20_000.0, 200
STREAMS = {"noise": Stream("noise", max_delay_s=30.0, longest_template_s=2.0)}
TEMPLATES = [Histogram.normal(sigma_s=0.02 * (1 + kind)) for kind in range(8)]
LIMITS = Limits(max_matches_per_detection=10**6, max_matches_per_s=10**6)
SOUND = DistanceWindow(343, 0.2, up_to_m=30_000)


class Size(NamedTuple):
    """How often all sensors together report, and how many frames there are."""

    rate_hz: float
    frames: int


def places() -> list[FramePlace]:
    return [FramePlace(*xy) for xy in np.random.default_rng(5).uniform(0, SQUARE_M, (SENSORS, 2)).tolist()]


def edges() -> list[dict[str, Any]]:
    """Return the fixed edge, and the one by distance."""
    columns = Places.of(places())
    i, j = np.triu_indices(SENSORS, 1)
    mean_s = float(SOUND.half_width_ms(columns.distance_m(i, j)).mean()) / 1000
    return [{"window_s": mean_s}, {"speed_m_s": 343, "slack_s": 0.2, "up_to_m": 30_000}]


def frames(size: Size) -> Iterator[InputRecord]:
    rng, known = np.random.default_rng(7), [form_of_place(each) for each in places()]
    stamps = [
        {"sensor": f"mic-{nth}", "stream": "noise", "template": TEMPLATES[nth % 8].id, "place": known[nth]}
        for nth in range(SENSORS)
    ]
    templates = {each.id: each.to_json() for each in TEMPLATES}
    span_us = FRAME_ROWS / size.rate_hz * 1e6
    for number in range(size.frames):
        start_us = START_US + int(number * span_us)
        columns = {
            "stamp": rng.integers(0, SENSORS, FRAME_ROWS).tolist(),
            "detected_at_us": np.sort(start_us + rng.uniform(0, span_us, FRAME_ROWS).astype(np.int64)).tolist(),
            "id": [f"{number}-{nth}" for nth in range(FRAME_ROWS)],
        }
        frame = {"v": 2, "area": "town", "received_at_us": start_us + int(span_us), "templates": templates}
        frame |= {"stamps": stamps, "detections": columns}
        yield InputRecord("detections", 0, number, b"town", msgspec.json.encode(frame))


def pushing(size: Size, edge: dict[str, Any]) -> tuple[int, Work]:
    """Return how many detections there are, and work that pushes them; the answer is the matches a detection."""
    within = [{"between": ["a", "b"], **edge, "threshold": 0.5}]
    query = {"id": "pairs", "from": {"a": "noise", "b": "noise"}, "within": within}

    document = msgspec.json.encode({"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": query})
    detections = size.frames * FRAME_ROWS

    def work(watch: Stopwatch) -> float:
        core, matches = FusionCore(STREAMS, LIMITS, shard=0), 0
        core.push([InputRecord("queries", 0, 0, b"pairs", document)])
        for frame in frames(size):
            with watch:
                matches += len(core.push([frame]).matches)
        return matches / detections

    return detections, work


COSTS = Costs(
    item="a detection",
    ways=("fixed window", "by distance"),
    sizes=[Size(0.002, 40), Size(0.02, 10)],
    quick=[Size(0.02, 4)],
    works=lambda size: [pushing(size, edge) for edge in edges()],
    shows="matches a detection",
)
BENCHMARKS = [Benchmark("distance_core", "windows by distance in the fusion core, beside fixed ones", [COSTS])]
