"""The fusion core on one core: CPU time of a detection through `push`, its state written and dropped as the job does.

One query over two streams in 64 areas, frames of 500 detections, about 0.05 matches per detection, max_delay 10 s. The
simulated streams run at 60,000 detections a second, so that the buffers are as full as they would be. Nothing but the
core is measured: no Spark, no Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.frames import frame_json
from benchmarks.harness.rounds import Stopwatch, Work
from coincide import Histogram, Stream

START_US = 1_700_000_000_000_000
RATE_HZ = 60_000.0
AREAS = 64
SENSORS_PER_AREA = 8
FRAME_ROWS = 500
STREAMS = {name: Stream(name, max_delay_s=10.0, longest_template_s=1.0) for name in ("seismic", "acoustic")}
QUERY = {
    "id": "pairs",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 120e-6, "threshold": 0.5}],
}
TEMPLATES = [Histogram.normal(sigma_s=20e-6 * (1 + sensor)) for sensor in range(SENSORS_PER_AREA)]


class Size(NamedTuple):
    """How many frames come in one push, and how long the streams run."""

    frames_a_push: int
    seconds: float


def core_types() -> tuple[Any, Any, Any]:
    """Return `FusionCore`, `Limits` and `InputRecord` of this checkout or of the one that `compare` compares with."""
    try:
        from coincide.fusion.control.limits import Limits
        from coincide.fusion.core.fusion_core import FusionCore
        from coincide.fusion.records.kafka_records import InputRecord
    except ImportError:  # it has no packages yet
        first_home = {"FusionCore": "fusion_core", "Limits": "limits", "InputRecord": "records"}
        core, limits, record = (getattr(import_module(f"spark_jobs.{of}"), name) for name, of in first_home.items())
        return core, limits, record
    return FusionCore, Limits, InputRecord


def batches(size: Size, record: Any) -> Iterator[list[Any]]:
    """Yield what is pushed at once: frames of areas that take turns."""
    rng = np.random.default_rng(1)
    span_us = FRAME_ROWS * AREAS / RATE_HZ * 1e6  # of the detections in one frame
    total = int(RATE_HZ * size.seconds / FRAME_ROWS)
    for first in range(0, total, size.frames_a_push):
        numbers = range(first, min(first + size.frames_a_push, total))
        yield [record("detections", *_frame(rng, nth % AREAS, nth // AREAS, span_us)) for nth in numbers]


def _frame(rng: np.random.Generator, area: int, turn: int, span_us: float) -> tuple[int, int, bytes, bytes]:
    start_us = START_US + int(turn * span_us)
    times = (start_us + rng.uniform(0, span_us, FRAME_ROWS)).astype(int).tolist()
    sensors = rng.integers(0, SENSORS_PER_AREA, FRAME_ROWS).tolist()
    stamps = [
        (f"area-{area}-sensor-{nth}", "seismic" if nth % 2 else "acoustic", template)
        for nth, template in enumerate(TEMPLATES)
    ]
    columns = {
        "stamp": sensors,
        "detected_at_us": times,
        "id": [f"h-{area:08x}{turn:08x}{nth:016x}" for nth in range(FRAME_ROWS)],
        "attributes": [{"amplitude": 0.25, "channel": "HHZ"}] * FRAME_ROWS,
    }
    value = frame_json(f"area-{area}", start_us + int(span_us), stamps, columns)
    return area % 8, turn * AREAS + area, b"area-%d" % area, value


def pushing(size: Size, gap_s: float | None = None) -> tuple[int, Work]:
    """Return how many detections there are, and work that pushes them; the answer is the matches a detection."""
    core_type, limits, record = core_types()
    query = QUERY if gap_s is None else {**QUERY, "coalesce": {"gap_s": gap_s}}
    document = msgspec.json.encode({"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": query})
    detections = int(RATE_HZ * size.seconds / FRAME_ROWS) * FRAME_ROWS

    def work(watch: Stopwatch) -> float:
        core, slots, matches = core_type(STREAMS, limits(), shard=0), dict[int, bytes](), 0
        core.push([record("queries", 0, 0, b"pairs", document)])
        for batch in batches(size, record):
            with watch:
                matches += len(core.push(batch).matches)
                core.header()
                slots |= core.journal()
                for number in core.dropped_slots():
                    del slots[number]
        return matches / detections

    return detections, work


COSTS = Costs(
    item="a detection",
    ways=("matches", "matches and episodes"),
    sizes=[Size(frames, 10) for frames in (1, 8, 36)],
    quick=[Size(8, 0.2)],
    works=lambda size: [pushing(size), pushing(size, gap_s=1.0)],
    shows="matches a detection",
)
BENCHMARKS = [Benchmark("fusion_core", "a detection through the fusion core, without Spark and Kafka", [COSTS])]
