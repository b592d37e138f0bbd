"""The offsets at which two events match where each two sensors have a window of their own.

In a window at least as long as both templates together only one end can fail. So a window that is longer by some
milliseconds has the same offsets, further apart by as much: they are searched for once for each two templates. Only
shorter windows, of sensors that are near each other, are searched one by one.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.constraints.window import Window
from coincide.offsets.long_windows import greatest_offsets
from coincide.offsets.ranges import Ranges, joined
from coincide.offsets.satisfying import offset_ranges
from coincide.templates.template_columns import TemplatePairs

MICROSECONDS_PER_MS = 1000


def distance_offset_ranges(pairs: TemplatePairs, half_width_ms: Int64Array, threshold: float | FloatArray) -> Ranges:
    """`offset_ranges` of pairs that each have a window of so many whole milliseconds either way, shape (n,).

    The threshold is one, or each pair's own.
    """
    wanted = np.broadcast_to(np.asarray(threshold, np.float64), len(pairs))
    names = np.stack((pairs.u_index, pairs.v_index, half_width_ms, wanted))
    _, first, of_pair = np.unique(names, axis=1, return_index=True, return_inverse=True)
    distinct, distinct_ms, least = pairs.take(first), half_width_ms[first], wanted[first]
    long_ms = least_long_ms(distinct)
    is_long = distinct_ms >= long_ms
    parts = [_in_long_windows(distinct, np.flatnonzero(is_long), distinct_ms, long_ms, least)]
    for width_ms in np.unique(distinct_ms[~is_long]).tolist():
        rows = np.flatnonzero(~is_long & (distinct_ms == width_ms))
        parts.append(_named(offset_ranges(distinct.take(rows), Window(width_ms / 1000), least[rows]), rows))
    return _of_each(joined(*parts).in_order(), of_pair.reshape(-1), len(first))


def least_long_ms(pairs: TemplatePairs) -> Int64Array:
    """Half of the shortest window, in milliseconds, that is at least as long as both templates of each pair, (n,)."""
    length_s = pairs.latest_s().high - pairs.earliest_s().high
    least_ms: Int64Array = np.ceil(length_s * 1000 / 2).astype(np.int64) + 1
    return least_ms


def _in_long_windows(
    pairs: TemplatePairs, rows: Int64Array, width_ms: Int64Array, long_ms: Int64Array, threshold: FloatArray
) -> Ranges:
    """Search once for each two templates and threshold, in the shortest long window, and move the ends apart."""
    names = np.stack((pairs.u_index[rows], pairs.v_index[rows], threshold[rows]))
    _, first, of_row = np.unique(names, axis=1, return_index=True, return_inverse=True)
    once, end_s, least = pairs.take(rows[first]), long_ms[rows[first]] / 1000, threshold[rows[first]]
    left, right = -greatest_offsets(once.swapped(), end_s, least), greatest_offsets(once, end_s, least)
    of_row, further_us = of_row.ravel(), (width_ms[rows] - long_ms[rows]) * MICROSECONDS_PER_MS
    has_any = (left <= right)[of_row]
    return Ranges(rows, left[of_row] - further_us, right[of_row] + further_us).where(has_any)


def _named(ranges: Ranges, rows: Int64Array) -> Ranges:
    return Ranges(rows[ranges.pair], ranges.left, ranges.right)


def _of_each(ranges: Ranges, of_pair: Int64Array, distinct: int) -> Ranges:
    """Repeat the ranges, in order, of distinct pairs for every pair that is like one of them."""
    counts = np.bincount(ranges.pair, minlength=distinct)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    own = counts[of_pair]
    pair = np.repeat(np.arange(len(of_pair)), own)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(own) - own, own)
    at = starts[of_pair[pair]] + nth
    return Ranges(pair, ranges.left[at], ranges.right[at])
