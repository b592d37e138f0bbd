"""Eager coalescing as readings arrive, with change records: one by one and in batches, in order and not.

Run as ``python -m benchmarks.coalescing_streaming``. Times are CPU microseconds a reading, the extent being full; the
best of several runs, since all of them do the same work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coincide import EagerCoalescing, WindowExtent
from coincide.arrays.kinds import Int64Array
from coincide.coalescing import RunChanges

EXTENTS, GROUPS, BATCH, RUNS = (1_000, 10_000, 100_000), (4, 54), 1_000, 3
SPACING_US, VALUES = 1_000, 3
ARRIVAL = {
    "in order": (0.0, 0.0),
    "mild": (0.1, 0.01),
    "heavy": (0.5, 0.5),
}  # share of late ones, by up to so many w


class Readings(NamedTuple):
    """Columns in order of arrival."""

    ts_us: Int64Array
    group: Int64Array
    value: Int64Array


def readings(count: int, w: int, groups: int, late: float, delay: float, seed: int = 1) -> Readings:
    """Return readings at random instants; a share of `late` ones arrives later, by up to `delay` extents."""
    random = np.random.default_rng(seed)
    ts = np.sort(random.integers(0, count * SPACING_US, count))
    behind = random.integers(0, max(1, int(delay * w * SPACING_US)), count)
    arrival = np.argsort(np.where(random.random(count) < late, ts + behind, ts), kind="stable")
    value = np.cumsum(random.random(count) < 0.2) % VALUES  # one reading in five brings another value
    return Readings(ts[arrival], random.integers(0, groups, count)[arrival], value[arrival])


def batches_us(w: int, groups: int, late: float, delay: float) -> float:
    """Return the time a reading in batches."""
    count = 40 * BATCH
    ts, group, value = readings(w + count, w, groups, late, delay)
    extent = EagerCoalescing(WindowExtent(size=w))
    extent.push(ts[:w], group[:w], value[:w])
    begun = time.process_time()
    for at in range(w, w + count, BATCH):
        part = slice(at, at + BATCH)
        extent.push(ts[part], group[part], value[part])
    return (time.process_time() - begun) / count * 1e6


def one_by_one_us(w: int, groups: int, late: float, delay: float) -> float:
    """Return the time a reading, each with its own changes."""
    count = 20_000
    columns = readings(w + count, w, groups, late, delay)
    arrivals = list(zip(*(column.tolist() for column in columns), range(w + count), strict=True))
    extent = EagerCoalescing(WindowExtent(size=w))
    for ts, group, value, ref in arrivals[:w]:
        extent.add(ts, group, value, ref, RunChanges())
    begun = time.process_time()
    for ts, group, value, ref in arrivals[w:]:
        extent.add(ts, group, value, ref, RunChanges())
    return (time.process_time() - begun) / count * 1e6


def main() -> None:
    ways: dict[str, Callable[[int, int, float, float], float]] = {
        "batches of 1k": batches_us,
        "one by one": one_by_one_us,
    }
    widths = " ".join(f"{'w = ' + format(w, ','):>12}" for w in EXTENTS)
    print(f"{'us a reading':>16} {'groups':>7} {'arrival':>9} {widths}")
    for way, measured in ways.items():
        for groups in GROUPS:
            for arrival, disorder in ARRIVAL.items():
                times = [min(measured(w, groups, *disorder) for _ in range(RUNS)) for w in EXTENTS]
                print(f"{way:>16} {groups:>7} {arrival:>9} " + " ".join(f"{us:12.2f}" for us in times), flush=True)


if __name__ == "__main__":
    main()
