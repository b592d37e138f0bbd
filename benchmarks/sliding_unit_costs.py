"""Unit costs of the fusion job's coalescing on this machine, beside those that its choice of scheme goes by.

Run as ``python -m benchmarks.sliding_unit_costs``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

import numpy as np

from coincide import Equal
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.sliding.extents import EagerExtent, HeldReadings, LazyExtent
from coincide.sliding.measures import SlidingExtent
from coincide.sliding.readings import Readings, Ref
from coincide.sliding.rules import RunRule

READINGS, GROUPS, ROUNDS = 10_000, 10, 5
FOR_EVER_US = 1 << 60
Clock = Callable[[], float]
T = TypeVar("T")


def measure_sliding_costs(clock: Clock = time.process_time, readings: int = READINGS) -> SlidingCosts:
    """Return what operations on extents of so many readings take, in seconds: each the shortest of a few rounds."""
    ts = np.arange(readings)
    shuffled = np.random.default_rng(1).permutation(readings)
    apart, alike = _readings(ts, ts.astype(np.float64)), _readings(ts, np.zeros(readings))
    one = _readings(ts[:1], np.zeros(1))

    def each_s(make: Callable[[], T], work: Callable[[T], object]) -> float:
        return _shortest_s(clock, make, work) / readings

    def scan_s(make: Callable[[], SlidingExtent], held: Readings) -> float:
        return _shortest_s(clock, lambda: _filled(make, held), lambda extent: extent.scan())

    merge = each_s(_eager, lambda extent: extent.add(alike))
    scan_eager, scan_lazy = scan_s(_eager, one), scan_s(_lazy, one)
    read_s = scan_s(_lazy, alike)
    return SlidingCosts(
        insert_run=each_s(_eager, lambda extent: extent.add(apart)),
        merge=merge,
        drop=each_s(lambda: _filled(_eager, alike), lambda extent: extent.drop_before(FOR_EVER_US)),
        insert_late=max(0.0, each_s(_eager, lambda extent: extent.add(alike.where(shuffled))) - merge),
        scan_eager=scan_eager,
        read_run=max(0.0, scan_s(_eager, apart) - scan_eager) / readings,
        insert=each_s(_lazy, lambda extent: extent.add(alike)),
        scan_lazy=scan_lazy,
        read=max(0.0, read_s - scan_lazy) / readings,
        coalesce_run=max(0.0, scan_s(_lazy, apart) - read_s) / readings,
    )


def _eager() -> SlidingExtent:
    return EagerExtent(RunRule(hold_us=FOR_EVER_US, equivalence=Equal()))


def _lazy() -> SlidingExtent:
    return LazyExtent(RunRule(hold_us=FOR_EVER_US, equivalence=Equal()), HeldReadings())


def _filled(make: Callable[[], SlidingExtent], readings: Readings) -> SlidingExtent:
    """Return an extent that was scanned before, as it is at a slide; what came since is to be sorted in."""
    extent = make()
    extent.add(readings)
    extent.scan()
    extent.add(readings.where(np.arange(len(readings)) < 0))
    return extent


def _readings(ts: Int64Array, value: FloatArray) -> Readings:
    refs = np.fromiter((Ref("sensor", str(at), 0) for at in ts.tolist()), object, len(ts))
    return Readings(ts, ts % GROUPS, value, refs)


def _shortest_s(clock: Clock, make: Callable[[], T], work: Callable[[T], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        made = make()
        begun = clock()
        work(made)
        taken.append(clock() - begun)
    return min(taken)


def main() -> None:
    here = measure_sliding_costs()
    print(f"{'extent of ' + format(READINGS, ',') + ' readings':>26} {'us':>8} {'goes by':>8}")
    for field in fields(SlidingCosts):
        print(f"{field.name:>26} {1e6 * getattr(here, field.name):>8.3f} {1e6 * getattr(TYPICAL, field.name):>8.3f}")


if __name__ == "__main__":
    main()
