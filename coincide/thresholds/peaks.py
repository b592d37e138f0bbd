"""Peaks: the most that the probability of a match can be, whatever the two reported times, and where it is so.

P(o) = F(hi - o) - F(lo - o) is a parabola between neighbouring break points. Running sums over these tell, but for
rounding, in which parabolas P may be greatest. Where the sums are too coarse, or times are exact, ranges between break
points are halved. Both parts of P fall in o, so between offsets a < b P is at most F(hi - a) - F(lo - b), and a range
is left once that is no more than the greatest P found. Of the parabolas that remain the ends and the vertex are looked
at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, OffsetArray
from coincide.constraints.window import Window, checked_window
from coincide.offsets.bends import CdfsAtEnds, where_density_bends_s
from coincide.offsets.long_windows import PROBABILITY_TOLERANCE, greatest_offsets
from coincide.offsets.ranges import JudgedOffsets, Ranges, joined
from coincide.offsets.roots import vertex_of
from coincide.offsets.short_windows import USEFUL_DOUBT, highest_segments, segment_doubt
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplateColumns, TemplatePairs, checked_template

ELEMENTS_PER_SEARCH = 65_536  # bucket pairs times template pairs
ROUNDING = 1e-14  # of a probability: on a plateau the first offset that was looked at stays


@dataclass(frozen=True)
class Attainable:
    """The greatest probability over all offsets tb - ta, and one offset in whole microseconds that has it."""

    probability: float
    offset_us: int


def attainable(u: Histogram, v: Histogram, window: Window) -> Attainable:
    """Return the most that P(lo <= Xb - Xa <= hi) can be, whatever the reported times of a and b.

    A threshold above it is out of reach: no two such detections ever match.

    Parameters
    ----------
    u, v : Histogram
        Templates of a and of b.
    window : Window
        Closed at both ends; a deadline or a delay can always be met.

    Returns
    -------
    Attainable
        The greatest P over the offsets tb - ta in whole microseconds, less 1e-12 at most, and an offset that has it.
        Where P is 1 that is the one nearest to 0.

    Raises
    ------
    HistogramError, WindowError
        Also where templates of hundreds of buckets would take minutes.

    Examples
    --------
    The first neutrinos of 1987 at IMB and at Baksan, whose clock was up to 54 s late, within 10 s:

    >>> most = attainable(Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2), Window(10))
    >>> round(most.probability, 4)
    0.3571
    >>> attainable(Histogram.uniform(-1, 1), Histogram.uniform(-1, 1), Window(5))
    Attainable(probability=1.0, offset_us=0)
    """
    only = np.zeros(1, dtype=np.int64)
    pairs = TemplatePairs([checked_template("u", u)], [checked_template("v", v)], only, only)
    [probability], [offset_us] = attainable_of_pairs(pairs, checked_window(window))
    return Attainable(float(probability), int(offset_us))


def attainable_of_pairs(pairs: TemplatePairs, window: Window) -> tuple[FloatArray, OffsetArray]:
    """`attainable` of every pair: probabilities and offsets in microseconds, each of shape (n,)."""
    certain = np.ones(len(pairs))
    least = -greatest_offsets(pairs.swapped(), -window.lo_s, certain)
    greatest = greatest_offsets(pairs, window.hi_s, certain)
    probability, offset_us = certain, np.clip(0, least, np.maximum(least, greatest))
    rows = np.flatnonzero(least > greatest)  # no offset makes it certain
    for block, u, v in pairs.take(rows).blocks(ELEMENTS_PER_SEARCH):
        search = _PeakSearch(u, v, window, pairs.take(rows[block]))
        probability[rows[block]], offset_us[rows[block]] = search.run()
    return np.clip(probability, 0.0, 1.0), offset_us


class _PeakSearch:
    """The greatest P of each of one block's template pairs as far as it is known, and what may still exceed it."""

    def __init__(self, u: TemplateColumns, v: TemplateColumns, window: Window, pairs: TemplatePairs) -> None:
        self._u, self._v, self._window = u, v, window
        self._cdfs = CdfsAtEnds(u, v, window, np.zeros(len(u)))
        self._every = np.arange(len(u))
        middle_s = (window.lo_s + window.hi_s) / 2
        ends_s = pairs.earliest_s().high + pairs.latest_s().high
        self._guesses_s = (middle_s - pairs.mean_s(), middle_s - ends_s / 2)
        self.probability = np.full(len(u), -1.0)
        self.offset_us = np.zeros(len(u), np.int64)

    def run(self) -> tuple[FloatArray, OffsetArray]:
        """Return the greatest P of each pair, and where it is."""
        for guess_s in self._guesses_s:
            self._look(self._every, np.rint(guess_s * 1e6).astype(np.int64))
        doubt = segment_doubt(self._u, self._v, self._window)
        is_open = self.probability < 1 - ROUNDING
        summed, halved = (np.flatnonzero(is_open & chosen) for chosen in (doubt < USEFUL_DOUBT, doubt >= USEFUL_DOUBT))
        if len(summed):
            segments = highest_segments(self._u, self._v, self._window, doubt, summed)
            for end in (segments.left, segments.right):
                self._look(segments.pair, end)
            self._look_at_parabolas(segments.where(segments.right - segments.left > 1))
        if len(halved):
            self._look_at_parabolas(self._leaves(halved))
        return self.probability, self.offset_us

    def _leaves(self, pairs: IndexArray) -> Ranges:
        """Halve the ranges of these pairs' break points; return those between neighbours that may hold more."""
        breaks = _breaks_us(self._u.take(pairs), self._v.take(pairs), self._window)
        nth = np.arange(len(pairs))
        ranks = Ranges(nth, np.zeros_like(nth), np.full_like(nth, len(breaks) - 1))
        at_left, at_right = (self._look(pairs, breaks[end]) for end in (0, -1))
        leaves = [ranks.where(np.zeros(len(ranks), np.bool_))]
        while len(ranks):
            pair, most = pairs[ranks.pair], at_left[0] - at_right[1]
            left, right = breaks[ranks.left, ranks.pair], breaks[ranks.right, ranks.pair]
            is_open = (most > self.probability[pair] + PROBABILITY_TOLERANCE) & (right - left > 1)
            is_leaf = ranks.right - ranks.left == 1
            leaves.append(Ranges(pair, left, right).where(is_open & is_leaf))
            split = is_open & ~is_leaf
            ranks, at_left, at_right = ranks.where(split), at_left[:, split], at_right[:, split]
            middle = (ranks.left + ranks.right) // 2
            at_middle = self._look(pairs[ranks.pair], breaks[middle, ranks.pair])
            ranks = joined(Ranges(ranks.pair, ranks.left, middle), Ranges(ranks.pair, middle, ranks.right))
            at_left, at_right = np.hstack((at_left, at_middle)), np.hstack((at_middle, at_right))
        return joined(*leaves)

    def _look_at_parabolas(self, ranges: Ranges) -> None:
        """Look inside ranges without a break point; one a microsecond wide has nothing inside."""
        pair, first, last = ranges.pair, ranges.left + 1, ranges.right - 1
        if not len(pair):
            return
        looked = [self._judged(pair, offset) for offset in (first, (first + last) // 2, last)]
        vertex = vertex_of(*looked)
        self._look(pair, vertex)
        self._look(pair, np.minimum(vertex + 1, last))

    def _judged(self, pair: IndexArray, offset: OffsetArray) -> JudgedOffsets:
        cdfs = self._look(pair, offset)
        return JudgedOffsets(pair, offset, cdfs[0] - cdfs[1])

    def _look(self, pair: IndexArray, offset: OffsetArray) -> FloatArray:
        """Return the cdfs at offsets of pairs, and remember where the greatest P is; of several the first."""
        cdfs = self._cdfs.exactly_at(pair, offset)
        found = cdfs[0] - cdfs[1]
        order = np.lexsort((offset, -found, pair))
        best = order[np.diff(pair[order], prepend=-1) != 0]
        best = best[found[best] > self.probability[pair[best]] + ROUNDING]
        self.probability[pair[best]], self.offset_us[pair[best]] = found[best], offset[best]
        return cdfs


def _breaks_us(u: TemplateColumns, v: TemplateColumns, window: Window) -> OffsetArray:
    """Offsets at which P may bend or jump, to the nearest microsecond, in order, shape (m, n).

    Whole microseconds strictly between two of them have no break point between each other, as each lies half a
    microsecond off at most.
    """
    bends_s = where_density_bends_s(u.edges_s, v.edges_s)
    breaks_s = np.concatenate((window.lo_s - bends_s, window.hi_s - bends_s))
    breaks_us: OffsetArray = np.sort(np.rint(breaks_s * 1e6).astype(np.int64), axis=0)
    return breaks_us
