"""Satisfaction offsets for windows shorter than the templates: the set may be empty or several intervals.

P(o) = F(hi - o) - F(lo - o) with both parts falling in o, so between offsets a < b it is at most
F(hi - a) - F(lo - b) and at least F(hi - b) - F(lo - a). Ranges between break points are halved until these bounds
decide; a range between neighbouring break points that they leave open is one parabola: its vertex is probed and the
crossings on either side are closed in on. What remains is a list of probed offsets such that neighbours with the
same verdict have only that verdict between them, and neighbours that differ lie one microsecond apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coincide.histogram import FloatArray
from coincide.parabola import root_of, vertex_of
from coincide.probes import Probes, order_of
from coincide.ranges import Ranges, joined
from coincide.satisfaction_times import BoolArray, OffsetArray, least_probabilities
from coincide.template_pairs import IndexArray
from coincide.trapezoids import TemplateColumns
from coincide.window import Window
from coincide.window_probe import WindowProbe

# Three points that are off by e put the vertex of a parabola that varies by V between them so far off that it is at
# most 600 e^2 / V below the true one. P is off by twice the error of a probe: less than 1e-13 with V from here on.
FLAT = 1e-4
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

    def run(self, breaks_us: OffsetArray, hull_lo: OffsetArray, hull_hi: OffsetArray) -> Ranges:
        """Find the intervals.

        Parameters
        ----------
        breaks_us : ndarray of int64, shape (m, n)
            Break points of each pair's P, rounded to the nearest microsecond, in any order.
        hull_lo, hull_hi : ndarray of int64, shape (n,)
            No offset outside qualifies; lo > hi where none does.

        Returns
        -------
        Ranges
            In order of (pair, left).
        """
        live = np.flatnonzero(hull_lo <= hull_hi)
        open_ranges = self._between_breaks(live, np.clip(breaks_us, hull_lo, hull_hi), hull_lo, hull_hi)
        self._close_in(*self._split_at_vertices(open_ranges))
        probes = self._probes_in_order()
        # within rounding of the threshold verdicts may alternate, and one of them may hide a crossing further on
        while len(gap := probes.changes_apart()):
            self._close_in(
                Ranges(probes.pair[gap], probes.offset[gap], probes.offset[gap + 1]),
                probes.excess[gap],
                probes.excess[gap + 1],
            )
            probes = self._probes_in_order()
        return probes.intervals()

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

    def _between_breaks(
        self, live: IndexArray, breaks: OffsetArray, hull_lo: OffsetArray, hull_hi: OffsetArray
    ) -> Ranges:
        """Halve over the ranks of the break points; return the ranges between neighbours still undecided."""
        knots = np.sort(np.concatenate((breaks, hull_lo[None], hull_hi[None])), axis=0)
        ranks = Ranges(live, np.zeros_like(live), np.full_like(live, len(knots) - 1))
        at_left = self._probe_at(live, knots[0, live])
        at_right = self._probe_at(live, knots[-1, live])
        leaves = [ranks.where(np.zeros(len(live), dtype=np.bool_))]
        while len(ranks):
            left, right = knots[ranks.left, ranks.pair], knots[ranks.right, ranks.pair]
            undecided = self._is_undecided(ranks.pair, at_left, at_right) & (right - left > 1)
            leaf = undecided & (ranks.right - ranks.left == 1)
            leaves.append(Ranges(ranks.pair[leaf], left[leaf], right[leaf]))
            split = undecided & ~leaf
            ranks = ranks.where(split)
            at_left, at_right = _both(at_left, split), _both(at_right, split)
            middle = (ranks.left + ranks.right) // 2
            at_middle = self._probe_at(ranks.pair, knots[middle, ranks.pair])
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

    def _close_in(self, ranges: Ranges, at_left: FloatArray, at_right: FloatArray) -> None:
        """Close in on the one crossing of each monotone range whose ends differ in verdict."""
        while True:
            crossing = ((at_left >= 0) != (at_right >= 0)) & (ranges.right - ranges.left > 1)
            if not crossing.any():
                return
            ranges, at_left, at_right = ranges.where(crossing), at_left[crossing], at_right[crossing]
            left, middle, right = ranges.left, (ranges.left + ranges.right) // 2, ranges.right
            at_middle = self._excess(ranges.pair, middle)
            root = root_of(left, middle, right, at_left, at_middle, at_right)
            bracket = _Bracket(ranges, at_left, at_right)
            bracket.narrow(middle, at_middle)
            for probe in (root, np.minimum(root + 1, right)):
                bracket.narrow(probe, self._excess(ranges.pair, probe))
            ranges, at_left, at_right = bracket.ranges, bracket.at_left, bracket.at_right

    def _probes_in_order(self) -> Probes:
        """Every offset probed so far, once, in order of (pair, offset)."""
        pair, offset = np.concatenate(self._probed_pair), np.concatenate(self._probed_offset)
        order = order_of(pair, offset)
        repeated = (np.diff(pair[order], prepend=-1) == 0) & (np.diff(offset[order], prepend=0) == 0)
        order = order[~repeated]
        return Probes(pair[order], offset[order], np.concatenate(self._probed_excess)[order])


def _both(values: tuple[FloatArray, FloatArray], chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
    return values[0][chosen], values[1][chosen]


def _stacked(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return np.concatenate((first[0], second[0])), np.concatenate((first[1], second[1]))


@dataclass
class _Bracket:
    """Ranges whose ends differ in verdict, narrowed from either side."""

    ranges: Ranges
    at_left: FloatArray
    at_right: FloatArray

    def narrow(self, probe: OffsetArray, at_probe: FloatArray) -> None:
        """Move the end that agrees with the probe there, where the probe lies inside."""
        pair, left, right = self.ranges.pair, self.ranges.left, self.ranges.right
        inside = (probe > left) & (probe < right)
        like_left = (at_probe >= 0) == (self.at_left >= 0)
        to_left, to_right = inside & like_left, inside & ~like_left
        self.ranges = Ranges(pair, np.where(to_left, probe, left), np.where(to_right, probe, right))
        self.at_left = np.where(to_left, at_probe, self.at_left)
        self.at_right = np.where(to_right, at_probe, self.at_right)
