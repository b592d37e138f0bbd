"""OffsetCache: the offsets of the template pairs that really meet, judged once; what it remembers is bounded.

A table of all pairs grows with the square of the templates, and each detection may bring its own. A template pair's
satisfaction offsets answer for good, but cost as much as 4 to 60 evaluations of the probability of two events
(`pair_work` estimates it). So a template pair's events are evaluated until that has cost about as much as its offsets:
about twice what would have been best at most, whatever comes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.constraints.window import Window
from coincide.errors import CoincideError
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_entries import PairEntries, codes_of, pairs_of
from coincide.offsets.pair_work import LONG_WINDOW_EVALUATIONS, offsets_in_evaluations
from coincide.offsets.satisfying import offset_ranges
from coincide.probability.difference import match_probabilities
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.template_columns import TemplatePairs

MOST_PAIRS = 262_144  # 11 MB
ROOM_SHARE = 8  # beyond the bound this share of it is dropped too, so that not every call has to drop


@dataclass(frozen=True)
class LookUps:
    """Pairs whose offsets were known (once for all events of one call), those worked out, and those remembered now."""

    hits: int = 0
    misses: int = 0
    pairs: int = 0

    def plus(self, other: LookUps) -> LookUps:
        """Return the sums."""
        return LookUps(self.hits + other.hits, self.misses + other.misses, self.pairs + other.pairs)


class OffsetCache:
    """Verdicts for one window and threshold by pair of template codes; the pairs looked up longest ago go first.

    Codes stand for content, so events with equal templates share an entry, and `recode` must tell of every code that
    changes its meaning. It remembers `most_pairs`, 41 bytes each (more where there are several intervals).
    """

    def __init__(
        self, window: Window, threshold: float, us: TemplatesInOrder, vs: TemplatesInOrder, most_pairs: int = MOST_PAIRS
    ) -> None:
        self.window = window
        self.threshold = threshold
        self.us, self.vs = us, vs
        self._most_pairs = most_pairs
        self._entries = PairEntries()
        self._calls = self._hits = self._misses = 0

    @property
    def look_ups(self) -> LookUps:
        """Counts so far."""
        return LookUps(self._hits, self._misses, len(self._entries))

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates; arrays of shape (n,)."""
        possible = np.flatnonzero(self._possible(u, v, offset_us))
        offset = offset_us[possible]
        pairs, nth, counts = np.unique(pairs_of(u[possible], v[possible]), return_inverse=True, return_counts=True)
        at = self._entry_of(pairs, counts)[nth]
        known = self._entries.has_offsets[at]
        inside = np.empty(len(possible), np.bool_)
        inside[known] = self._entries.contain(at[known], offset[known])
        inside[~known] = self._evaluated(u[possible[~known]], v[possible[~known]], offset[~known])
        qualifies = np.zeros(len(offset_us), np.bool_)
        qualifies[possible] = inside
        if len(self._entries) > self._most_pairs:
            self._entries.keep_latest(self._most_pairs - self._most_pairs // ROOM_SHARE)
        return qualifies

    def recode(self, u_code: CodeArray, v_code: CodeArray) -> None:
        """Follow a change of codes: the new ones by old code, shape (codes,); pairs with a -1 are forgotten."""
        self._entries.recode(u_code, v_code)

    def _possible(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether the two times could lie in the window at all."""
        us, vs = self.us, self.vs
        return (offset_us + vs.latest_us[v] - us.earliest_us[u] >= self.window.lo_us - 1) & (
            offset_us + vs.earliest_us[v] - us.latest_us[u] <= self.window.hi_us + 1
        )

    def _entry_of(self, pairs: Int64Array, events: PositionArray) -> PositionArray:
        """Return the positions of the pairs' entries; those worth it have their offsets then."""
        self._calls += 1
        at = self._entries.look_up(pairs, events, self._calls)
        known = self._entries.has_offsets[at]
        self._hits += int(np.count_nonzero(known))
        self._misses += int(np.count_nonzero(~known))
        # certainty is about supports, of which a probability that rounds to 1 says nothing; to compare them is cheap
        is_certainty = self.threshold == 1.0
        events_so_far = self._entries.events[at]
        new = np.flatnonzero(~known & (is_certainty | (events_so_far >= LONG_WINDOW_EVALUATIONS)))
        if len(new):
            named = self._template_pairs(*codes_of(pairs[new]))
            is_worth = is_certainty | (events_so_far[new] >= offsets_in_evaluations(named, self.window))
            worth = np.flatnonzero(is_worth)
            ranges = offset_ranges(named.take(worth), self.window, self.threshold)
            self._entries.set_offsets(at[new[worth]], ranges)
        return at

    def _evaluated(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        named = self._template_pairs(u, v)
        probability = match_probabilities(named.us, named.vs, named.u_index, named.v_index, offset_us, self.window)
        return probability >= least_probability(self.threshold)

    def _template_pairs(self, u: CodeArray | Int64Array, v: CodeArray | Int64Array) -> TemplatePairs:
        """Return pairs of codes as pairs of templates, each template once."""
        u_used, u_index = np.unique(u, return_inverse=True)
        v_used, v_index = np.unique(v, return_inverse=True)
        us = [self.us.histogram(code) for code in u_used.tolist()]
        vs = [self.vs.histogram(code) for code in v_used.tolist()]
        return TemplatePairs(us, vs, u_index, v_index)


TABLE_WORK = 16_777_216  # bucket pairs (see pair_work): 0.3 s; 8 buckets, a long window: 47,000 template pairs


@dataclass(frozen=True)
class PairLimits:
    """Bounds of one join's satisfaction offsets, whole numbers of at least 0.

    Parameters
    ----------
    table : int
        While all pairs of the buffered events' templates are worked out with at most so much work, a table holds them.
        The unit is a bucket pair, the term that two buckets add to a probability: about 20 ns. A template pair takes
        about 4 times the product of its numbers of buckets, in a window shorter than the templates 24 times.
    cached : int
        Beyond that (every event may bring its own template) pairs are judged when they meet, and so many are
        remembered.
    """

    table: int = TABLE_WORK
    cached: int = MOST_PAIRS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CoincideError(name, value, "a whole number, at least 0")


USUAL_LIMITS = PairLimits()


def checked_pair_limits(limits: object) -> PairLimits:
    """Return `limits` if they are PairLimits, else raise CoincideError."""
    if not isinstance(limits, PairLimits):
        raise CoincideError("pair_limits", limits, "PairLimits, such as PairLimits(cached=10_000)")
    return limits
