"""CPU time of `WindowJoin` per pushed event: `python -m benchmarks window_join_streaming`.

Two streams beside `TimingJoin`, three in a clique, and at least 3 of 10 at exact times in a window of +-0.2 mean
distances of a stream's events. Frames of all streams come in turn and span the same time.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.streaming_join import EXACT, SPACING_US, frames
from coincide import ConstraintGraph, Detections, Histogram, Stream, TimingJoin, Window, WindowJoin

POINT = (Histogram.point(),)
Join = TimingJoin | WindowJoin


def us_per_event(make: Callable[[], Join], arrivals: Mapping[str, Sequence[Detections]], runs: int) -> float:
    """Return the median of some runs over all frames."""
    events = sum(len(frame) for pushed in arrivals.values() for frame in pushed)
    taken = []
    for _ in range(runs):
        join = make()
        start = time.process_time()
        for in_turn in zip(*arrivals.values(), strict=True):
            for name, frame in zip(arrivals, in_turn, strict=True):
                join.push(name, frame)
        taken.append(time.process_time() - start)
    return statistics.median(taken) / events * 1e6


def exact_frames(seed: int, events: int, batch: int) -> list[Detections]:
    rng = np.random.default_rng(seed)
    detected_us = np.sort(rng.integers(0, events * SPACING_US, events))
    return [Detections(detected_us[first : first + batch], POINT) for first in range(0, events, batch)]


def row(batch: int, events: int, runs: int) -> list[float]:
    """Cost of the two-stream joins, of the clique of three and of at least 3 of 10."""
    delay_s = 2 + 2e-6 * batch * SPACING_US
    streams = [Stream(name, delay_s, 1) for name in "xyz"]
    three = {name: frames(batch, events, EXACT, 1, seed) for seed, name in enumerate("xyz")}
    two = {name: three[name] for name in "xy"}
    wide, narrow = Window(10 * SPACING_US / 2e6), Window(4 * SPACING_US / 2e6)
    pair, clique = ConstraintGraph.binary("x", "y", wide, 0.5), ConstraintGraph.clique("xyz", narrow, 0.5)
    names = [f"d{nth}" for nth in range(10)]
    ten = {name: exact_frames(seed, events // 5, batch) for seed, name in enumerate(names)}
    rare = ConstraintGraph.clique(names, Window(0.2 * SPACING_US / 1e6))
    exact = [Stream(name, delay_s, 0) for name in names]
    return [
        us_per_event(lambda: TimingJoin(streams[0], streams[1], wide, 0.5), two, runs),
        us_per_event(lambda: WindowJoin(pair, streams[:2]), two, runs),
        us_per_event(lambda: WindowJoin(clique, streams), three, runs),
        us_per_event(lambda: WindowJoin(rare, exact, at_least=3), ten, runs),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; CPU us per event")
    print("| batch | TimingJoin | WindowJoin of 2 | clique of 3 | at least 3 of 10 | events/s of those |")
    print("|---" * 6 + "|")
    for batch, events in ((100, 20_000), (1_000, 100_000), (10_000, 200_000)):
        cost = row(batch, events, arguments.runs)
        print(
            f"| {batch:,} | " + " | ".join(f"{each:.2f}" for each in cost) + f" | {1e6 / cost[-1]:,.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
