"""How long a rebuild takes: real Kafka, real Spark, the real fusion process; frames as ingest writes them.

The history lies on coincide.detections before fusion starts. Half of the detections are of each stream. The query has
next to no matches (`matches` 0), or one for 20 detections. The record of the rebuild says how long it took, from the
deletion of the checkpoint until all answers were written. Wall time; `cores` are those that fusion used meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import psutil

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.frames import frame_json
from benchmarks.harness.rounds import cpu_seconds
from benchmarks.line.whole_line import AREAS, DETECTIONS_PER_MATCH, HALF_TEMPLATE_S, area_name, running
from coincide import Histogram
from deploy.host.machine import wait_until
from deploy.local.system import System
from services.common.kafka.clients import create_producer

RATE_HZ = 10_000  # at which the history was recorded
PARTITIONS = 8
MAX_DELAY_S = 10.0
TEMPLATE = Histogram.uniform(-HALF_TEMPLATE_S, HALF_TEMPLATE_S)
LONGEST_S = 600.0
HEADINGS = ("detections", "in a frame", "matches", "shards", "detections/s", "seconds", "cores")


class History(NamedTuple):
    """What was recorded, and how many shards read it again."""

    detections: int
    in_a_frame: int
    has_matches: bool = False
    shards: int = 1

    def frames(self, begun_us: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and value of each record, in the order in which they came."""
        rng = np.random.default_rng(1987)
        frame_us = round(1e6 * self.in_a_frame / RATE_HZ)
        for number in range(self.detections // self.in_a_frame):
            area = area_name(number % AREAS)
            yield area.encode(), self._frame(rng, area, begun_us + number * frame_us, number)

    def _frame(self, rng: np.random.Generator, area: str, received_us: int, number: int) -> bytes:
        """Return detections that are further apart than the window, but for those that match."""
        nths = np.arange(number * self.in_a_frame, (number + 1) * self.in_a_frame)
        apart_us = round(1e6 * AREAS / RATE_HZ)
        times_us = received_us - apart_us * np.arange(self.in_a_frame)[::-1] + rng.integers(0, apart_us // 4)
        is_second = nths % DETECTIONS_PER_MATCH == DETECTIONS_PER_MATCH - 1
        if self.has_matches:
            times_us[is_second] -= apart_us
        columns: dict[str, Any] = {
            "stamp": (is_second if self.has_matches else nths // AREAS % 2).astype(int).tolist(),
            "detected_at_us": times_us.tolist(),
            "id": [f"h-{nth:032x}" for nth in nths],
        }
        stamps = [(f"{stream}-{area}", stream, TEMPLATE) for stream in ("seismic", "acoustic")]
        return frame_json(area, received_us, stamps, columns)


def rebuilt(history: History) -> list[object]:
    """Return the row of one rebuild."""
    with running(MAX_DELAY_S, COINCIDE_FUSION_SHARDS=str(history.shards)) as system:
        wait_until(lambda: system.alerting.get("/v1/queries/pairs").json()["applied_version"] == 1, LONGEST_S)
        system.supervision.stop_process("fusion")
        fill(system, history)
        system.rebuild()
        if not wait_until(lambda: _is_running(system), LONGEST_S):
            raise SystemExit("the rebuild did not begin")
        fusion = psutil.Process(system.supervision.pid("fusion"))
        used_s, since_s = _cpu_s(fusion), time.monotonic()
        if not wait_until(lambda: _last(system)["state"] == "done", LONGEST_S):
            raise SystemExit(f"the rebuild was not done within {LONGEST_S:.0f} s: {_last(system)}")
        cores = (_cpu_s(fusion) - used_s) / (time.monotonic() - since_s)
        done = _last(system)
    took_s = (done["ended_at_us"] - done["began_at_us"]) / 1e6
    matches = "0.05" if history.has_matches else "0"
    rate = round(history.detections / took_s)
    return [history.detections, history.in_a_frame, matches, history.shards, rate, f"{took_s:.1f}", f"{cores:.2f}"]


def fill(system: System, history: History) -> None:
    """Write the history to the topic; each area has its partition."""
    producer = create_producer(system.layout.kafka, linger_ms=50, batch_size=1 << 20)
    begun_us = time.time_ns() // 1_000 - round(1e6 * history.detections / RATE_HZ)
    for key, value in history.frames(begun_us):
        producer.send("coincide.detections", key=key, value=value, partition=crc32(key) % PARTITIONS)
    producer.flush(LONGEST_S)
    producer.close()


def _last(system: System) -> dict[str, Any]:
    rebuilds = system.alerting.get("/v1/rebuilds").json()["items"]
    return dict(rebuilds[0]) if rebuilds else {"state": "none"}


def _is_running(system: System) -> bool:
    return _last(system)["state"] in {"running", "done"}


def _cpu_s(fusion: psutil.Process) -> float:
    return cpu_seconds(fusion, *fusion.children(recursive=True))


def tables(options: Options) -> Iterator[Table]:
    histories = [History(20_000, 500)]
    if not options.quick:
        histories = [
            History(180_000, 1),
            History(180_000, 500),
            History(2_000_000, 500),
            History(2_000_000, 500, shards=2),
            History(2_000_000, 500, has_matches=True),
        ]
    yield Table(HEADINGS, map(rebuilt, histories))


BENCHMARKS = [Benchmark("rebuild", "how long a rebuild takes", [tables], is_service=True)]
