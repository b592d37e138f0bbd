"""measure_sliding_costs: what operations on sliding extents cost on this machine, for the choice of schemes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.coalescing.costs.measuring import Clock, shortest_s
from coincide.coalescing.equivalences import Equal
from coincide.sliding.choice import SlidingCosts
from coincide.sliding.counts import SlidingExtent
from coincide.sliding.extents import EagerExtent, LazyExtent, SharedReadings
from coincide.sliding.readings import Readings
from coincide.sliding.rules import RunRule

READINGS, GROUPS, ROUNDS = 2_000, 10, 3  # a tenth of a second of work in all
FOR_EVER_US = 1 << 60
T = TypeVar("T")


def measure_sliding_costs(clock: Clock, readings: int = READINGS, rounds: int = ROUNDS) -> SlidingCosts:
    """Return what operations on extents of so many readings take, in seconds: each the shortest of a few rounds.

    The clock returns seconds, such as ``time.process_time``. What is cheaper than the work that it comes on top of
    counts as 0. The work is the same every time, so it has a bound: ten operations, `rounds` times each, on extents of
    `readings`. With those left out it takes about a tenth of a second.

    Examples
    --------
    Here each piece of work takes a second:

    >>> from itertools import count
    >>> costs = measure_sliding_costs(count().__next__, readings=20)
    >>> costs.merge, costs.scan_lazy
    (0.05, 1)
    """
    ts = np.arange(readings)
    shuffled = np.random.default_rng(1).permutation(readings)
    apart, alike = _readings(ts, ts.astype(np.float64)), _readings(ts, np.zeros(readings))
    one = _readings(ts[:1], np.zeros(1))

    def each_s(make: Callable[[], T], work: Callable[[T], object]) -> float:
        return shortest_s(clock, rounds, make, work) / readings

    def scan_s(make: Callable[[], SlidingExtent], content: Readings) -> float:
        return shortest_s(clock, rounds, lambda: _filled(make, content), lambda extent: extent.scan())

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
    refs = np.fromiter((("sensor", str(at), 0) for at in ts.tolist()), object, len(ts))
    return Readings(ts, ts % GROUPS, value, refs)
