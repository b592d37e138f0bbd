"""PairEntries: what is remembered of template pairs, sorted by the codes of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.arrays.order import group_starts, stable_order
from coincide.offsets.ranges import Ranges

CODE_BITS = 32


def pairs_of(u: CodeArray | Int64Array, v: CodeArray | Int64Array) -> Int64Array:
    """Return the numbers of pairs of codes: sorted by u, then v."""
    return (u.astype(np.int64) << CODE_BITS) | v


def codes_of(pairs: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Undo `pairs_of`."""
    return pairs >> CODE_BITS, pairs & (2**CODE_BITS - 1)


class PairEntries:
    """One entry a pair, by ascending `pairs`: its last look-up, how many `events` it had, and its offsets if known."""

    def __init__(self) -> None:
        self.pairs = np.empty(0, np.int64)
        self.events = np.empty(0, np.int64)
        self.has_offsets = np.empty(0, np.bool_)
        self._hulls_us = np.empty((0, 2), np.int64)
        self._last_call = np.empty(0, np.int64)
        self._gapped: dict[int, Int64Array] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    def look_up(self, pairs: Int64Array, events: Int64Array, call: int) -> PositionArray:
        """Return the positions of these pairs, distinct and in order, looked up for so many events; add new ones."""
        at = np.searchsorted(self.pairs, pairs)
        new = np.ones(len(pairs), np.bool_)
        inside = at < len(self)
        new[inside] = self.pairs[at[inside]] != pairs[inside]
        if new.any():
            self._insert(pairs[new])
            at = np.searchsorted(self.pairs, pairs)
        self._last_call[at] = call
        self.events[at] += events
        return at

    def set_offsets(self, at: PositionArray, ranges: Ranges) -> None:
        """Note the qualifying offsets of the entries at these positions; ``ranges.pair`` counts within them."""
        self._hulls_us[at], self.has_offsets[at] = np.column_stack(ranges.hulls(len(at))), True
        counts = np.bincount(ranges.pair, minlength=len(at))
        ends = np.cumsum(counts)  # the intervals come in the order of their pairs
        for nth in np.flatnonzero(counts > 1).tolist():
            own = slice(ends[nth] - counts[nth], ends[nth])
            self._gapped[int(self.pairs[at[nth]])] = np.column_stack((ranges.left[own], ranges.right[own]))

    def contain(self, at: PositionArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset qualifies by the offsets of the entry at its position, which are known."""
        inside: BoolArray = (self._hulls_us[at, 0] <= offset_us) & (offset_us <= self._hulls_us[at, 1])
        for rows, intervals in self._of_gapped(at):
            inside[rows] &= _inside(intervals, offset_us[rows])
        return inside

    def contain_within(self, at: PositionArray, offset_us: Int64Array, further_us: Int64Array) -> BoolArray:
        """`contain`, the ends of each entry's offsets moved apart by `further_us`; only single intervals are moved."""
        still = further_us == 0
        inside: BoolArray = (self._hulls_us[at, 0] <= offset_us + further_us) & (
            offset_us - further_us <= self._hulls_us[at, 1]
        )
        inside &= self._hulls_us[at, 0] <= self._hulls_us[at, 1]
        inside[still] = self.contain(at[still], offset_us[still])
        return inside

    def keep_latest(self, count: int) -> None:
        """Forget all but the entries looked up last."""
        stay = np.argsort(self._last_call, kind="stable")[len(self) - count :]
        self._keep(np.sort(stay), {pair: pair for pair in self._gapped})

    def recode(self, u_code: CodeArray, v_code: CodeArray) -> None:
        """Replace the codes by those at their place in `u_code` and `v_code`; entries with a -1 are forgotten."""
        u, v = (new[old] for new, old in zip((u_code, v_code), codes_of(self.pairs), strict=True))
        new_pairs = pairs_of(u, v)
        stay = np.flatnonzero((u >= 0) & (v >= 0))
        stay = stay[np.argsort(new_pairs[stay])]
        at = np.searchsorted(self.pairs, np.array(list(self._gapped), dtype=np.int64))
        new_of = dict(zip(self._gapped, new_pairs[at].tolist(), strict=True))
        self.pairs = new_pairs
        self._keep(stay, new_of)

    def _insert(self, new: Int64Array) -> None:
        merged = np.concatenate((self.pairs, new))
        order = np.argsort(merged, kind="stable")  # two runs in order: merged in one pass
        empty = np.zeros((len(new), 2), np.int64)
        self.pairs = merged[order]
        self._hulls_us = np.concatenate((self._hulls_us, empty))[order]
        self._last_call = np.concatenate((self._last_call, empty[:, 0]))[order]
        self.events = np.concatenate((self.events, empty[:, 0]))[order]
        self.has_offsets = np.concatenate((self.has_offsets, np.zeros(len(new), np.bool_)))[order]

    def _keep(self, stay: PositionArray, new_of: dict[int, int]) -> None:
        """Keep the entries at these positions, and of the intervals those whose new pair is kept."""
        self.pairs, self._hulls_us = self.pairs[stay], self._hulls_us[stay]
        self._last_call, self.events = self._last_call[stay], self.events[stay]
        self.has_offsets = self.has_offsets[stay]
        kept = set(self.pairs.tolist()) if self._gapped else set()
        self._gapped = {new_of[pair]: each for pair, each in self._gapped.items() if new_of[pair] in kept}

    def _of_gapped(self, at: PositionArray) -> Iterator[tuple[PositionArray, Int64Array]]:
        """Yield the rows of each entry that has several intervals, and these."""
        if not self._gapped:
            return
        order = stable_order(at)
        starts = group_starts(at[order])
        ends = pairwise([*starts.tolist(), len(order)])
        for pair, (start, end) in zip(self.pairs[at[order[starts]]].tolist(), ends, strict=True):
            if pair in self._gapped:
                yield order[start:end], self._gapped[pair]


def _inside(intervals: Int64Array, offset_us: Int64Array) -> BoolArray:
    at = np.searchsorted(intervals[:, 0], offset_us, side="right") - 1
    inside: BoolArray = (at >= 0) & (offset_us <= intervals[np.maximum(at, 0), 1])
    return inside
