"""measure_costs: what coalescing costs on this machine, for the cost model."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from coincide.arrays import Int64Array
from coincide.coalescing.eager import EagerCoalescing
from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.lazy import LazyCoalescing
from coincide.coalescing.unit_costs import UnitCosts

Clock = Callable[[], float]
Coalescing = EagerCoalescing | LazyCoalescing


def measure_costs(clock: Clock, w: int = 10_000, rounds: int = 5, rows_a_push: int = 1_000) -> UnitCosts:
    """Return what operations on extents of `w` tuples of one group take, in microseconds, and what is kept, in bytes.

    Each is the shortest of so many rounds; what is cheaper than the work it comes on top of counts as 0. Give what it
    returns to `scheme_costs` in place of `PAPER`.

    Parameters
    ----------
    clock : callable
        Returns seconds, such as ``time.process_time``; the library has no clock of its own.
    w : int
        Tuples in the window, as in the queries to be chosen for.
    rounds : int
        How often each operation is timed.
    rows_a_push : int
        How many readings come in a frame: one by one they cost more.

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
        return _shortest_us(clock, rounds, coalescing, lambda extent: push(extent, at, value)) / len(at)

    def scan_us(kind: type[Coalescing], value: Int64Array) -> float:
        return _shortest_us(clock, rounds, lambda: filled(kind, ts, value), lambda extent: extent.scan())

    def filled(kind: type[Coalescing], at: Int64Array, value: Int64Array) -> Coalescing:
        extent = kind(WindowExtent(size=w))
        extent.push(at, value=value)
        return extent

    empty = lambda: EagerCoalescing(WindowExtent(size=w))  # noqa: E731
    insert = push_us(lambda: LazyCoalescing(WindowExtent(size=w)), ts, apart)
    insert_run, merge = push_us(empty, ts, apart), push_us(empty, ts, alike)
    after = ts + 2 * w
    read = scan_us(LazyCoalescing, apart) / w
    read_run, read_one = scan_us(EagerCoalescing, apart) / w, scan_us(EagerCoalescing, alike)
    return UnitCosts(
        insert=insert,
        delete=_beyond(push_us(lambda: filled(LazyCoalescing, ts, apart), after, apart + w), insert),
        insert_run=insert_run,
        delete_run=_beyond(push_us(lambda: filled(EagerCoalescing, ts, apart), after, apart + w), insert_run),
        detach=_beyond(push_us(lambda: filled(EagerCoalescing, ts, alike), after, alike), merge),
        merge=merge,
        merge_late=_beyond(push_us(empty, ts[shuffled], alike), merge),
        split=_beyond(push_us(lambda: _with_room(w, ts, alike), ts[late] + 1, apart[late] + 1), insert_run),
        read=read,
        read_run=read_run,
        read_timestamp=_beyond(read_one, read_run) / (w - 1),
        coalesce=_beyond(scan_us(LazyCoalescing, alike) / w, read),
        timestamp_size=_kept_bytes(lambda: filled(EagerCoalescing, ts, alike)) / w,
        run_size=_kept_bytes(lambda: filled(EagerCoalescing, ts, apart)) / w,
        tuple_size=_kept_bytes(lambda: filled(LazyCoalescing, ts, apart)) / w,
    )


def _with_room(w: int, ts: Int64Array, value: Int64Array) -> Coalescing:
    """Return an eager extent that keeps its w tuples when others come late between them."""
    extent = EagerCoalescing(WindowExtent(size=2 * w))
    extent.push(ts, value=value)
    return extent


def _beyond(whole_us: float, part_us: float) -> float:
    return max(0.0, whole_us - part_us)


def _shortest_us(
    clock: Clock, rounds: int, prepare: Callable[[], Coalescing], work: Callable[[Coalescing], Any]
) -> float:
    taken = []
    for _ in range(rounds):
        prepared = prepare()
        begun = clock()
        work(prepared)
        taken.append(clock() - begun)
    return min(taken) * 1e6


def _kept_bytes(make: Callable[[], Coalescing]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = make()
        kept = tracemalloc.get_traced_memory()[0] - before
        del held
        return kept
    finally:
        tracemalloc.stop()
