"""largest_set: of some reports, the most that one source explains.

If members of a set are consistent with a place with probability p, no two of them differ too much: cut p / 2 from each
end of when each occurred, and what is left of any two lies within the slack. Such intervals, each longer by the slack,
share a moment. So the greatest number that share one bounds the size of all sets of a cell of places: branch and bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.arrays.numbers import is_whole
from coincide.constraints.window import checked_threshold
from coincide.errors import PlaceError
from coincide.places.local_frame import LocalFrame
from coincide.places.place import Place
from coincide.places.place_columns import Places
from coincide.sources.arrivals import Arrivals
from coincide.sources.locating import checked_members
from coincide.sources.place_search import Cells
from coincide.sources.source_rule import SourceRule
from coincide.sources.window_bounds import ROUNDING_S, window_bounds
from coincide.templates.histogram import Histogram

MOST_ROUNDS, MOST_CELLS = 30, 512
TRIED = 8  # cells of a round whose middles are tried
MOST_SUBSETS, MOST_CHECKS = 16, 1_500  # of one cell, and of all: sets whose P is bounded over a cell


@dataclass(frozen=True)
class ExplainedSet:
    """The members of a set that a source at `place` explains with `probability`, and a bound.

    Attributes
    ----------
    members : tuple of int
        Their numbers, growing; empty if no set has enough.
    probability : float
        At least that much: a bound from below, within some hundredths.
    place : Place or None
    at_most : int
        No set has more members; 0 if it is certain that none has enough.
    """

    members: tuple[int, ...]
    probability: float
    place: Place | None
    at_most: int

    @property
    def is_largest(self) -> bool:
        """Whether it is certain that no set has more members; others may have as many."""
        return self.at_most <= len(self.members)


def largest_set(
    rule: SourceRule,
    places: Places,
    templates: Sequence[Histogram],
    detected_at_us: Sequence[int],
    threshold: float,
    at_least: int,
) -> ExplainedSet:
    """Return a largest set of reports that are consistent with one place with a probability of `threshold` or more.

    The probability is that of `source_probability`. The place may be anywhere in the box around all candidates. A part
    of an explained set is explained, too. Of several largest sets one is told.

    Parameters
    ----------
    rule, places, templates, detected_at_us
        As in `source_probability`, of up to 100 candidates. Members are taken as independent, also on one clock. Sets
        with exact times (`Histogram.point`) are not settled: give each a microsecond either way.
    threshold : float
        Above 0, to 1.
    at_least : int
        So many members a set has at least: 3 or more in the plane, 4 with a height.

    Returns
    -------
    ExplainedSet
        The work is bounded, and P is taken from bounds that are some hundredths apart. Where that is not enough to
        settle it, `at_most` is more than the set has.

    Raises
    ------
    PlaceError, HistogramError, OffsetError, ThresholdError

    Examples
    --------
    The fifth microphone heard something else:

    >>> from coincide.places import FramePlace
    >>> places = [FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100), FramePlace(50, 150)]
    >>> heard_us = [145_773, 235_057, 195_574, 269_008, 900_000]
    >>> clock = Histogram.uniform(-0.001, 0.001)
    >>> found = largest_set(SourceRule(343, slack_s=0.002), Places.of(places), [clock] * 5, heard_us, 0.5, at_least=4)
    >>> found.members, found.is_largest
    ((0, 1, 2, 3), True)
    """
    known, at_us = checked_members(rule, places, templates, detected_at_us)
    if not is_whole(at_least) or not rule.least_members <= at_least <= len(places):
        allowed = f"a whole number from {rule.least_members}, which determine a place, to {len(places)}, which are all"
        raise PlaceError("at_least", at_least, allowed)
    frame = LocalFrame.around(places)
    members_m = frame.metres(places)
    candidates = _Candidates.of(known, (at_us - at_us[0]) / 1e6, rule.slack_s, checked_threshold(threshold))
    room = rule.box_m(members_m) if rule.reach_m is None else None
    if room is None:
        raise PlaceError("reach_m", rule.reach_m, "a margin_m: what is in reach of all candidates is not of each set")
    best = _Best(at_least - 1)
    at_most = _searched(candidates, rule, members_m, Cells(room[0][None], room[1]), best)
    place = None if best.place_m is None else frame.place(*best.place_m.tolist())
    return ExplainedSet(best.members, best.probability, place, at_most if at_most >= at_least else 0)


@dataclass(frozen=True, eq=False)
class _Candidates:
    templates: tuple[Histogram, ...]
    reported_s: FloatArray
    first_s: FloatArray
    last_s: FloatArray
    slack_s: float
    threshold: float

    @classmethod
    def of(
        cls, templates: tuple[Histogram, ...], reported_s: FloatArray, slack_s: float, threshold: float
    ) -> _Candidates:
        cut = threshold / 2 * (1 - 1e-9)
        ends = np.array([template.quantile(np.array([cut, 1 - cut])) for template in templates])
        return cls(
            templates, reported_s, reported_s + ends[:, 0], reported_s + ends[:, 1] + slack_s, slack_s, threshold
        )

    def together(self, arrivals: Arrivals, within_s: FloatArray | float) -> _Together:
        """Return how many share a moment at most, at places that differ from those by so much."""
        first_ns = np.floor((self.first_s - arrivals.apart_s - within_s) * 1e9).astype(np.int64)
        last_ns = np.ceil((self.last_s - arrivals.apart_s + within_s) * 1e9).astype(np.int64)
        key = np.concatenate((first_ns << 1, (last_ns << 1) | 1), axis=1)  # of one moment, beginnings come first
        key.sort(axis=1)
        return _Together(first_ns, last_ns, key >> 1, np.cumsum(1 - 2 * (key & 1), axis=1))

    def bounds(self, members: Int64Array, apart_s: FloatArray, longer_s: float) -> tuple[FloatArray, FloatArray]:
        """Bounds on P of n sets of m members, (n, m), each at its place, in a window that is longer by so much."""
        at_s = np.take_along_axis(self.reported_s - apart_s, members, axis=1)
        return window_bounds(self.templates, members, at_s, self.slack_s + longer_s)


@dataclass(frozen=True, eq=False)
class _Together:
    """Intervals of n places, (n, k), and how many of them go on from each of their sorted ends, (n, 2k)."""

    first_ns: Int64Array
    last_ns: Int64Array
    moment_ns: Int64Array
    count: Int64Array

    @property
    def most(self) -> Int64Array:
        most: Int64Array = self.count.max(axis=1)
        return most

    def members_of(self, row: int) -> Int64Array:
        """Return those of the moment that most share."""
        moment_ns = self.moment_ns[row, int(np.argmax(self.count[row]))]
        return np.flatnonzero((self.first_ns[row] <= moment_ns) & (moment_ns <= self.last_ns[row]))

    def sharing(self, rows: Int64Array, least: int) -> BoolArray:
        """Whether each shares a moment with so many, bool (rows, k)."""
        moment_ns = self.moment_ns[rows, None]
        during = (self.first_ns[rows, :, None] <= moment_ns) & (moment_ns <= self.last_ns[rows, :, None])
        during &= self.count[rows, None] >= least
        return np.asarray(during.any(axis=2))


@dataclass(eq=False)
class _Best:
    """The largest set so far, and how many members it has."""

    size: int
    members: tuple[int, ...] = ()
    probability: float = 0.0
    place_m: FloatArray | None = None
    checks_left: int = MOST_CHECKS

    def take(self, members: Int64Array, probability: float, place_m: FloatArray) -> None:
        self.size, self.members = len(members), tuple(members.tolist())
        self.probability, self.place_m = probability, place_m


def _searched(candidates: _Candidates, rule: SourceRule, members_m: FloatArray, cells: Cells, best: _Best) -> int:
    """Fill in the best, and return what no set exceeds."""
    gone, most = 0, np.array([len(members_m)])
    arrivals = Arrivals.of(rule.travel, members_m, cells.centres_m, cells.half_m)
    for _ in range(MOST_ROUNDS):
        cells = cells.divided(arrivals.steepest)
        arrivals = Arrivals.of(rule.travel, members_m, cells.centres_m, cells.half_m)
        together = candidates.together(arrivals, arrivals.within_s + ROUNDING_S)
        most = together.most
        _try(candidates, cells, arrivals, most, best)
        kept = np.flatnonzero(most > best.size)
        kept = kept[_may_be_larger(candidates, cells, arrivals, together, kept, best)]
        kept = kept[np.argsort(-most[kept], kind="stable")]
        gone = max(gone, int(most[kept[MOST_CELLS:]].max(initial=0)))
        cells, arrivals, most = cells.take(kept[:MOST_CELLS]), arrivals.take(kept[:MOST_CELLS]), most[kept[:MOST_CELLS]]
        if not len(cells):
            break
    return max(best.size, gone, int(most.max(initial=0)))


def _try(candidates: _Candidates, cells: Cells, arrivals: Arrivals, most: Int64Array, best: _Best) -> None:
    """Look for larger sets at the middles of cells, those first where most share a moment."""
    order = np.argsort(-most, kind="stable")[: TRIED * TRIED]
    middles = arrivals.take(order)
    together = candidates.together(middles, ROUNDING_S)
    for row in np.argsort(-together.most, kind="stable")[:TRIED].tolist():
        members = together.members_of(row)
        if len(members) <= best.size:
            continue
        members, probability = _explained(candidates, members, middles.apart_s[[row]], best.size + 1)
        if len(members):
            best.take(members, probability, cells.centres_m[order[row]])


def _explained(
    candidates: _Candidates, members: Int64Array, apart_s: FloatArray, least: int
) -> tuple[Int64Array, float]:
    """Drop members, always the one without whom P is greatest, until P is enough; none if too few are left."""
    probability = float(candidates.bounds(members[None], apart_s, 0.0)[0][0])
    while probability < candidates.threshold:
        if len(members) <= least:
            return members[:0], 0.0
        fewer = np.array([np.delete(members, nth) for nth in range(len(members))])
        without = candidates.bounds(fewer, np.repeat(apart_s, len(fewer), axis=0), 0.0)[0]
        members, probability = fewer[int(np.argmax(without))], float(without.max())
    return members, probability


def _may_be_larger(
    candidates: _Candidates,
    cells: Cells,
    arrivals: Arrivals,
    together: _Together,
    rows: Int64Array,
    best: _Best,
) -> BoolArray:
    """Whether a larger set may be in some cells, by P of all sets of one more, each in a window that is longer.

    The middles of those that promise most are tried. Cells for which that is too much work may have one.
    """
    size = best.size + 1
    longer_s = 2 * arrivals.within_s[rows].max(axis=1, initial=0.0) + ROUNDING_S
    may_be, small = np.ones(len(rows), np.bool_), np.flatnonzero(longer_s < candidates.slack_s)
    at: list[int] = []
    sets: list[tuple[int, ...]] = []
    for nth, shares in zip(small.tolist(), together.sharing(rows[small], size), strict=True):
        count = comb(int(shares.sum()), size)
        if count <= min(MOST_SUBSETS, best.checks_left):
            best.checks_left -= count
            may_be[nth] = False
            at += [nth] * count
            sets += combinations(np.flatnonzero(shares).tolist(), size)
    if not at:
        return may_be
    members, apart_s = np.array(sets), arrivals.apart_s[rows[at]]
    bound = candidates.bounds(members, apart_s, float(longer_s[at].max()))[1]
    may_be[np.array(at)[bound >= candidates.threshold]] = True
    tried = np.argsort(-bound)[:TRIED]
    probability = candidates.bounds(members[tried], apart_s[tried], 0.0)[0]
    first = int(np.argmax(probability))
    if probability[first] >= candidates.threshold:
        best.take(members[tried[first]], float(probability[first]), cells.centres_m[rows[at[int(tried[first])]]])
    return may_be
