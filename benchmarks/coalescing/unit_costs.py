"""What single operations of coalescing cost here: of the library's extents, and of the fusion job's.

The first are put beside the costs fitted to the paper's tables, the second beside those that the job's choice between
eager and lazy takes for granted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TypeVar

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Equal
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.coalescing import PAPER, UnitCosts, measure_costs
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.sliding.counts import SlidingExtent
from coincide.sliding.extents import EagerExtent, LazyExtent, SharedReadings
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

    def scan_s(make: Callable[[], SlidingExtent], content: Readings) -> float:
        return _shortest_s(clock, lambda: _filled(make, content), lambda extent: extent.scan())

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
    return LazyExtent(RunRule(hold_us=FOR_EVER_US, equivalence=Equal()), SharedReadings())


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


def of_the_library(options: Options) -> Iterator[Table]:
    """Yield the costs of extents of one group, in batches of 1,000, relative to an insertion and to a tuple."""
    here, rows = measure_costs(time.process_time, READINGS // (10 if options.quick else 1)), []
    for field in fields(UnitCosts):
        cost, fitted = getattr(here, field.name), getattr(PAPER, field.name)
        unit = (here.tuple_size, PAPER.tuple_size) if field.name.endswith("size") else (here.insert, PAPER.insert)
        rows.append([field.name, *(f"{each:.3f}" for each in (cost, cost / unit[0], fitted / unit[1]))])
    yield Table(("", "µs or bytes", "relative", "paper, relative"), rows)


def of_the_job(options: Options) -> Iterator[Table]:
    here = measure_sliding_costs(readings=READINGS // (10 if options.quick else 1))
    names = [field.name for field in fields(SlidingCosts)]
    rows = [[name, *(f"{1e6 * getattr(costs, name):.3f}" for costs in (here, TYPICAL))] for name in names]
    yield Table(("", "µs", "taken for granted, µs"), rows)


BENCHMARKS = [
    Benchmark("coalescing_unit_costs", "single operations of eager and lazy coalescing", [of_the_library]),
    Benchmark("sliding_unit_costs", "single operations of the fusion job's queries over readings", [of_the_job]),
]
