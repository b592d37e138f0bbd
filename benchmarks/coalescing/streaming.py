"""Eager coalescing as readings arrive, with change records: one by one and in batches, in order and not.

The extent is full before the clock runs. A second table has the longest of some pushes into extents of up to a million
readings, which one frame has filled: neither what is late nor a change of form may touch all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.harness.declaration import Benchmark, Costs, Options, Table
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
PUSHES = 100
LATE_SHARE, MOST_LATE = 0.3, 0.5  # of the pushes, and of the extent


def longest_push_ms(held: int, groups: int, rows: int, late_share: float) -> float:
    """Return the longest of some pushes of so many rows into an extent that one frame has filled."""
    random = np.random.default_rng(1)
    ts = np.arange(held + PUSHES * rows) * SPACING_US
    value = np.cumsum(random.random(len(ts)) < 0.2) % VALUES
    eager, longest = EagerCoalescing(WindowExtent(size=held)), 0.0
    eager.push(ts[:held], ts[:held] // SPACING_US % groups, value[:held])
    for at in range(held, len(ts), rows):
        new = slice(at, at + rows)
        behind = random.integers(0, int(MOST_LATE * held) * SPACING_US, rows) * (random.random(rows) < late_share)
        begun = time.thread_time()
        eager.push(ts[new] - behind, random.integers(0, groups, rows), value[new])
        longest = max(longest, time.thread_time() - begun)
    return 1e3 * longest


def longest_pushes(options: Options) -> Iterator[Table]:
    """Yield the longest of pushes of one row and of a thousand, in order and with many that are late."""
    sizes = [
        (held, groups) for held in ([2_000] if options.quick else [10_000, 100_000, 1_000_000]) for groups in (1, 54)
    ]
    ways = [(rows, share) for rows in (1, BATCH) for share in (0.0, LATE_SHARE)]
    headings = ["held", "groups", *(f"{rows:,} a push, {share:.0%} late" for rows, share in ways)]
    rows = ([*size, *(round(longest_push_ms(*size, *way), 1) for way in ways)] for size in sizes)
    yield Table(headings, rows, "The longest push, ms")


TITLE = "eager coalescing of readings as they arrive, with changes"
BENCHMARKS = [Benchmark("coalescing_streaming", TITLE, [COSTS, longest_pushes])]
