"""Which rows of a frame come too late for an extent: judged one by one, each when those before it have arrived."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from coincide.arrays import Int64Array

NOTHING_YET = -(1 << 62)  # before any time


def behind_time_scope(ts_us: Int64Array, latest_us: int, duration_us: int) -> Int64Array:
    """Return by how much each row lies before [latest - T, latest] when it arrives; 0 or less where it does not.

    Parameters
    ----------
    ts_us : ndarray of int64, shape (n,)
        In order of arrival.
    latest_us : int
        The latest that arrived before; `NOTHING_YET` if none did.

    Examples
    --------
    >>> behind_time_scope(np.array([10, 30, 15]), NOTHING_YET, duration_us=10).tolist()
    [-10, -10, 5]
    """
    latest: Int64Array = np.maximum(np.maximum.accumulate(ts_us), latest_us)
    return latest - duration_us - ts_us


def behind_tuple_scope(
    rows: Iterable[tuple[int, Any, bool]], left: list[Any], oldest: Any, free: int
) -> list[tuple[int, int]]:
    """Return (row, by how much it is too late) of those that find all w places taken by later ones.

    Parameters
    ----------
    rows : iterable of (row, key, is_new)
        In order of arrival; a key that is there already is not new. Keys begin with the ts.
    left : list of keys
        Those that were in the extent before, and are not after.
    oldest : key
        The oldest that is in the extent after all rows: what comes before it has left, or never was there.
    free : int
        How many places were free before.

    Examples
    --------
    >>> behind_tuple_scope([(0, (30,), True), (1, (15,), True)], left=[(10,)], oldest=(20,), free=0)
    [(1, 5)]
    """
    late = []
    leaving = list(left)
    heapify(leaving)
    for row, key, is_new in rows:
        if not free and key < (leaving[0] if leaving else oldest):
            late.append((row, (leaving[0] if leaving else oldest)[0] - key[0]))
            continue
        if not is_new:
            continue
        if key < oldest:
            heappush(leaving, key)
        if free:
            free -= 1
        else:
            heappop(leaving)
    return late
