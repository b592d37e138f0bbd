"""The offsets tb - ta at which two events match: the satisfaction times of the papers, for any window.

Exactly what is computed: edges and window bounds are the floats as given, an offset of n microseconds is the
rational n / 10^6 s, and P is their exact probability, except that an atom within 1 ns of a bound lies on it (so that
0.1 + 0.2 is within a window of 0.3 s). Offsets whose P is below the threshold by rounding alone qualify.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, OffsetArray
from coincide.constraints.window import Window, checked_threshold, checked_window
from coincide.offsets.long_windows import greatest_offsets
from coincide.offsets.ranges import Ranges, joined
from coincide.offsets.short_windows import ShortWindowSearch
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs, checked_template

ELEMENTS_PER_SEARCH = 65_536  # bucket pairs times template pairs: pieces of their cdfs that stay in the cache


def satisfaction_offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> OffsetArray:
    """Offsets tb - ta at which P(lo <= Xb - Xa <= hi) >= threshold.

    Parameters
    ----------
    u, v : Histogram
        Templates of a and of b.
    window : Window
        Closed at both ends; may be shorter than the templates.
    threshold : float
        In (0, 1]; 1 means that every possible pair of times lies in the window.

    Returns
    -------
    ndarray of int64, shape (n, 2)
        Closed, disjoint intervals in microseconds, in order; n = 0 if no offset qualifies. Every offset inside
        has P >= threshold - 1e-12, every one outside P < threshold + 1e-12.

    Raises
    ------
    HistogramError, WindowError, ThresholdError
        Also where templates of hundreds of buckets waver about the threshold so often that it would take minutes.

    References
    ----------
    Definition 8 and Theorem 2 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    A template with a gap and a short window:

    >>> either = Histogram([0, 1, 9, 10], [0.5, 0, 0.5])
    >>> satisfaction_offsets(Histogram.point(), either, Window(1), 0.4)
    array([[-10200000,  -8800000],
           [ -1200000,    200000]])
    """
    only = np.zeros(1, dtype=np.int64)
    pairs = TemplatePairs([checked_template("u", u)], [checked_template("v", v)], only, only)
    ranges = offset_ranges(pairs, checked_window(window), checked_threshold(threshold))
    return np.column_stack((ranges.left, ranges.right))


def offset_ranges(pairs: TemplatePairs, window: Window, threshold: float | FloatArray) -> Ranges:
    """`satisfaction_offsets` of every pair, by (position of the pair, left); one threshold, or each pair's own."""
    threshold = np.broadcast_to(np.asarray(threshold, dtype=np.float64), len(pairs))
    least = -greatest_offsets(pairs.swapped(), -window.lo_s, threshold)
    greatest = greatest_offsets(pairs, window.hi_s, threshold)
    # in a window this long one end holds for certain wherever the other may fail
    is_long = window.hi_s - window.lo_s >= pairs.latest_s().high - pairs.earliest_s().high
    whole = Ranges(np.arange(len(pairs)), least, greatest).where(is_long & (least <= greatest))
    open_rows = np.flatnonzero(~is_long & (least <= greatest))
    if not len(open_rows):
        return whole
    return joined(whole, *_in_short_windows(pairs, open_rows, least, greatest, window, threshold)).in_order()


def _in_short_windows(
    pairs: TemplatePairs,
    open_rows: IndexArray,
    least: OffsetArray,
    greatest: OffsetArray,
    window: Window,
    threshold: FloatArray,
) -> Iterator[Ranges]:
    for block, u, v in pairs.take(open_rows).blocks(ELEMENTS_PER_SEARCH):
        rows = open_rows[block]
        ranges = ShortWindowSearch(u, v, window, threshold[rows]).offsets(least[rows], greatest[rows])
        yield Ranges(rows[ranges.pair], ranges.left, ranges.right)
