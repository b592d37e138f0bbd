"""CPU time of `TimingJoin` per pushed event, by batch size: `python -m benchmarks.streaming_join`.

Two streams of 100 events a second each arrive alternately in frames that span the same time, shuffled within half
a second; every event has `--partners` partners in the other stream.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Sequence

import numpy as np

from coincide import Detections, Histogram, Stream, TimingJoin, Window

BARS_US = {100: 3.5, 1_000: 0.7, 10_000: 0.4}
EVENTS = {100: 40_000, 1_000: 200_000, 10_000: 600_000}
SPACING_US = 10_000
SHUFFLE_US = 500_000
EXACT = (Histogram.uniform(-0.001, 0.001),)
MIXED = tuple(Histogram.normal(sigma_s=0.0005 * k) for k in range(1, 9))


def frames(batch: int, events: int, templates: Sequence[Histogram], areas: int, seed: int) -> list[Detections]:
    """One stream in the order of arrival, cut into frames."""
    rng = np.random.default_rng(seed)
    detected = rng.integers(0, events * SPACING_US, events)
    detected = detected[np.argsort(detected + rng.integers(0, SHUFFLE_US, events))]
    parts = [slice(first, first + batch) for first in range(0, events, batch)]
    template = rng.integers(0, len(templates), events)
    area = None if areas == 1 else rng.integers(0, areas, events)
    sensor = rng.integers(0, 20, events) + 20 * seed
    return [
        Detections(detected[at], templates, template[at], None if area is None else area[at], sensor[at])
        for at in parts
    ]


def microseconds_per_event(
    batch: int, partners: int, templates: Sequence[Histogram], areas: int, events: int
) -> tuple[float, float]:
    """Cost, and pairs found, per pushed event."""
    arrivals = zip(*(frames(batch, events // 2, templates, areas, seed) for seed in (0, 1)), strict=True)
    delay_s = 2 + 2e-6 * batch * SPACING_US
    x, y = Stream("x", delay_s, 1), Stream("y", delay_s, 1)
    join = TimingJoin(x, y, Window(partners * areas * SPACING_US / 2e6), 0.5)
    found = 0
    start = time.process_time()
    for of_x, of_y in arrivals:
        found += len(join.push("x", of_x).insert)
        found += len(join.push("y", of_y).insert)
    return (time.process_time() - start) / events * 1e6, found / events


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partners", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")
    print("| batch | templates | areas | us/event | bar | share of bar | pairs/event |")
    print("|---|---|---|---|---|---|---|")
    for batch, bar in BARS_US.items():
        for templates, areas in ((EXACT, 1), (MIXED, 1), (EXACT, 64)):
            runs = [
                microseconds_per_event(batch, arguments.partners, templates, areas, EVENTS[batch])
                for _ in range(arguments.rounds)
            ]
            cost = statistics.median(run[0] for run in runs)
            row = (f"{batch:,}", len(templates), areas, f"{cost:.2f}", bar, f"{cost / bar:.2f}", f"{runs[0][1]:.1f}")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
