"""Closed ranges of offsets of template pairs, and offsets whose probability was compared with the threshold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.arrays.order import stable_order_by

NEVER_LO_US, NEVER_HI_US = 2**61, -(2**61)  # hull of no offset at all: min and max over pairs pass it over


@dataclass(frozen=True, eq=False)
class Ranges:
    """Closed ranges of offsets in microseconds (in the search over break points, of their ranks), each of one pair."""

    pair: IndexArray
    left: OffsetArray
    right: OffsetArray

    def __len__(self) -> int:
        return len(self.pair)

    def hulls(self, pairs: int) -> tuple[OffsetArray, OffsetArray]:
        """Return the least and the greatest offset of each pair, shape (pairs,); 2**61 and -2**61 if it has none."""
        lo, hi = np.full(pairs, NEVER_LO_US), np.full(pairs, NEVER_HI_US)
        np.minimum.at(lo, self.pair, self.left)
        np.maximum.at(hi, self.pair, self.right)
        return lo, hi

    def where(self, chosen: BoolArray) -> Ranges:
        """Return the chosen ranges."""
        return Ranges(self.pair[chosen], self.left[chosen], self.right[chosen])

    def in_order(self) -> Ranges:
        """Sort by (pair, left)."""
        order = stable_order_by(self.pair, self.left)
        return Ranges(self.pair[order], self.left[order], self.right[order])


@dataclass(frozen=True, eq=False)
class JudgedOffsets:
    """Offsets of template pairs in microseconds, each with the excess of its probability over what it must reach."""

    pair: IndexArray
    offset: OffsetArray
    excess: FloatArray

    @property
    def qualifies(self) -> BoolArray:
        """Whether each offset qualifies, shape (n,)."""
        return self.excess >= 0

    def take(self, chosen: BoolArray | IndexArray) -> JudgedOffsets:
        """Return the chosen offsets."""
        return JudgedOffsets(self.pair[chosen], self.offset[chosen], self.excess[chosen])

    def moved_to(self, others: JudgedOffsets, chosen: BoolArray) -> JudgedOffsets:
        """Return the offsets with those chosen replaced by the others', of the same pairs."""
        offset = np.where(chosen, others.offset, self.offset)
        return JudgedOffsets(self.pair, offset, np.where(chosen, others.excess, self.excess))

    def in_order(self) -> JudgedOffsets:
        """Sort by (pair, offset); of offsets judged several times keep the first."""
        order = stable_order_by(self.pair, self.offset)
        repeated = (np.diff(self.pair[order], prepend=-1) == 0) & (np.diff(self.offset[order], prepend=0) == 0)
        return self.take(order[~repeated])

    def brackets(self) -> tuple[JudgedOffsets, JudgedOffsets]:
        """Return the neighbours, once in order, that differ in verdict and lie more than a microsecond apart."""
        qualifies, same_pair = self.qualifies, np.diff(self.pair) == 0
        at = np.flatnonzero(same_pair & (qualifies[1:] != qualifies[:-1]) & (np.diff(self.offset) > 1))
        return self.take(at), self.take(at + 1)

    def intervals(self) -> Ranges:
        """Return the runs of offsets, once in order, that qualify."""
        qualifies = self.qualifies
        new_pair = np.diff(self.pair, prepend=-1) != 0
        last_of_pair = np.diff(self.pair, append=-1) != 0
        before = np.concatenate(([False], qualifies[:-1])) & ~new_pair
        after = np.concatenate((qualifies[1:], [False])) & ~last_of_pair
        start, end = qualifies & ~before, qualifies & ~after
        return Ranges(self.pair[start], self.offset[start], self.offset[end])


NONE_JUDGED = JudgedOffsets(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

Rows = TypeVar("Rows", Ranges, JudgedOffsets)


def joined(*parts: Rows) -> Rows:
    """Concatenate parts of one kind."""
    kind, names = type(parts[0]), [field.name for field in fields(parts[0])]
    return kind(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
