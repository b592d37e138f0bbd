"""Open segments: between which break points a short window's probability may cross its threshold.

P(o) = F(hi - o) - F(lo - o) is a parabola between neighbouring break points. With the break points of a template pair
in order, sums of sums of its bends give P at all of them, and each parabola's extremes, in one pass.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays import BoolArray, FloatArray, IndexArray
from coincide.knots import ULP, Knots, cdf_bends, greatest_s, spread_s
from coincide.ranges import Ranges
from coincide.template_columns import TemplateColumns
from coincide.window import Window

ELEMENTS_PER_STEP = 16_384  # break points times template pairs: arrays that stay in the processor's cache


def segment_doubt(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Bound on how far a segment's P is off, with a microsecond's change of it, shape (n,); infinite with atoms.

    K break points, bends of sum B, a spread T of break points and times of up to M: the bends' sums are off by K units
    in the last place of B, the sums of those by as many of B T and of B T^2, and each break point by some of M.
    """
    off = _level_slope(u, v, window) * _spread_s(u, v, window)
    in_a_microsecond = 1e-6 * np.minimum(u.density.max(axis=0), v.density.max(axis=0))
    doubt: FloatArray = np.where(u.has_atoms | v.has_atoms, np.inf, off + in_a_microsecond)
    return doubt


def open_segments(
    u: TemplateColumns,
    v: TemplateColumns,
    window: Window,
    enough: FloatArray,
    doubt: FloatArray,
    columns: IndexArray,
) -> tuple[Ranges, BoolArray]:
    """Return the segments in which P may cross `enough`, of the given columns, and whether P may turn inside each.

    Their ends are rounded to the nearest microsecond. Between and outside them P stays on one side of `enough`, a
    microsecond beyond their ends included.
    """
    step = max(1, ELEMENTS_PER_STEP // (2 * len(u.edges_s) * len(v.edges_s)))
    level_below = _level_slope(u, v, window)
    pair, left, right, turns = [columns[:0]], [columns[:0]], [columns[:0]], [np.empty(0, np.bool_)]
    for first in range(0, len(columns), step):
        at = columns[first : first + step]
        break_s, least, most, flattest = _segments(Knots.of(u.take(at), v.take(at)), window)
        nearly, surely = (enough - doubt)[at, None], (enough + doubt)[at, None]
        row, segment = np.nonzero((most >= nearly) & (least < surely))
        pair.append(at[row])
        left.append(np.rint(break_s[row, segment + 1] * -1e6).astype(np.int64))
        right.append(np.rint(break_s[row, segment] * -1e6).astype(np.int64))
        turns.append(flattest[row, segment] <= level_below[at[row]])
    return Ranges(np.concatenate(pair), np.concatenate(left), np.concatenate(right)), np.concatenate(turns)


def _level_slope(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Bound on how far a segment's slope is off, per s, shape (n,)."""
    breaks = 2 * len(u.edges_s) * len(v.edges_s)
    furthest_s = greatest_s(u, v) + max(abs(window.lo_s), abs(window.hi_s))
    off: FloatArray = ULP * 2 * cdf_bends(u, v) * (4 * breaks * _spread_s(u, v, window) + 8 * furthest_s)
    return off


def _spread_s(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Greatest break point less the least, shape (n,)."""
    return spread_s(u, v) + (window.hi_s - window.lo_s)


def _segments(knots: Knots, window: Window) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Break points -o in order, shape (n, m), and between neighbours, shape (n, m - 1), what P does.

    Its least, its greatest, and its least slope up or down, which is 0 where it turns.
    """
    knot_s, bend = knots.at_s.T, knots.bend.T
    break_s = np.concatenate((knot_s - window.hi_s, knot_s - window.lo_s), axis=1)
    order = np.argsort(break_s, axis=1)
    break_s = np.take_along_axis(break_s, order, axis=1)
    curvature = np.take_along_axis(np.concatenate((bend, -bend), axis=1), order, axis=1).cumsum(axis=1)[:, :-1]
    length_s = np.diff(break_s, axis=1)
    steepening = curvature * length_s
    slope_after = steepening.cumsum(axis=1)
    slope = slope_after - steepening
    rise = (slope + 0.5 * steepening) * length_s
    after = rise.cumsum(axis=1)
    before = after - rise
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turning = np.where(slope * slope_after < 0, before - 0.5 * slope * slope / curvature, before)
    least, most = np.minimum(before, after), np.maximum(before, after)
    flattest = np.where(slope * slope_after < 0, 0.0, np.minimum(np.abs(slope), np.abs(slope_after)))
    return break_s, np.minimum(least, turning), np.maximum(most, turning), flattest
