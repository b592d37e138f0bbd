"""RowBlocks: rows in order of time, united block by block while a block is in the processor's cache.

Sensors report in turns: the rows of one group lie far apart, and to sort them all by group is to read memory at random.
Within a block that costs next to nothing. What a block makes of a group is a span as a row is one, and the spans
are united at last: as many as there are runs, and at most one more for each group and block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.arrays.order import IntegerArray, narrow, stable_order, stable_sort
from coincide.coalescing.columns import BEYOND_US, in_time_order
from coincide.coalescing.links import LinkRule
from coincide.coalescing.spans import Spans

BLOCK_ROWS = 1 << 15  # some columns of so many rows fit into a core's own cache
FEWEST_ROWS = 16  # of a group in a block, on average: with many groups blocks are larger


@dataclass(frozen=True)
class RowBlocks:
    """Facts, or readings: rows whose `end_us` is left out hold for `hold_us`, one of each code at each instant."""

    code: IntegerArray  # from 0, row by row
    codes: int
    start_us: Int64Array  # in order of time, or of (code, time)
    order: PositionArray | None  # which row each of those is of; None where rows stand so
    end_us: Int64Array | None  # row by row
    hold_us: int

    @classmethod
    def of(
        cls, code: IntegerArray, start_us: Int64Array, end_us: Int64Array | None = None, hold_us: int = BEYOND_US
    ) -> RowBlocks:
        """Put rows, in any order, into that of time."""
        codes = int(code.max(initial=-1)) + 1
        in_order = in_time_order(code, start_us)
        starts, order = (start_us, None) if in_order else stable_sort(start_us)
        return cls(narrow(code, codes), codes, starts, order, end_us, hold_us)

    def divided(self, code: IntegerArray) -> RowBlocks:
        """Return the same rows under new codes; those of one new code must have been of one code before."""
        codes = int(code.max(initial=-1)) + 1
        return replace(self, code=narrow(code, codes), codes=codes)

    def __iter__(self) -> Iterator[Spans]:
        return (self._block(begin, end) for begin, end in pairwise(self._cuts))

    def united(self, rule: LinkRule) -> Spans:
        """Unite all rows."""
        parts = [block.united(rule) for block in self]
        return parts[0] if len(parts) == 1 else Spans.joined(parts).united(rule)

    def united_apart(self, rule: LinkRule) -> Spans | None:
        """Unite all rows; None as soon as some of one code are seen to overlap, or to start together."""
        parts = []
        for block in self:
            if block.overlap:
                return None
            parts.append(block.united(rule))
        joined = Spans.joined(parts)
        return None if joined.overlap else joined.united(rule)

    @property
    def _cuts(self) -> Sequence[int]:
        """Where blocks begin and end: never within an instant, which hardly has more rows than there are codes."""
        rows, step = len(self.code), max(BLOCK_ROWS, FEWEST_ROWS * self.codes)
        cuts = [0]
        for near in range(step, rows, step):
            start = self.start_us[near - 1 : near + min(2 * self.codes, step)]
            (changes,) = np.nonzero(start[1:] != start[:-1])
            cuts += [near + int(change) for change in changes[:1]]
        return [*cuts, rows]

    def _block(self, begin: int, end: int) -> Spans:
        start = self.start_us[begin:end]
        rows = np.arange(begin, end) if self.order is None else self.order[begin:end]
        code = self.code[begin:end] if self.order is None else self.code.take(rows)
        if np.any(code[1:] < code[:-1]):
            by_code = stable_order(code)
            code, start, rows = code.take(by_code), start.take(by_code), rows.take(by_code)
        if self.end_us is not None:
            return Spans(code, start, self.end_us.take(rows), rows, rows)
        again = start[1:] == start[:-1]
        again &= code[1:] == code[:-1]
        if again.any():
            kept = np.append(0, np.flatnonzero(~again) + 1)
            code, start, rows = code.take(kept), start.take(kept), rows.take(kept)
        return Spans(code, start, start + self.hold_us, rows, rows)
