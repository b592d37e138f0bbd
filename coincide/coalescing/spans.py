"""Spans: neighbours in time, united where they belong together and touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.order import stable_order, stable_order_by
from coincide.coalescing.links import LinkRule

COLUMNS = ("code", "start_us", "end_us", "first", "last", "rows_of_each")
SPARE_BITS = 62


@dataclass(frozen=True)
class Spans:
    """Rows, or neighbouring rows made one, by (code, start). To unite them in parts gives the same as all at once."""

    code: npt.NDArray[np.integer[Any]]
    start_us: Int64Array
    end_us: Int64Array  # the latest of their rows
    first: PositionArray  # which row stands first in each
    last: PositionArray
    count: Int64Array | None = None  # rows in each; None: one

    def __len__(self) -> int:
        return len(self.code)

    @classmethod
    def joined(cls, parts: Sequence[Spans]) -> Spans:
        """Put parts that follow one another in time into the order by (code, start)."""
        if len(parts) == 1:
            return parts[0]
        whole = cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in COLUMNS))
        return whole.take(stable_order(whole.code))

    def take(self, order: PositionArray) -> Spans:
        """Return those at the places given."""
        return Spans(*(getattr(self, column).take(order) for column in COLUMNS))

    @property
    def rows_of_each(self) -> Int64Array:
        """How many rows each is made of, int64 (n,)."""
        return np.ones(len(self), np.int64) if self.count is None else self.count

    @property
    def same_code(self) -> BoolArray:
        """Whether each but the first has the code of the one before it, bool (n - 1,)."""
        return np.asarray(self.code[1:] == self.code[:-1])

    @property
    def overlap(self) -> bool:
        """Whether some of one code overlap or start together, so that more than neighbours can meet."""
        meet = self.start_us[1:] <= self.end_us[:-1]
        meet &= (self.start_us[1:] < self.end_us[:-1]) | (self.start_us[1:] == self.start_us[:-1])
        meet &= self.same_code
        return bool(meet.any())

    def united(self, rule: LinkRule) -> Spans:
        """Unite neighbours that the rule links and that start before all in their span have ended."""
        if len(self) == 0:
            return self
        linked = rule.links(self.last, self.first)
        belongs = self.same_code if linked is None else self.same_code & linked
        reach = self._reach(belongs)
        belongs &= self.start_us[1:] - rule.gap_us <= reach[:-1]
        (breaks,) = np.nonzero(~belongs)
        firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(self) - 1)
        count = lasts - firsts + 1 if self.count is None else np.add.reduceat(self.count, firsts)
        first, last = self.first.take(firsts), self.last.take(lasts)
        return Spans(self.code.take(firsts), self.start_us.take(firsts), reach.take(lasts), first, last, count)

    def _reach(self, belongs: BoolArray) -> Int64Array:
        """Return the latest end so far among those that belong together."""
        if not np.any((self.end_us[1:] < self.end_us[:-1]) & belongs):
            return self.end_us
        part = np.append(0, np.cumsum(~belongs))
        least, greatest = int(self.end_us.min()), int(self.end_us.max())
        if (greatest - least).bit_length() + len(self).bit_length() > SPARE_BITS:
            return self._reach_by_rank(part)
        part *= greatest - least + 1
        part -= least  # the ends of a part lie beyond those of all parts before it: one running maximum serves them all
        reach: Int64Array = np.maximum.accumulate(self.end_us + part) - part
        return reach

    def _reach_by_rank(self, part: Int64Array) -> Int64Array:
        """Ranks by (part, end) grow from part to part, however far apart the ends are."""
        by_end = stable_order_by(part, self.end_us)
        rank = np.empty(len(by_end), np.intp)
        rank[by_end] = np.arange(len(by_end))
        return self.end_us[by_end[np.maximum.accumulate(rank)]]
