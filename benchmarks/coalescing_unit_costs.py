"""Unit costs of eager and lazy coalescing on this machine, beside those fitted to the paper's tables.

Run as ``python -m benchmarks.coalescing_unit_costs``. Readings come in frames; all are of one group.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from coincide.arrays import Int64Array
from coincide.coalescing import EagerCoalescing, LazyCoalescing, WindowExtent
from coincide.coalescing.unit_costs import PAPER, UnitCosts

W, ROUNDS = 10_000, 5
Clock = Callable[[], float]
Coalescing = EagerCoalescing | LazyCoalescing


def measure_costs(clock: Clock = time.process_time, w: int = W, rounds: int = ROUNDS) -> UnitCosts:
    """Return what operations on extents of `w` tuples take, in microseconds, and what is kept, in bytes.

    Each is the shortest of so many rounds; what is cheaper than the work it comes on top of counts as 0.
    """
    ts, apart, alike = 2 * np.arange(w), np.arange(w), np.zeros(w, np.int64)
    shuffled = np.random.default_rng(1).permutation(w)
    late = np.sort(shuffled[: w // 10])

    def push_us(coalescing: Callable[[], Coalescing], at: Int64Array, value: Int64Array) -> float:
        return _shortest_us(clock, rounds, coalescing, lambda extent: extent.push(at, value=value)) / len(at)

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


def main() -> None:
    here = measure_costs()
    print(f"{'extent of ' + format(W, ',') + ' tuples':>24} {'us, bytes':>10} {'/ insert':>9} {'paper':>9}")
    for field in fields(UnitCosts):
        cost, fitted = getattr(here, field.name), getattr(PAPER, field.name)
        unit = (here.tuple_size, PAPER.tuple_size) if field.name.endswith("size") else (here.insert, PAPER.insert)
        print(f"{field.name:>24} {cost:10.3f} {cost / unit[0]:9.3f} {fitted / unit[1]:9.3f}")


if __name__ == "__main__":
    main()
