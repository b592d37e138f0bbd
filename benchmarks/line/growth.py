"""What a detection costs the fusion core as areas, queries, sensors, matches, attributes and templates grow.

Each row of the table differs in one thing from the first. 10,000 simulated detections a second, half of each stream;
a batch is 0.3 s of them. An area's gateway sends a frame a second, or one for each detection where they are rarer, so
many areas mean short frames. CPU time of the core alone, and the bytes that Spark's state would be given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.frames import frame_json
from benchmarks.harness.rounds import Stopwatch, Work, take_turns
from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord

START_US = 1_700_000_000_000_000
RATE_HZ = 10_000
BATCH_S = 0.3
MAX_DELAY_S = 3.0
STREAMS = {name: Stream(name, max_delay_s=MAX_DELAY_S, longest_template_s=1.0) for name in ("seismic", "acoustic")}


class Load(NamedTuple):
    """What the core is given; `matches` are those of one query, about, for each detection."""

    areas: int = 64
    queries: int = 1
    sensors: int = 128
    matches: float = 0.05
    attribute_bytes: int = 0
    own_templates: bool = False

    @property
    def window_s(self) -> float:
        """How far apart the detections of a match are at most."""
        return 2 * self.matches * self.areas / RATE_HZ

    def query(self, number: int) -> InputRecord:
        """Return one of the queries, each with another window."""
        edge = {"between": ["s", "a"], "window_s": self.window_s * (1 + number / 1_000), "threshold": 0.5}
        query = {"id": f"q{number}", "from": {"s": "seismic", "a": "acoustic"}, "within": [edge]}
        document = {"v": 1, "id": query["id"], "version": 1, "changed_at_us": 0, "query": query}
        return InputRecord("queries", 0, number, f"q{number}".encode(), msgspec.json.encode(document))

    def template(self, number: int) -> Histogram:
        """Return one of the templates, short against the window but where its buckets would be under 1 µs."""
        return Histogram.normal(sigma_s=max(self.window_s / 20, 4.1e-6) * (1 + number % 1_000_003 / 1e6))


GROWN: dict[str, list[Load]] = {
    "areas": [Load(areas=1), Load(areas=10_000, sensors=20_000)],
    "queries": [Load(queries=10), Load(queries=100)],
    "sensors": [Load(sensors=1_000), Load(sensors=10_000), Load(sensors=100_000)],
    "matches": [Load(matches=0.01), Load(matches=0.2), Load(matches=1.0)],
    "attribute_bytes": [Load(attribute_bytes=1_000)],
    "own_templates": [Load(own_templates=True)],
}


def batches(load: Load, seconds: float) -> Iterator[list[InputRecord]]:
    """Yield what comes in each batch."""
    rng = np.random.default_rng(1)
    frames = round(RATE_HZ * BATCH_S / rows_of(load))
    for first in range(0, round(seconds / BATCH_S) * frames, frames):
        yield [_frame(load, rng, number) for number in range(first, first + frames)]


def rows_of(load: Load) -> int:
    """Return how many detections a frame has."""
    return min(500, max(1, RATE_HZ // load.areas))


def _frame(load: Load, rng: np.random.Generator, number: int) -> InputRecord:
    rows, area, turn = rows_of(load), number % load.areas, number // load.areas
    span_us = rows * load.areas * 1_000_000 // RATE_HZ
    first_us = START_US + turn * span_us + area * span_us // load.areas
    sensors = rng.integers(0, max(2, load.sensors // load.areas), rows).tolist()
    stamp_of = {key: nth for nth, key in enumerate(dict.fromkeys(_stamps(load, sensors, number)))}
    columns: dict[str, list[Any]] = {
        "stamp": [stamp_of[key] for key in _stamps(load, sensors, number)],
        "detected_at_us": (first_us + rng.integers(0, span_us, rows)).tolist(),
        "id": [f"h-{number:016x}{nth:016x}" for nth in range(rows)],
    }
    if load.attribute_bytes:
        columns["attributes"] = [{"text": "x" * (load.attribute_bytes - 11)}] * rows
    stamps = [
        (f"{area}-{sensor}", "seismic" if sensor % 2 else "acoustic", load.template(of)) for sensor, of in stamp_of
    ]
    value = frame_json(f"area-{area}", first_us + span_us, stamps, columns)
    return InputRecord("detections", area % 8, number, f"area-{area}".encode(), value)


def _stamps(load: Load, sensors: list[int], number: int) -> list[tuple[int, int]]:
    """Return sensor and number of the template of each row: one for each sensor, or for each detection."""
    if load.own_templates:
        return [(sensor, number * 500 + nth) for nth, sensor in enumerate(sensors)]
    return [(sensor, sensor) for sensor in sensors]


def pushing(load: Load, seconds: float) -> Work:
    """Return work that pushes everything; the answer is detections, matches and bytes of state."""

    def work(watch: Stopwatch) -> tuple[int, int, int]:
        core, detections, matches, state_bytes = FusionCore(STREAMS, Limits(), shard=0), 0, 0, 0
        core.push([load.query(number) for number in range(load.queries)])
        for batch in batches(load, seconds):
            with watch:
                matches += len(core.push(batch).matches)
                state_bytes += len(core.header()) + sum(map(len, core.journal().values()))
                core.dropped_slots()
            detections += len(batch) * rows_of(load)
        return detections, matches, state_bytes

    return work


def tables(options: Options) -> Iterator[Table]:
    seconds, grown = (0.6, {"areas": GROWN["areas"][:1]}) if options.quick else (4 * MAX_DELAY_S, GROWN)
    headings = ("what", "how many", "against the first", "CPU µs a detection", "matches a detection", "state bytes")
    yield Table(headings, rows(grown, seconds, options.rounds_of(3)))


def rows(grown: dict[str, list[Load]], seconds: float, rounds: int) -> Iterator[list[object]]:
    """Yield a row for the usual load and one for each other."""
    usual_us, *first = measured(Load(), seconds, rounds)
    yield ["as usual", "", "1.0", f"{usual_us:.1f}", *first]
    for what, loads in grown.items():
        for load in loads:
            cost_us, *others = measured(load, seconds, rounds)
            yield [what, getattr(load, what), f"{cost_us / usual_us:.1f}", f"{cost_us:.1f}", *others]


def measured(load: Load, seconds: float, rounds: int) -> tuple[float, str, str]:
    """Return CPU µs, matches and bytes of state a detection."""
    found = take_turns({"ours": pushing(load, seconds)}, rounds, wall=False, agree=True)["ours"]
    detections, matches, state_bytes = found.answer
    return found.seconds / detections * 1e6, f"{matches / detections:.3f}", f"{state_bytes / detections:.0f}"


BENCHMARKS = [Benchmark("growth", "what a detection costs the fusion core as the system grows", [tables])]
