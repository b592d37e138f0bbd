"""DistanceCache: verdicts on pairs of events whose windows follow the distance of their sensors.

Offsets are those of two templates in a window, however many sensors have them: entries are by pair of templates and
window. In a window at least as long as both templates together only one end can fail. So all such windows of two
templates share one entry, whose offsets move apart by as much as the window is longer.
"""

from __future__ import annotations

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.constraints.graph import WindowByDistance
from coincide.offsets.cache import LookUps
from coincide.offsets.distance_offsets import MICROSECONDS_PER_MS, distance_offset_ranges, least_long_ms
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_entries import PairEntries, pairs_of
from coincide.offsets.pair_work import LONG_WINDOW_EVALUATIONS, MOST_PAIRS, SHORT_WINDOW_EVALUATIONS
from coincide.places.templates_at_places import TemplatesAtPlaces
from coincide.probability.difference import probabilities_within
from coincide.templates.template_columns import TemplatePairs

LONG = 2**31 - 1  # stands for every window that is long for its two templates
DENSE_CODES = 512  # a side: the windows of so many are worked out at once, 2 MB
ROOM_SHARE = 8  # beyond the bound this share of it is dropped too


class DistanceCache:
    """Verdicts for one window by distance and one threshold, by codes of templates at places.

    It remembers `most_pairs` pairs of templates and windows; those looked up longest ago go first. Codes never change
    their meaning: where they would, make another one.
    """

    def __init__(
        self,
        window: WindowByDistance,
        threshold: float,
        us: TemplatesAtPlaces,
        vs: TemplatesAtPlaces,
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        self.window, self.threshold = window, threshold
        self.us, self.vs = us, vs
        self._most_pairs = most_pairs
        self._forget()
        self._widths_us = np.empty((0, 0), np.int64)
        self._calls = self._hits = self._misses = 0

    @property
    def look_ups(self) -> LookUps:
        """Counts so far."""
        return LookUps(self._hits, self._misses, len(self._entries))

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates at their places; arrays of shape (n,)."""
        width_us = self._half_width_us(u, v)
        least_us = offset_us + self.vs.earliest_us[v] - self.us.latest_us[u]
        greatest_us = offset_us + self.vs.latest_us[v] - self.us.earliest_us[u]
        qualifies: BoolArray = (-width_us <= least_us) & (greatest_us <= width_us)
        is_possible = (greatest_us >= -width_us - 1) & (least_us <= width_us + 1) & (width_us >= 0)
        possible = np.flatnonzero(is_possible & ~qualifies)
        if len(possible):
            qualifies[possible] = self._judged(u[possible], v[possible], offset_us[possible], width_us[possible])
        return qualifies

    def reaches_us(self) -> tuple[Int64Array, Int64Array]:
        """Half of the longest window that each code has with any of the other side; int64 (codes,), at least 0.

        Those of the first side, and those of the second. Where there are many codes they are bounds, by way of the
        first place.
        """
        widest_us = self.window.widest.hi_us
        if self._is_dense:
            of_sides = (self._dense_us().max(axis=axis, initial=0) for axis in (1, 0))
            of_us, of_vs = (np.minimum(reach_us, widest_us) for reach_us in of_sides)
            return of_us, of_vs
        sides = (self.us, self.vs), (self.vs, self.us)
        ways_us = (_ways_by_the_first_ms(*each, self.window) * MICROSECONDS_PER_MS for each in sides)
        of_us, of_vs = (np.where(each < 0, widest_us, np.minimum(each, widest_us)) for each in ways_us)
        return of_us, of_vs

    @property
    def _is_dense(self) -> bool:
        return max(len(self.us), len(self.vs)) <= DENSE_CODES

    def _half_width_us(self, u: CodeArray, v: CodeArray) -> Int64Array:
        if not self._is_dense:
            return self.us.half_width_ms(u, v, self.vs, self.window) * MICROSECONDS_PER_MS
        widths_us: Int64Array = self._dense_us()[u, v]
        return widths_us

    def _dense_us(self) -> Int64Array:
        """Return half of the window of every two codes that are known now."""
        if self._widths_us.shape != (len(self.us), len(self.vs)):
            every = np.arange(len(self.us))[:, None], np.arange(len(self.vs))
            self._widths_us = self.us.half_width_ms(*every, self.vs, self.window) * MICROSECONDS_PER_MS
        return self._widths_us

    def _judged(self, u: CodeArray, v: CodeArray, offset_us: Int64Array, width_us: Int64Array) -> BoolArray:
        names = pairs_of(self.us.kind[u], self.vs.kind[v])
        width_ms = width_us // MICROSECONDS_PER_MS
        long_ms = self._least_long_ms(names, u, v)
        is_long = width_ms >= long_ms
        keys = pairs_of(self._numbers(names), np.where(is_long, LONG, width_ms))
        distinct, first, nth, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        at = self._entry_of(distinct, counts, u[first], v[first], np.minimum(width_ms, long_ms)[first], is_long[first])
        at = at[nth]
        known = self._entries.has_offsets[at]
        further_us = np.where(is_long, width_us - long_ms * MICROSECONDS_PER_MS, 0)
        inside = np.empty(len(u), np.bool_)
        inside[known] = self._entries.contain_within(at[known], offset_us[known], further_us[known])
        inside[~known] = self._evaluated(u[~known], v[~known], offset_us[~known], width_ms[~known])
        if len(self._entries) > self._most_pairs:
            self._entries.keep_latest(self._most_pairs - self._most_pairs // ROOM_SHARE)
        if len(self._number_of) > self._most_pairs:
            self._forget()
        return inside

    def _numbers(self, names: Int64Array) -> Int64Array:
        """Return a number for each two kinds of template."""
        distinct, nth = np.unique(names, return_inverse=True)
        numbers = [self._number_of.setdefault(name, len(self._number_of)) for name in distinct.tolist()]
        return np.array(numbers, np.int64)[nth]

    def _least_long_ms(self, names: Int64Array, u: CodeArray, v: CodeArray) -> Int64Array:
        """Return half of the shortest window that is long for the templates of each two codes."""
        distinct, first, nth = np.unique(names, return_index=True, return_inverse=True)
        new = [at for at, name in enumerate(distinct.tolist()) if name not in self._long_ms]
        if new:
            found = least_long_ms(self._template_pairs(u[first[new]], v[first[new]]))
            self._long_ms.update(zip(distinct[new].tolist(), found.tolist(), strict=True))
        return np.array([self._long_ms[name] for name in distinct.tolist()], np.int64)[nth]

    def _entry_of(
        self,
        keys: Int64Array,
        events: PositionArray,
        u: CodeArray,
        v: CodeArray,
        width_ms: Int64Array,
        is_long: BoolArray,
    ) -> PositionArray:
        """Return the positions of the entries of these keys; those worth it have their offsets then."""
        self._calls += 1
        at = self._entries.look_up(keys, events, self._calls)
        known = self._entries.has_offsets[at]
        self._hits += int(np.count_nonzero(known))
        self._misses += int(np.count_nonzero(~known))
        evaluations = np.where(is_long, LONG_WINDOW_EVALUATIONS, SHORT_WINDOW_EVALUATIONS)
        is_worth = (self.threshold == 1.0) | (self._entries.events[at] >= evaluations)
        worth = np.flatnonzero(~known & is_worth)
        if len(worth):
            named = self._template_pairs(u[worth], v[worth])
            self._entries.set_offsets(at[worth], distance_offset_ranges(named, width_ms[worth], self.threshold))
        return at

    def _evaluated(self, u: CodeArray, v: CodeArray, offset_us: Int64Array, width_ms: Int64Array) -> BoolArray:
        probability = probabilities_within(self._template_pairs(u, v), offset_us, width_ms / 1000)
        return probability >= least_probability(self.threshold)

    def _template_pairs(self, u: CodeArray, v: CodeArray) -> TemplatePairs:
        (us, u_index), (vs, v_index) = self.us.among(u), self.vs.among(v)
        return TemplatePairs(us, vs, u_index, v_index)

    def _forget(self) -> None:
        self._entries = PairEntries()
        self._number_of: dict[int, int] = {}
        self._long_ms: dict[int, int] = {}


REACH_MARGIN = 1.06  # distances along the Earth are off by at most 5 %


def _ways_by_the_first_ms(
    probing: TemplatesAtPlaces, stored: TemplatesAtPlaces, window: WindowByDistance
) -> Int64Array:
    first = np.zeros(1, np.int64)
    out_m = probing.distance_m(np.arange(len(probing)), first, stored)
    back_m = stored.distance_m(np.arange(len(stored)), first, stored).max(initial=0.0)
    reach_ms: Int64Array = window.half_width_ms(REACH_MARGIN * (out_m + back_m))
    return reach_ms
