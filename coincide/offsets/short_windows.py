"""Offsets of windows shorter than the templates: the set may be empty or several intervals.

P(o) = F(hi - o) - F(lo - o) is a parabola between neighbouring break points. With the break points of a template pair
in order, running sums give P at all of them and each parabola's extremes: few parabolas are left open
(`open_segments`). Where these sums are too coarse, or times are exact, ranges between break points are halved. Both
parts of P fall in o, so between offsets a < b P is at most F(hi - a) - F(lo - b) and at least F(hi - b) - F(lo - a).
That decides, or one parabola is left. The vertex of each open parabola is judged, and the crossings on either side are
closed in on. The result is a list of judged offsets: between neighbours with the same verdict every offset has that
verdict, and neighbours that differ lie one microsecond apart.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.constraints.window import Window
from coincide.offsets.bends import (
    ULP,
    CdfsAtEnds,
    DensityBends,
    greatest_s,
    length_s,
    total_bend,
    where_density_bends_s,
)
from coincide.offsets.long_windows import least_probabilities
from coincide.offsets.ranges import NONE_JUDGED, JudgedOffsets, Ranges, joined
from coincide.offsets.roots import close_in, vertex_of
from coincide.templates.template_columns import TemplateColumns

ELEMENTS_PER_STEP = 16_384  # break points times template pairs: arrays that stay in the processor's cache


def segment_doubt(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Bound on how far a segment's P is off, with a microsecond's change of it, shape (n,); infinite with atoms.

    With K break points within T of each other, bends of sum B and times of up to M, the bends' sums are off by K units
    in the last place of B. The sums of those are off by as many of B T and of B T^2, each break point by some of M.
    """
    off = _level_slope(u, v, window) * _break_range_s(u, v, window)
    in_a_microsecond = 1e-6 * np.minimum(u.density.max(axis=0), v.density.max(axis=0))
    return np.where(u.has_atoms | v.has_atoms, np.inf, off + in_a_microsecond)


