"""measure_costs: what coalescing costs on this machine, for the cost model."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.coalescing.costs.units import UnitCosts
from coincide.coalescing.streams.extent import WindowExtent
from coincide.coalescing.streams.reading_streams import EagerCoalescing, LazyCoalescing

Clock = Callable[[], float]
Coalescing = EagerCoalescing | LazyCoalescing
T = TypeVar("T")


def measure_costs(clock: Clock, w: int = 10_000, rounds: int = 5, rows_a_push: int = 1_000) -> UnitCosts:
    """Return what operations on extents of `w` tuples of one group take, in microseconds, and what is kept, in bytes.

    Each is the shortest of so many rounds; what is cheaper than the work it comes on top of counts as 0. Give what it
    returns to `scheme_costs` in place of `PAPER`. The clock returns seconds, such as ``time.process_time``. Readings
    come `rows_a_push` at once: one by one they cost more.

    Examples
    --------
    Here each piece of work takes a second:

    >>> from itertools import count
    >>> costs = measure_costs(count().__next__, w=20, rounds=1)
    >>> costs.insert, costs.insert_run
    (50000.0, 50000.0)
    """
    ts, apart, alike = 2 * np.arange(w), np.arange(w), np.zeros(w, np.int64)
    shuffled = np.random.default_rng(1).permutation(w)
    late = np.sort(shuffled[: w // 10])

    def push(extent: Coalescing, at: Int64Array, value: Int64Array) -> None:
        for begin in range(0, len(at), rows_a_push):
            extent.push(at[begin : begin + rows_a_push], value=value[begin : begin + rows_a_push])

    def push_us(coalescing: Callable[[], Coalescing], at: Int64Array, value: Int64Array) -> float:
        return 1e6 * shortest_s(clock, rounds, coalescing, lambda extent: push(extent, at, value)) / len(at)

    def scan_us(kind: type[Coalescing], value: Int64Array) -> float:
        return 1e6 * shortest_s(clock, rounds, lambda: filled(kind, value), lambda extent: extent.scan())

    def filled(kind: type[Coalescing], value: Int64Array, size: int = w) -> Coalescing:
        extent = kind(WindowExtent(size=size))
        push(extent, ts, value)
        return extent

    def roomy(kind: type[Coalescing], value: Int64Array) -> Callable[[], Coalescing]:
        return lambda: filled(kind, value, 2 * w)  # so that none leaves for those to come

    later = ts + 2 * w
    insert = push_us(roomy(LazyCoalescing, apart), later, apart + w)
    insert_run = push_us(roomy(EagerCoalescing, apart), later, apart + w)
    merge = push_us(roomy(EagerCoalescing, alike), later, alike)
    read = scan_us(LazyCoalescing, apart) / w
    read_run, read_one = scan_us(EagerCoalescing, apart) / w, scan_us(EagerCoalescing, alike)
    return UnitCosts(
        insert=insert,
        delete=_beyond(push_us(lambda: filled(LazyCoalescing, apart), later, apart + w), insert),
        insert_run=insert_run,
        delete_run=_beyond(push_us(lambda: filled(EagerCoalescing, apart), later, apart + w), insert_run),
        detach=_beyond(push_us(lambda: filled(EagerCoalescing, alike), later, alike), merge),
        merge=merge,
        merge_late=_beyond(push_us(roomy(EagerCoalescing, alike), ts[shuffled] + 1, alike), merge),
        split=_beyond(push_us(roomy(EagerCoalescing, alike), ts[late] + 1, apart[late] + 1), insert_run),
        read=read,
        read_run=read_run,
        read_timestamp=_beyond(read_one, read_run) / (w - 1),
        coalesce=_beyond(scan_us(LazyCoalescing, alike) / w, read),
        timestamp_size=_kept_bytes(lambda: filled(EagerCoalescing, alike)) / w,
        run_size=_kept_bytes(lambda: filled(EagerCoalescing, apart)) / w,
        tuple_size=_kept_bytes(lambda: filled(LazyCoalescing, apart)) / w,
    )


def _beyond(whole_us: float, part_us: float) -> float:
    return max(0.0, whole_us - part_us)


def shortest_s(clock: Clock, rounds: int, prepare: Callable[[], T], work: Callable[[T], object]) -> float:
    """Return the shortest time that a piece of work takes on what is prepared for it anew each round."""
    times = []
    for _ in range(rounds):
        prepared = prepare()
        begun = clock()
        work(prepared)
        times.append(clock() - begun)
    return min(times)


def _kept_bytes(make: Callable[[], Coalescing]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        extent = make()
        kept = tracemalloc.get_traced_memory()[0] - before
        del extent
        return kept
    finally:
        tracemalloc.stop()
