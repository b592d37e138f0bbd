"""Offsets of windows shorter than the templates: the set may be empty or several intervals.

P(o) = F(hi - o) - F(lo - o) is a parabola between neighbouring break points. With the break points of a template pair
in order, sums of sums of its bends give P at all of them, and each parabola's extremes, in one pass.

P(o) = F(hi - o) - F(lo - o) is a parabola between neighbouring break points. Sums over all break points of a template
pair leave few of them open (`open_segments`). Where these sums are too coarse, or times are exact, ranges between break
points are halved: both parts fall in o, so between offsets a < b P is at most F(hi - a) - F(lo - b) and at least
F(hi - b) - F(lo - a), until that decides or one parabola is left. Of each parabola left open the vertex is probed and
the crossings on either side are closed in on. What remains is a list of probed offsets such that neighbours with the
same verdict have only that verdict between them, and neighbours that differ lie one microsecond apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.arrays.order import stable_order_by
from coincide.constraints.window import Window
from coincide.offsets.bends import ULP, Knots, WindowProbe, cdf_bends, greatest_s, spread_s
from coincide.offsets.long_windows import least_probabilities
from coincide.offsets.ranges import Probes, Ranges, joined
from coincide.offsets.roots import close_in, vertex_of
from coincide.templates.template_columns import TemplateColumns

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


# Three points that are off by e put the vertex of a parabola that varies by V between them so far off that it is at
# most 600 e^2 / V below the true one. P is off by twice the error of a probe: less than 1e-13 with V from here on.
FLAT = 1e-4
USEFUL_DOUBT = 1e-4  # of a segment's probability; beyond it the segments leave too much open
FLAT_PER_SQUARED_ERROR = 600 * 2**2 / 1e-13


@dataclass
class AnyWindowSearch:
    """The qualifying offsets of one block of template pairs, inside the hulls that the one-sided search gave."""

    u: TemplateColumns
    v: TemplateColumns
    window: Window
    threshold: FloatArray  # of each column
    _probed_pair: list[IndexArray] = field(default_factory=list)
    _probed_offset: list[OffsetArray] = field(default_factory=list)
    _probed_excess: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._enough = least_probabilities(self.threshold)
        self._probe = WindowProbe(self.u, self.v, self.window, self._enough)

    def run(self, hull_lo: OffsetArray, hull_hi: OffsetArray) -> Ranges:
        """Find the intervals.

        Parameters
        ----------
        hull_lo, hull_hi : ndarray of int64, shape (n,)
            No offset outside qualifies; lo > hi where none does.

        Returns
        -------
        Ranges
            In order of (pair, left).
        """
        live, doubt = hull_lo <= hull_hi, segment_doubt(self.u, self.v, self.window)
        is_summed = doubt < USEFUL_DOUBT
        self._search_segments(np.flatnonzero(live & is_summed), doubt, hull_lo, hull_hi)
        halved = np.flatnonzero(live & ~is_summed)
        breaks = np.clip(self._breaks_us(halved), hull_lo[halved], hull_hi[halved])
        knots = np.sort(np.concatenate((breaks, hull_lo[None, halved], hull_hi[None, halved])), axis=0)
        close_in(*self._split_at_vertices(self._between_breaks(halved, knots)), self._excess)
        return self._settled().intervals()

    def _search_segments(
        self, pairs: IndexArray, doubt: FloatArray, hull_lo: OffsetArray, hull_hi: OffsetArray
    ) -> None:
        """Probe what sums over all break points of these pairs leave open."""
        segments, turns = open_segments(self.u, self.v, self.window, self._enough, doubt, pairs)
        segments, is_long = self._inside(segments, hull_lo, hull_hi)
        close_in(*self._pieces(segments.where(is_long & ~turns)), self._excess)
        close_in(*self._split_at_vertices(segments.where(is_long & turns)), self._excess)

    def _settled(self) -> Probes:
        """Return all probes, once neighbours that differ lie a microsecond apart.

        Within rounding of the threshold verdicts may alternate, and one of them may hide a crossing further on.
        """
        probes = self._probes_in_order()
        while len(gap := probes.changes_apart()):
            apart = Ranges(probes.pair[gap], probes.offset[gap], probes.offset[gap + 1])
            close_in(apart, probes.excess[gap], probes.excess[gap + 1], self._excess)
            probes = self._probes_in_order()
        return probes

    def _probe_at(self, pair: IndexArray, offset: OffsetArray) -> tuple[FloatArray, FloatArray]:
        """Return F(hi - o) and F(lo - o) and note by how much P exceeds what it must reach."""
        up_to_hi, before_lo = self._probe.at(pair, offset)
        self._probed_pair.append(pair)
        self._probed_offset.append(offset)
        self._probed_excess.append(up_to_hi - before_lo - self._enough[pair])
        return up_to_hi, before_lo

    def _excess(self, pair: IndexArray, offset: OffsetArray) -> FloatArray:
        self._probe_at(pair, offset)
        return self._probed_excess[-1]

    def _inside(self, segments: Ranges, hull_lo: OffsetArray, hull_hi: OffsetArray) -> tuple[Ranges, BoolArray]:
        """Cut the segments to the hulls, probe their ends, and tell which have anything between them."""
        pair = segments.pair
        cut = Ranges(pair, np.maximum(segments.left, hull_lo[pair]), np.minimum(segments.right, hull_hi[pair]))
        has_ends = cut.left <= cut.right
        for ends in (cut.left, cut.right):
            self._probe_at(pair[has_ends], ends[has_ends])
        return cut, cut.right - cut.left > 1

    def _pieces(self, ranges: Ranges) -> tuple[Ranges, FloatArray, FloatArray]:
        """Return the ranges between their ends, for a break point lies half a microsecond off its knot; P there."""
        inner = Ranges(ranges.pair, ranges.left + 1, ranges.right - 1)
        return inner, self._excess(inner.pair, inner.left), self._excess(inner.pair, inner.right)

    def _breaks_us(self, pairs: IndexArray) -> OffsetArray:
        """Offsets at which P may bend or jump, to the nearest microsecond, shape (m, p)."""
        corners_s = self.v.edges_s[None, :, pairs] - self.u.edges_s[:, None, pairs]
        corners_s = corners_s.reshape(len(self.u.edges_s) * len(self.v.edges_s), len(pairs))
        breaks_s = np.concatenate((self.window.lo_s - corners_s, self.window.hi_s - corners_s))
        breaks_us: OffsetArray = np.rint(breaks_s * 1e6).astype(np.int64)
        return breaks_us

    def _between_breaks(self, pairs: IndexArray, knots: OffsetArray) -> Ranges:
        """Halve over the ranks of the break points; return the ranges between neighbours still undecided.

        Parameters
        ----------
        pairs : ndarray of int64, shape (p,)
        knots : ndarray of int64, shape (m, p)
            Of each of these pairs, in order, the ends of its hull among them.
        """
        nth = np.arange(len(pairs))
        ranks = Ranges(nth, np.zeros_like(nth), np.full_like(nth, len(knots) - 1))
        at_left = self._probe_at(pairs, knots[0])
        at_right = self._probe_at(pairs, knots[-1])
        leaves = [ranks.where(np.zeros(len(nth), dtype=np.bool_))]
        while len(ranks):
            left, right = knots[ranks.left, ranks.pair], knots[ranks.right, ranks.pair]
            undecided = self._is_undecided(pairs[ranks.pair], at_left, at_right) & (right - left > 1)
            leaf = undecided & (ranks.right - ranks.left == 1)
            leaves.append(Ranges(pairs[ranks.pair[leaf]], left[leaf], right[leaf]))
            split = undecided & ~leaf
            ranks = ranks.where(split)
            at_left, at_right = _both(at_left, split), _both(at_right, split)
            middle = (ranks.left + ranks.right) // 2
            at_middle = self._probe_at(pairs[ranks.pair], knots[middle, ranks.pair])
            ranks = joined(Ranges(ranks.pair, ranks.left, middle), Ranges(ranks.pair, middle, ranks.right))
            at_left, at_right = _stacked(at_left, at_middle), _stacked(at_middle, at_right)
        return joined(*leaves)

    def _is_undecided(
        self, pair: IndexArray, at_left: tuple[FloatArray, FloatArray], at_right: tuple[FloatArray, FloatArray]
    ) -> BoolArray:
        most, least = at_left[0] - at_right[1], at_right[0] - at_left[1]
        doubt = 2 * self._probe.error[pair]
        enough = self._enough[pair]
        undecided: BoolArray = (most >= enough - doubt) & (least < enough + doubt)
        return undecided

    def _split_at_vertices(self, ranges: Ranges) -> tuple[Ranges, FloatArray, FloatArray]:
        """Return monotone pieces of the parabolas between neighbouring break points, and P at their ends."""
        pair, left, right = ranges.pair, ranges.left + 1, ranges.right - 1  # a break point lies half a us off its knot
        middle = (left + right) // 2
        at_left, at_middle, at_right = (self._excess(pair, offset) for offset in (left, middle, right))
        varied = np.ptp((at_left, at_middle, at_right), axis=0)
        flat = np.flatnonzero(varied < np.maximum(FLAT, FLAT_PER_SQUARED_ERROR * self._probe.error[pair] ** 2))
        for excess, offset in zip((at_left, at_middle, at_right), (left, middle, right), strict=True):
            excess[flat] = self._probe.excess_at(pair[flat], offset[flat])  # of the same sign as before
        vertex = vertex_of(left, middle, right, at_left, at_middle, at_right)
        following = np.minimum(vertex + 1, right)
        at_vertex, at_following = self._excess(pair, vertex), self._excess(pair, following)
        pieces = joined(Ranges(pair, left, vertex), Ranges(pair, following, right))
        return pieces, np.concatenate((at_left, at_following)), np.concatenate((at_vertex, at_right))

    def _probes_in_order(self) -> Probes:
        """Every offset probed so far, once, in order of (pair, offset)."""
        pair, offset = np.concatenate(self._probed_pair), np.concatenate(self._probed_offset)
        order = stable_order_by(pair, offset)
        repeated = (np.diff(pair[order], prepend=-1) == 0) & (np.diff(offset[order], prepend=0) == 0)
        order = order[~repeated]
        return Probes(pair[order], offset[order], np.concatenate(self._probed_excess)[order])


def _both(values: tuple[FloatArray, FloatArray], chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
    return values[0][chosen], values[1][chosen]


def _stacked(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return np.concatenate((first[0], second[0])), np.concatenate((first[1], second[1]))
