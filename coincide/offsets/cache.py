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
from coincide.constraints.window import Window, is_within_for_certain
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_entries import PairEntries, codes_of, pairs_of
from coincide.offsets.pair_work import (
    LEAST_WORK,
    LONG_WINDOW_EVALUATIONS,
    MOST_PAIRS,
    USUAL_LIMITS,
    PairLimits,
    mean_evaluation_work,
    offsets_in_evaluations,
    table_work,
)
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.offsets.satisfying import offset_ranges
from coincide.probability.difference import match_probabilities
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.template_columns import TemplatePairs

ROOM_SHARE = 8  # beyond the bound this share of it is dropped too, so that not every call has to drop
BACK_TO_A_TABLE = 16  # once its work is less than this part of what it may be


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
        qualifies, is_possible = self._by_ends(u, v, offset_us)
        possible = np.flatnonzero(is_possible)
        if not len(possible):
            return qualifies
        offset = offset_us[possible]
        pairs, nth, counts = np.unique(pairs_of(u[possible], v[possible]), return_inverse=True, return_counts=True)
        at = self._entry_of(pairs, counts)[nth]
        known = self._entries.has_offsets[at]
        inside = np.empty(len(possible), np.bool_)
        inside[known] = self._entries.contain(at[known], offset[known])
        inside[~known] = self._evaluated(u[possible[~known]], v[possible[~known]], offset[~known])
        qualifies[possible] = inside
        if len(self._entries) > self._most_pairs:
            self._entries.keep_latest(self._most_pairs - self._most_pairs // ROOM_SHARE)
        return qualifies

    def recode(self, u_code: CodeArray, v_code: CodeArray) -> None:
        """Follow a change of codes: the new ones by old code, shape (codes,); pairs with a -1 are forgotten."""
        self._entries.recode(u_code, v_code)

    def _by_ends(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> tuple[BoolArray, BoolArray]:
        """Whether the two times lie in the window for certain; and whether they could, but need not."""
        least_us = offset_us + self.vs.earliest_us[v] - self.us.latest_us[u]
        greatest_us = offset_us + self.vs.latest_us[v] - self.us.earliest_us[u]
        is_certain = is_within_for_certain(self.window, least_us, greatest_us)
        is_possible = (greatest_us >= self.window.lo_us - 1) & (least_us <= self.window.hi_us + 1)
        return is_certain, is_possible & ~is_certain

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
        """Return pairs of codes as pairs of templates."""
        (us, u_index), (vs, v_index) = self.us.among(u), self.vs.among(v)
        return TemplatePairs(us, vs, u_index, v_index)


def judge_of(
    window: Window,
    threshold: float,
    us: TemplatesInOrder,
    vs: TemplatesInOrder,
    limits: PairLimits = USUAL_LIMITS,
    known: SatisfactionTable | None = None,
) -> SatisfactionTable | OffsetCache:
    """Return what tells which offsets of two streams' templates qualify; `known` is a table of the first of them."""
    is_much = len(us) * len(vs) * LEAST_WORK > limits.table  # then no template need be looked at
    if is_much or table_work(us.templates, vs.templates, window) > limits.table:
        return OffsetCache(window, threshold, us, vs, limits.cached)
    table = SatisfactionTable.build((), (), window, threshold) if known is None else known
    return table.extend(us.templates[len(table.us) :], vs.templates[len(table.vs) :])


def earns_a_table(cache: OffsetCache, us: TemplatesInOrder, vs: TemplatesInOrder, limits: PairLimits) -> bool:
    """Whether the table is little work by now, and the look-ups since have cost as much as the last table.

    Else a stream whose events bring their own templates would build tables in vain, again and again.
    """
    look_ups = cache.look_ups.hits + cache.look_ups.misses
    is_made_up_for = look_ups * mean_evaluation_work(us.templates, vs.templates) >= limits.table
    return is_made_up_for and table_work(us.templates, vs.templates, cache.window) <= limits.table // BACK_TO_A_TABLE
