"""The offsets at which two events match where each two sensors have a window of their own.

In a window at least as long as both templates together only one end can fail. So a window that is longer by some
milliseconds has the same offsets, further apart by as much: they are searched for once for each two templates. Only
shorter windows, of sensors that are near each other, are searched one by one.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.window import Window
from coincide.offsets.ranges import Ranges, joined
from coincide.offsets.satisfying import offset_ranges
from coincide.templates.template_columns import TemplatePairs

MICROSECONDS_PER_MS = 1000


def distance_offset_ranges(pairs: TemplatePairs, half_width_ms: Int64Array, threshold: float) -> Ranges:
    """`offset_ranges` of pairs that each have a window of so many whole milliseconds either way, shape (n,)."""
    both = pairs.u_index * max(1, len(pairs.vs)) + pairs.v_index
    names = np.stack((both, half_width_ms))
    (_, distinct_ms), first, of_pair = np.unique(names, axis=1, return_index=True, return_inverse=True)
    distinct = pairs.take(first)
    long_ms = least_long_ms(distinct)
    is_long = distinct_ms >= long_ms
    parts = [_in_long_windows(distinct, np.flatnonzero(is_long), distinct_ms, long_ms, threshold)]
    for width_ms in np.unique(distinct_ms[~is_long]).tolist():
        rows = np.flatnonzero(~is_long & (distinct_ms == width_ms))
        parts.append(_named(offset_ranges(distinct.take(rows), Window(width_ms / 1000), threshold), rows))
    return _of_each(joined(*parts).in_order(), of_pair.reshape(-1), len(first))


def least_long_ms(pairs: TemplatePairs) -> Int64Array:
    """Half of the shortest window, in milliseconds, that is at least as long as both templates of each pair, (n,)."""
    length_s = pairs.latest_s().high - pairs.earliest_s().high
    least_ms: Int64Array = np.ceil(length_s * 1000 / 2).astype(np.int64) + 1
    return least_ms


def _in_long_windows(
    pairs: TemplatePairs, rows: Int64Array, width_ms: Int64Array, long_ms: Int64Array, threshold: float
) -> Ranges:
    """Search once for each two templates, in the shortest window that is long for all, and move the ends apart."""
    if not len(rows):
        return Ranges(rows, rows, rows)
    both = pairs.u_index[rows] * max(1, len(pairs.vs)) + pairs.v_index[rows]
    _, first, of_row = np.unique(both, return_index=True, return_inverse=True)
    shortest_ms = int(long_ms[rows].max())
    found = offset_ranges(pairs.take(rows[first]), Window(shortest_ms / 1000), threshold)
    left, right = found.hulls(len(first))
    has_any, further_us = (left <= right)[of_row], (width_ms[rows] - shortest_ms) * MICROSECONDS_PER_MS
    ranges = Ranges(rows, left[of_row] - further_us, right[of_row] + further_us)
    return ranges.where(has_any & (ranges.left <= ranges.right))


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
