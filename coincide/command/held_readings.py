"""How long readings hold, where of several at one time that with the smallest id counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coincide.arrays import BoolArray, Int64Array
from coincide.coalescing import NEVER_US, validity
from coincide.coalescing.columns import time_order
from coincide.command.groups import text_ranks


def held_readings(ts_us: Int64Array, codes: Int64Array, ids: pa.Array | None, hold_us: int | None) -> Int64Array:
    """Return when each reading ends, int64 (n,); `NEVER_US` where another of its group and time counts.

    That is the one with the smallest id by its text, as all formats have one, and of equal ones the first row.
    """
    end_us = validity(ts_us, codes, hold_us)[1]
    if ids is None or not np.any(end_us == NEVER_US):
        return end_us
    counts = _smallest_ids(ts_us, codes, ids)
    end_us = np.full(len(ts_us), NEVER_US)
    end_us[counts] = validity(ts_us[counts], codes[counts], hold_us)[1]
    return end_us


def _smallest_ids(ts_us: Int64Array, codes: Int64Array, ids: pa.Array) -> BoolArray:
    """Return which readings count, bool (n,)."""
    order = np.arange(len(ts_us))[time_order(codes, ts_us)]
    same = (np.diff(codes[order]) == 0) & (np.diff(ts_us[order]) == 0)
    tied = np.append(same, False) | np.append(False, same)
    rows, begins = order[tied], ~np.append(False, same)[tied]
    by_id = np.lexsort((text_ranks(ids.take(pa.array(rows)))[0], np.cumsum(begins)))
    counts = np.ones(len(ts_us), np.bool_)
    counts[rows] = False
    counts[rows[by_id[begins]]] = True
    return counts
