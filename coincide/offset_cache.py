"""OffsetCache: satisfaction offsets of the template pairs that really meet, computed when they first do, and bounded.

A table of all pairs grows with the square of the templates, and each detection may bring its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from coincide.events import CodeArray
from coincide.histogram import Histogram
from coincide.offsets import offset_ranges
from coincide.template_pairs import TemplatePairs
from coincide.window import Window

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MOST_PAIRS = 262_144  # 8 MB
ROOM_SHARE = 8  # beyond the bound this share of it is dropped too, so that not every call has to drop
NEVER_US = 2**61


class CodedTemplates(Protocol):
    """Templates by code; equal ones share a code."""

    def histogram(self, code: int) -> Histogram:
        """Return the template of a code."""

    @property
    def earliest_us(self) -> Int64Array:
        """Earliest occurrence of each code, relative to the reported time, rounded down."""

    @property
    def latest_us(self) -> Int64Array:
        """Latest occurrence of each code, relative to the reported time, rounded up."""


@dataclass(frozen=True)
class LookUps:
    """What a cache has done so far; a pair asked for several times in one call counts once.

    Attributes
    ----------
    hits, misses : int
        Pairs that were known, and pairs that had to be computed.
    pairs : int
        Pairs held now.
    """

    hits: int = 0
    misses: int = 0
    pairs: int = 0

    def plus(self, other: LookUps) -> LookUps:
        """Return the sums."""
        return LookUps(self.hits + other.hits, self.misses + other.misses, self.pairs + other.pairs)


class OffsetCache:
    """Qualifying offsets of one window and threshold by pair of template codes; the least recently asked go first.

    Codes stand for content, so events with equal templates share an entry, and `recode` must tell of every code that
    changes its meaning.

    Parameters
    ----------
    window : Window
        Of the time of v's event minus that of u's.
    threshold : float
    us, vs : CodedTemplates
    most_pairs : int
        Pairs kept from call to call, 32 bytes each (more where there are several intervals).

    Examples
    --------
    >>> from coincide.template_registry import TemplateRegistry
    >>> known = TemplateRegistry()
    >>> exact, spread = known.codes([Histogram.point(), Histogram.uniform(-2, 0)])
    >>> cache = OffsetCache(Window(5), 0.5, known, known)
    >>> cache.contain(exact.repeat(2), spread.repeat(2), np.array([-4_000_001, -4_000_000])).tolist()
    [False, True]
    >>> cache.look_ups
    LookUps(hits=0, misses=1, pairs=1)
    """

    def __init__(
        self, window: Window, threshold: float, us: CodedTemplates, vs: CodedTemplates, most_pairs: int = MOST_PAIRS
    ) -> None:
        self.window = window
        self.threshold = threshold
        self._us, self._vs = us, vs
        self._most_pairs = most_pairs
        self._pairs = np.empty(0, np.int64)  # sorted: the code of u, then that of v, in 32 bits each
        self._hulls = np.empty((0, 2), np.int64)
        self._asked = np.empty(0, np.int64)  # when last, in calls
        self._gapped: dict[int, Int64Array] = {}
        self._calls = self._hits = self._misses = 0

    @property
    def look_ups(self) -> LookUps:
        """Counts so far."""
        return LookUps(self._hits, self._misses, len(self._pairs))

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates; arrays of shape (n,)."""
        possible = np.flatnonzero(self._possible(u, v, offset_us))
        pair = (u[possible].astype(np.int64) << 32) | v[possible]
        self._ask(np.unique(pair))
        at = np.searchsorted(self._pairs, pair)
        offset = offset_us[possible]
        inside = (self._hulls[at, 0] <= offset) & (offset <= self._hulls[at, 1])
        for rows, intervals in self._of_gapped(pair):
            inside[rows] &= _inside(intervals, offset[rows])
        qualifies = np.zeros(len(offset_us), np.bool_)
        qualifies[possible] = inside
        if len(self._pairs) > self._most_pairs:
            self._drop_least_recent()
        return qualifies

    def recode(self, u_code: CodeArray, v_code: CodeArray) -> None:
        """Follow a change of codes: the new ones by old code, shape (codes,); pairs with a -1 are forgotten."""
        u, v = (new[old] for new, old in ((u_code, self._pairs >> 32), (v_code, self._pairs & 0xFFFFFFFF)))
        stay = np.flatnonzero((u >= 0) & (v >= 0))
        new_pairs = (u[stay].astype(np.int64) << 32) | v[stay]
        old_pairs = self._pairs[stay]
        new_of = dict(zip(old_pairs.tolist(), new_pairs.tolist(), strict=True)) if self._gapped else {}
        self._gapped = {new_of[pair]: offsets for pair, offsets in self._gapped.items() if pair in new_of}
        order = np.argsort(new_pairs)
        self._pairs = new_pairs[order]
        self._hulls, self._asked = self._hulls[stay[order]], self._asked[stay[order]]

    def _possible(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether the two times could lie in the window at all."""
        us, vs = self._us, self._vs
        possible: BoolArray = (offset_us + vs.latest_us[v] - us.earliest_us[u] >= self.window.lo_us - 1) & (
            offset_us + vs.earliest_us[v] - us.latest_us[u] <= self.window.hi_us + 1
        )
        return possible

    def _ask(self, pairs: Int64Array) -> None:
        """Make sure that all of these, distinct and in order, are held."""
        at = np.searchsorted(self._pairs, pairs)
        known = at < len(self._pairs)
        known[known] = self._pairs[at[known]] == pairs[known]
        self._calls += 1
        self._asked[at[known]] = self._calls
        new = pairs[~known]
        self._hits += len(pairs) - len(new)
        self._misses += len(new)
        if len(new):
            hulls, asked = self._computed(new), np.full(len(new), self._calls)
            merged = np.concatenate((self._pairs, new))
            order = np.argsort(merged, kind="stable")  # two runs in order: merged in one pass
            self._pairs = merged[order]
            self._hulls = np.concatenate((self._hulls, hulls))[order]
            self._asked = np.concatenate((self._asked, asked))[order]

    def _drop_least_recent(self) -> None:
        keep = self._most_pairs - self._most_pairs // ROOM_SHARE
        stay = np.sort(np.argpartition(self._asked, -keep)[-keep:]) if keep else np.empty(0, np.intp)
        self._pairs, self._hulls, self._asked = self._pairs[stay], self._hulls[stay], self._asked[stay]
        if self._gapped:
            held = set(self._pairs.tolist())
            self._gapped = {pair: offsets for pair, offsets in self._gapped.items() if pair in held}

    def _computed(self, pairs: Int64Array) -> Int64Array:
        """Compute new pairs, all in one go: return their hulls, (n, 2), and note those with several intervals."""
        u, u_index = np.unique(pairs >> 32, return_inverse=True)
        v, v_index = np.unique(pairs & 0xFFFFFFFF, return_inverse=True)
        us = [self._us.histogram(code) for code in u.tolist()]
        vs = [self._vs.histogram(code) for code in v.tolist()]
        found = offset_ranges(TemplatePairs(us, vs, u_index, v_index), self.window, self.threshold)
        hulls = np.tile(np.array([NEVER_US, -NEVER_US]), (len(pairs), 1))
        np.minimum.at(hulls[:, 0], found.pair, found.left)
        np.maximum.at(hulls[:, 1], found.pair, found.right)
        counts = np.bincount(found.pair, minlength=len(pairs))
        ends = np.cumsum(counts)  # the intervals come in the order of their pairs
        for nth in np.flatnonzero(counts > 1).tolist():
            own = slice(ends[nth] - counts[nth], ends[nth])
            self._gapped[int(pairs[nth])] = np.column_stack((found.left[own], found.right[own]))
        return hulls

    def _of_gapped(self, pair: Int64Array) -> Iterator[tuple[npt.NDArray[np.intp], Int64Array]]:
        """Yield the rows of each pair that has several intervals, and these."""
        if not self._gapped:
            return
        distinct, nth, counts = np.unique(pair, return_inverse=True, return_counts=True)
        order, ends = np.argsort(nth, kind="stable"), np.cumsum(counts).tolist()
        for each, start, end in zip(distinct.tolist(), [0, *ends], ends, strict=False):
            if each in self._gapped:
                yield order[start:end], self._gapped[each]


def _inside(intervals: Int64Array, offset_us: Int64Array) -> BoolArray:
    at = np.searchsorted(intervals[:, 0], offset_us, side="right") - 1
    inside: BoolArray = (at >= 0) & (offset_us <= intervals[np.maximum(at, 0), 1])
    return inside