def open_segments(
    u: TemplateColumns, v: TemplateColumns, window: Window, enough: FloatArray, doubt: FloatArray, columns: IndexArray
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
        break_s, least, most, flattest = _segments(DensityBends.of(u.take(at), v.take(at)), window)
        nearly, surely = (enough - doubt)[at, None], (enough + doubt)[at, None]
        row, segment = np.nonzero((most >= nearly) & (least < surely))
        pair.append(at[row])
        left.append(np.rint(break_s[row, segment + 1] * -1e6).astype(np.int64))
        right.append(np.rint(break_s[row, segment] * -1e6).astype(np.int64))
        turns.append(flattest[row, segment] <= level_below[at[row]])
    return Ranges(np.concatenate(pair), np.concatenate(left), np.concatenate(right)), np.concatenate(turns)


def highest_segments(
    u: TemplateColumns, v: TemplateColumns, window: Window, doubt: FloatArray, columns: IndexArray
) -> Ranges:
    """Return the segments in which P may be greatest, of the given columns, as `open_segments` does."""
    step = max(1, ELEMENTS_PER_STEP // (2 * len(u.edges_s) * len(v.edges_s)))
    found = [Ranges(columns[:0], columns[:0], columns[:0])]
    for first in range(0, len(columns), step):
        at = columns[first : first + step]
        break_s, _, most, _ = _segments(DensityBends.of(u.take(at), v.take(at)), window)
        row, segment = np.nonzero(most >= most.max(axis=1, keepdims=True) - 2 * doubt[at, None])
        left, right = (np.rint(break_s[row, segment + end] * -1e6).astype(np.int64) for end in (1, 0))
        found.append(Ranges(at[row], left, right))
    return joined(*found)


def _level_slope(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Bound on how far a segment's slope is off, per s, shape (n,)."""
    breaks = 2 * len(u.edges_s) * len(v.edges_s)
    furthest_s = greatest_s(u, v) + max(abs(window.lo_s), abs(window.hi_s))
    return ULP * 2 * total_bend(u, v) * (4 * breaks * _break_range_s(u, v, window) + 8 * furthest_s)


def _break_range_s(u: TemplateColumns, v: TemplateColumns, window: Window) -> FloatArray:
    """Greatest break point less the least, shape (n,)."""
    return length_s(u, v) + (window.hi_s - window.lo_s)


def _segments(bends: DensityBends, window: Window) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Break points -o in order, shape (n, m), and between neighbours P's least, its greatest and its least slope."""
    bend_s, bend = bends.at_s.T, bends.bend.T
    break_s = np.concatenate((bend_s - window.hi_s, bend_s - window.lo_s), axis=1)
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


# Three points that are off by e put the vertex of a parabola that varies by V between them so far off that it is at
# most 600 e^2 / V below the true one. P is off by twice the error of its cdfs: less than 1e-13 with V from here on.
FLAT = 1e-4
USEFUL_DOUBT = 1e-4  # of a segment's probability; beyond it the segments leave too much open
FLAT_PER_SQUARED_ERROR = 600 * 2**2 / 1e-13


class ShortWindowSearch:
    """The search for the qualifying offsets of one block of template pairs; it holds nothing that changes."""

    def __init__(self, u: TemplateColumns, v: TemplateColumns, window: Window, threshold: FloatArray) -> None:
        self._u, self._v, self._window = u, v, window
        self._enough = least_probabilities(threshold)
        self._cdfs = CdfsAtEnds(u, v, window, self._enough)

    def offsets(self, hull_lo: OffsetArray, hull_hi: OffsetArray) -> Ranges:
        """Return the intervals, in order of (pair, left); no offset outside `hull_lo` to `hull_hi` qualifies."""
        doubt = segment_doubt(self._u, self._v, self._window)
        live, is_summed = hull_lo <= hull_hi, doubt < USEFUL_DOUBT
        summed, halved = np.flatnonzero(live & is_summed), np.flatnonzero(live & ~is_summed)
        judged = [NONE_JUDGED]
        if len(summed):
            judged.append(self._judged_by_sums(summed, doubt, hull_lo, hull_hi))
        if len(halved):
            judged.append(self._judged_by_halving(halved, hull_lo, hull_hi))
        return self._settled(joined(*judged).in_order()).intervals()

    def _settled(self, judged: JudgedOffsets) -> JudgedOffsets:
        """Judge more, until neighbours that differ lie a microsecond apart.

        Within rounding of the threshold verdicts may alternate, and one of them may hide a crossing further on.
        """
        left, right = judged.brackets()
        while len(left.pair):
            judged = joined(judged, close_in(left, right, self._judge)).in_order()
            left, right = judged.brackets()
        return judged

    def _judge(self, pair: IndexArray, offset: OffsetArray) -> JudgedOffsets:
        return self._verdict(pair, offset, self._cdfs.at(pair, offset))

    def _verdict(self, pair: IndexArray, offset: OffsetArray, cdfs: FloatArray) -> JudgedOffsets:
        return JudgedOffsets(pair, offset, cdfs[0] - cdfs[1] - self._enough[pair])

    def _judged_by_sums(
        self, pairs: IndexArray, doubt: FloatArray, hull_lo: OffsetArray, hull_hi: OffsetArray
    ) -> JudgedOffsets:
        """Judge what sums over all break points of these pairs leave open, inside the hulls."""
        uncut, turns = open_segments(self._u, self._v, self._window, self._enough, doubt, pairs)
        pair = uncut.pair
        segments = Ranges(pair, np.maximum(uncut.left, hull_lo[pair]), np.minimum(uncut.right, hull_hi[pair]))
        has_ends, is_long = segments.left <= segments.right, segments.right - segments.left > 1
        ends = [self._judge(pair[has_ends], end[has_ends]) for end in (segments.left, segments.right)]
        straight, turning = segments.where(is_long & ~turns), segments.where(is_long & turns)
        # a break point lies half a microsecond off where P bends: the parabola begins and ends inside
        left, right = (self._judge(straight.pair, end) for end in (straight.left + 1, straight.right - 1))
        crossings = close_in(left, right, self._judge)
        return joined(*ends, left, right, crossings, self._judged_parabolas(turning))

    def _judged_by_halving(self, pairs: IndexArray, hull_lo: OffsetArray, hull_hi: OffsetArray) -> JudgedOffsets:
        """Judge break points of these pairs inside the hulls, and what they leave open."""
        ends = hull_lo[None, pairs], hull_hi[None, pairs]
        breaks = np.sort(np.concatenate((np.clip(self._breaks_us(pairs), *ends), *ends)), axis=0)
        undecided, judged = self._between_breaks(pairs, breaks)
        return joined(judged, self._judged_parabolas(undecided))

    def _breaks_us(self, pairs: IndexArray) -> OffsetArray:
        """Offsets at which P may bend or jump, to the nearest microsecond, shape (m, p)."""
        bends_s = where_density_bends_s(self._u.edges_s[:, pairs], self._v.edges_s[:, pairs])
        breaks_s = np.concatenate((self._window.lo_s - bends_s, self._window.hi_s - bends_s))
        return np.rint(breaks_s * 1e6).astype(np.int64)

    def _between_breaks(self, pairs: IndexArray, breaks: OffsetArray) -> tuple[Ranges, JudgedOffsets]:
        """Halve over the ranks of the break points, shape (m, p), in order, the ends of each pair's hull among them.

        Return the ranges between neighbours that are still undecided, and all that was judged.
        """
        nth = np.arange(len(pairs))
        ranks = Ranges(nth, np.zeros_like(nth), np.full_like(nth, len(breaks) - 1))
        at_left, at_right = (self._cdfs.at(pairs, breaks[end]) for end in (0, -1))
        judged = [self._verdict(pairs, breaks[0], at_left), self._verdict(pairs, breaks[-1], at_right)]
        leaves = [Ranges(pairs[:0], breaks[0, :0], breaks[0, :0])]
        while len(ranks):
            pair, left, right = pairs[ranks.pair], breaks[ranks.left, ranks.pair], breaks[ranks.right, ranks.pair]
            undecided = self._is_undecided(pair, at_left, at_right) & (right - left > 1)
            is_leaf = undecided & (ranks.right - ranks.left == 1)
            leaves.append(Ranges(pair[is_leaf], left[is_leaf], right[is_leaf]))
            split = undecided & ~is_leaf
            ranks, at_left, at_right = ranks.where(split), at_left[:, split], at_right[:, split]
            middle = (ranks.left + ranks.right) // 2
            pair, offset = pairs[ranks.pair], breaks[middle, ranks.pair]
            at_middle = self._cdfs.at(pair, offset)
            judged.append(self._verdict(pair, offset, at_middle))
            ranks = joined(Ranges(ranks.pair, ranks.left, middle), Ranges(ranks.pair, middle, ranks.right))
            at_left, at_right = np.hstack((at_left, at_middle)), np.hstack((at_middle, at_right))
        return joined(*leaves), joined(*judged)

    def _is_undecided(self, pair: IndexArray, at_left: FloatArray, at_right: FloatArray) -> BoolArray:
        most, least = at_left[0] - at_right[1], at_right[0] - at_left[1]
        doubt = 2 * self._cdfs.error[pair]
        enough = self._enough[pair]
        undecided: BoolArray = (most >= enough - doubt) & (least < enough + doubt)
        return undecided

    def _judged_parabolas(self, ranges: Ranges) -> JudgedOffsets:
        """Judge the vertex of each parabola between neighbouring break points, and close in on either side of it."""
        if not len(ranges):
            return NONE_JUDGED
        pair, first, last = ranges.pair, ranges.left + 1, ranges.right - 1  # see `_judged_by_sums`
        left, middle, right = (self._judge(pair, offset) for offset in (first, (first + last) // 2, last))
        varied = np.ptp((left.excess, middle.excess, right.excess), axis=0)
        flat = np.flatnonzero(varied < np.maximum(FLAT, FLAT_PER_SQUARED_ERROR * self._cdfs.error[pair] ** 2))
        if len(flat):
            left, middle, right = (self._judged_exactly(judged, flat) for judged in (left, middle, right))
        vertex = self._judge(pair, vertex_of(left, middle, right))
        following = self._judge(pair, np.minimum(vertex.offset + 1, last))
        crossings = close_in(joined(left, following), joined(vertex, right), self._judge)
        return joined(left, middle, right, vertex, following, crossings)

    def _judged_exactly(self, judged: JudgedOffsets, rows: IndexArray) -> JudgedOffsets:
        """Return the same with the excess at these rows to the last digits; its sign does not change."""
        pair, offset = judged.pair[rows], judged.offset[rows]
        excess = judged.excess.copy()
        excess[rows] = self._verdict(pair, offset, self._cdfs.exactly_at(pair, offset)).excess
        return JudgedOffsets(judged.pair, judged.offset, excess)
