"""Eager coalescing as readings arrive, with change records: one by one and in batches, in order and not.

The extent is full before the clock runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.rounds import Stopwatch, Work
from coincide import EagerCoalescing, WindowExtent
from coincide.coalescing import RunChanges

BATCH = 1_000
SPACING_US, VALUES = 1_000, 3
ARRIVALS = {  # share of late readings, and by how many extents they are late at most
    "in order": (0.0, 0.0),
    "mild": (0.1, 0.01),
    "heavy": (0.5, 0.5),
}


class Size(NamedTuple):
    """An extent of so many readings of so many groups, and readings that are pushed into it."""

    groups: int
    arrival: str
    extent: int
    readings: int


def readings(size: Size, seed: int = 1) -> tuple[npt.NDArray[np.int64], ...]:
    """Return times, groups and values in the order of arrival: first a full extent, then those that count."""
    random, count = np.random.default_rng(seed), size.extent + size.readings
    late, delay = ARRIVALS[size.arrival]
    ts = np.sort(random.integers(0, count * SPACING_US, count))
    behind = random.integers(0, max(1, int(delay * size.extent * SPACING_US)), count)
    arrival = np.argsort(np.where(random.random(count) < late, ts + behind, ts), kind="stable")
    value = np.cumsum(random.random(count) < 0.2) % VALUES  # one reading in five brings another value
    return ts[arrival], random.integers(0, size.groups, count)[arrival], value[arrival]


def in_batches(size: Size) -> tuple[int, Work]:
    ts, group, value = readings(size)

    def work(watch: Stopwatch) -> None:
        extent = EagerCoalescing(WindowExtent(size=size.extent))
        extent.push(*(column[: size.extent] for column in (ts, group, value)))
        with watch:
            for at in range(size.extent, len(ts), BATCH):
                extent.push(*(column[at : at + BATCH] for column in (ts, group, value)))

    return size.readings, work


def one_by_one(size: Size) -> tuple[int, Work]:
    """Add readings, each with its own changes: half as many."""
    columns = readings(size._replace(readings=size.readings // 2))
    arriving = list(zip(*(column.tolist() for column in columns), range(len(columns[0])), strict=True))

    def work(watch: Stopwatch) -> None:
        extent = EagerCoalescing(WindowExtent(size=size.extent))
        for ts, group, value, ref in arriving[: size.extent]:
            extent.add(ts, group, value, ref, RunChanges())
        with watch:
            for ts, group, value, ref in arriving[size.extent :]:
                extent.add(ts, group, value, ref, RunChanges())

    return size.readings // 2, work


COSTS = Costs(
    item="a reading",
    ways=("batches of 1,000", "one by one"),
    sizes=[
        Size(groups, arrival, extent, 40_000)
        for groups in (4, 54)
        for arrival in ARRIVALS
        for extent in (1_000, 10_000, 100_000)
    ],
    quick=[Size(4, arrival, 1_000, 2_000) for arrival in ARRIVALS],
    works=lambda size: [in_batches(size), one_by_one(size)],
)
BENCHMARKS = [Benchmark("coalescing_streaming", "eager coalescing of readings as they arrive, with changes", [COSTS])]
