"""Rate of the pure fusion core on one core: detections a second through `push`, where the time goes, state size.

Run ``python -m benchmarks.fusion_core``. One query over two streams in 64 areas, frames of 500 detections, about 0.05
matches per detection, max_delay 10 s; the simulated stream runs at the rate given, so that the buffers are as full as
they would be. Nothing but the core is measured: no Spark, no Kafka. Times are processor time, so that a busy
machine disturbs them less.
"""

from __future__ import annotations

import argparse
import cProfile
import platform
import pstats
import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from coincide import Histogram, Stream
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.core.limits import Limits
from spark_jobs.records.kafka_records import InputRecord

START_US = 1_700_000_000_000_000
AREAS = 64
SENSORS_PER_AREA = 8
FRAME_ROWS = 500
WINDOW_S = 120e-6
STREAMS = {name: Stream(name, max_delay_s=10.0, longest_template_s=1.0) for name in ("seismic", "acoustic")}
QUERY = {
    "id": "pairs",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": WINDOW_S, "threshold": 0.5}],
}
TEMPLATES = [Histogram.normal(sigma_s=20e-6 * (1 + sensor)) for sensor in range(SENSORS_PER_AREA)]


@dataclass(frozen=True)
class Load:
    """A simulated stream: `rate` detections a second for `seconds`, in batches of `frames` frames."""

    rate: float
    seconds: float
    frames: int

    def batches(self) -> Iterator[list[InputRecord]]:
        rng = np.random.default_rng(1)
        offsets = [0] * AREAS
        total = int(self.rate * self.seconds / FRAME_ROWS)
        span_us = FRAME_ROWS * AREAS / self.rate * 1e6  # of the detections in one frame: areas take turns
        for first in range(0, total, self.frames):
            batch = []
            for nth in range(first, min(first + self.frames, total)):
                area = nth % AREAS
                frame_start_us = START_US + int(nth // AREAS * span_us)
                batch.append(_frame(rng, area, offsets[area], frame_start_us, span_us))
                offsets[area] += 1
            yield batch


def _frame(rng: np.random.Generator, area: int, offset: int, start_us: int, span_us: float) -> InputRecord:
    times = (start_us + rng.uniform(0, span_us, FRAME_ROWS)).astype(int).tolist()
    sensors = rng.integers(0, SENSORS_PER_AREA, FRAME_ROWS).tolist()
    rows = []
    for nth, (time_us, sensor) in enumerate(zip(times, sensors, strict=True)):
        template = TEMPLATES[sensor]
        rows.append(
            {
                "id": f"h-{area:08x}{offset:08x}{nth:016x}",
                "sensor": f"area-{area}-sensor-{sensor}",
                "stream": "seismic" if sensor % 2 else "acoustic",
                "detected_at_us": time_us,
                "template": template.id,
                "earliest_us": time_us + template.earliest_us,
                "latest_us": time_us + template.latest_us,
                "attributes": {"amplitude": 0.25, "channel": "HHZ"},
            }
        )
    frame = {
        "v": 1,
        "area": f"area-{area}",
        "received_at_us": start_us + int(span_us),
        "templates": {template.id: template.to_json() for template in TEMPLATES},
        "detections": rows,
    }
    return InputRecord("detections", area % 8, offset * AREAS + area, b"area-%d" % area, msgspec.json.encode(frame))


def _query_record(gap_s: float | None) -> InputRecord:
    query = QUERY if gap_s is None else {**QUERY, "coalesce": {"gap_s": gap_s}}
    return InputRecord(
        "queries", 0, 0, b"pairs", msgspec.json.encode({"v": 1, "id": "pairs", "version": 1, "query": query})
    )


@dataclass
class Measured:
    """What one run gave."""

    detections: int
    matches: int
    episodes: int
    seconds: float
    kept: int
    state_bytes: int
    header_bytes: int
    slowest_push_s: float

    def __str__(self) -> str:
        each_us = self.seconds / self.detections * 1e6
        return (
            f"{self.detections / self.seconds:10,.0f} detections/s  {each_us:5.2f} us each  "
            f"{self.matches / self.detections:.3f} matches each  "
            f"{self.episodes / self.detections:.3f} episode records each  "
            f"kept {self.kept:,}  "
            f"{self.state_bytes / max(self.kept, 1):.0f} state bytes per kept detection  "
            f"header {self.header_bytes:,} B  slowest push {self.slowest_push_s * 1e3:.0f} ms"
        )


def run(load: Load, gap_s: float | None) -> Measured:
    """Push the load through a core, writing and dropping its slots as the job would."""
    core = FusionCore(STREAMS, Limits(), shard=0)
    core.push([_query_record(gap_s)])
    slots: dict[int, bytes] = {}
    detections = matches = episodes = 0
    spent = slowest = 0.0
    header = b""
    for batch in load.batches():
        began = time.process_time()
        output = core.push(batch)
        header = core.header()
        slots |= core.journal()
        for number in core.dropped_slots():
            del slots[number]
        took = time.process_time() - began
        spent, slowest = spent + took, max(slowest, took)
        detections += len(batch) * FRAME_ROWS
        matches += len(output.matches)
        episodes += len(output.episodes)
    kept = sum(msgspec.json.decode(output.status.value)["buffered"].values())
    state_bytes = sum(map(len, slots.values())) + len(header)
    return Measured(detections, matches, episodes, spent, kept, state_bytes, len(header), slowest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=60_000, help="simulated detections a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--gap", type=float, help="coalesce matches so many seconds apart into episodes")
    parser.add_argument("--profile", action="store_true", help="also print where the time goes")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, msgspec {msgspec.__version__}")
    for frames in (1, 8, 36):
        load = Load(arguments.rate, arguments.seconds, frames)
        print(f"{frames:3} frames of {FRAME_ROWS} a push: {run(load, arguments.gap)}")
    if arguments.profile:
        profile = cProfile.Profile()
        profile.runcall(run, Load(arguments.rate, arguments.seconds, 36), arguments.gap)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
