"""Pushes of a few detections: CPU time of one push of a warm core, its state written and dropped as a host does it.

Microphones of 16 areas report 200 detections a second, all areas together, one detection a frame. A few come by a buoy
with a bad clock; so each detection has some tens of others in its area to look at, and one in ten or so completes a
pair. The core has heard two minutes before the first push that is timed: buffers are full, and rates are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import sin
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.frames import frame_json
from benchmarks.harness.rounds import Stopwatch, Work
from benchmarks.line.fusion_core import START_US, core_types
from coincide import Histogram, Stream

RATE_HZ = 200.0
AREAS = 16
SENSORS_PER_AREA = 6  # and a buoy
BUOY_SHARE = 1 / 2_000
WARM_S = 130.0
WARM_PUSH = 2_000  # detections
DRAWN_AT_ONCE = 4_096
STREAMS = {name: Stream(name, max_delay_s=10.0, longest_template_s=4.0) for name in ("near", "far", "level")}
BESIDE_ECHOES = {**STREAMS, "door": Stream("door", max_delay_s=10.0, longest_template_s=4.0, echo_s=0.5)}  # silent
TEMPLATES = [Histogram.normal(sigma_s=0.001 * (1 + nth), buckets=8) for nth in range(SENSORS_PER_AREA)]
BUOY = Histogram.uniform(-2.0, 2.0)
WITHIN = {"window_s": 0.002, "threshold": 0.0005}
PAIRS = {"id": "pairs", "from": {"a": "near", "b": "far"}, "within": [{"between": ["a", "b"], **WITHIN}]}
TRIPLES = {"id": "triples", "from": {"a": "near", "b": "far", "c": "level"}, "form": "clique", "within": [WITHIN]}
SPELLS = {
    "id": "spells",
    "coalesce": {"from": "level", "value": "attributes.amplitude", "where": {"above": 0.9}, "hold_s": 10},
    "lasting_s": 10,
}
Queries = Sequence[Mapping[str, Any]]


class Size(NamedTuple):
    """How many frames of one detection come in one push, and how many pushes are timed."""

    frames_a_push: int
    pushes: int


def frames(record: Any) -> Iterator[Any]:
    """Yield one frame of one detection after the other, without end."""
    rng, nth = np.random.default_rng(1), 0
    while True:
        areas, sensors, late_us = rng.integers(((AREAS,), (SENSORS_PER_AREA,), (1_000_000,)), size=(3, DRAWN_AT_ONCE))
        is_buoy = rng.random(DRAWN_AT_ONCE) < BUOY_SHARE
        for drawn in zip(areas.tolist(), sensors.tolist(), late_us.tolist(), is_buoy.tolist(), strict=True):
            yield _frame(record, nth, *drawn)
            nth += 1


def _frame(record: Any, nth: int, area: int, sensor: int, late_us: int, is_buoy: bool) -> Any:
    now_us = START_US + int(nth / RATE_HZ * 1e6)
    amplitude = round(0.75 + 0.25 * sin(nth / RATE_HZ / 10 + area), 3)
    columns = {
        "stamp": [0],
        "detected_at_us": [now_us - late_us],
        "id": [f"h-{nth:032x}"],
        "attributes": [{"amplitude": amplitude, "channel": "HHZ"}],
    }
    name = "buoy" if is_buoy else f"mic-{sensor}"
    stamp = f"area-{area}-{name}", list(STREAMS)[sensor % len(STREAMS)], BUOY if is_buoy else TEMPLATES[sensor]
    return record("detections", area % 8, nth, b"area-%d" % area, frame_json(f"area-{area}", now_us, [stamp], columns))


def warm_core(
    queries: Queries, arriving: Iterator[Any], streams: Mapping[str, Stream] = STREAMS
) -> tuple[Any, dict[int, bytes]]:
    """Return a core that has heard the first of these frames, and the slots of its state."""
    core_type, limits, record = core_types()
    core, slots = core_type(streams, limits(), shard=0), dict[int, bytes]()
    for nth, query in enumerate(queries):
        change = {"v": 1, "id": query["id"], "version": 1, "changed_at_us": 0, "query": query}
        core.push([record("queries", 0, nth, str(query["id"]).encode(), msgspec.json.encode(change))])
    for _ in range(0, int(WARM_S * RATE_HZ), WARM_PUSH):
        core.push(list(islice(arriving, WARM_PUSH)))
        slots |= core.journal()
    return core, slots


def pushing(size: Size, queries: Queries, streams: Mapping[str, Stream]) -> tuple[int, Work]:
    """Return how many pushes are timed, and work that pushes; the answer is the records a detection."""

    def work(watch: Stopwatch) -> float:
        arriving, records = frames(core_types()[2]), 0
        core, slots = warm_core(queries, arriving, streams)
        for _ in range(size.pushes):
            batch = list(islice(arriving, size.frames_a_push))
            with watch:
                output = core.push(batch)
                core.header()
                slots |= core.journal()
                for number in core.dropped_slots():
                    slots.pop(number, None)
            records += len(output.matches) + len(output.episodes)
        return records / (size.pushes * size.frames_a_push)

    return size.pushes, work


WAYS: dict[str, tuple[Queries, Mapping[str, Stream]]] = {
    "pairs": ([PAIRS], STREAMS),
    "pairs beside echoes": ([PAIRS], BESIDE_ECHOES),
    "pairs and episodes": ([{**PAIRS, "coalesce": {"gap_s": 1.0}}], STREAMS),
    "triples": ([TRIPLES], STREAMS),
    "spells": ([SPELLS], STREAMS),
}
COSTS = Costs(
    item="a push",
    ways=list(WAYS),
    sizes=[Size(1, 2_000), Size(64, 200)],
    quick=[Size(1, 50)],
    works=lambda size: [pushing(size, *way) for way in WAYS.values()],
    shows="matches of pairs a detection",
    rounds=5,
)
BENCHMARKS = [Benchmark("small_pushes", "a push of a few detections through the fusion core", [COSTS])]
