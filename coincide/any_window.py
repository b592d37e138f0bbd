"""Satisfaction offsets for windows shorter than the templates: the set may be empty or several intervals.

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

from coincide.arrays import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.crossings import close_in
from coincide.open_segments import open_segments, segment_doubt
from coincide.parabola import vertex_of
from coincide.probes import Probes
from coincide.ranges import Ranges, joined
from coincide.satisfaction_times import least_probabilities
from coincide.stable_order import stable_order_by
from coincide.template_columns import TemplateColumns
from coincide.window import Window
from coincide.window_probe import WindowProbe

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
