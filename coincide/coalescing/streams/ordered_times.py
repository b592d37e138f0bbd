"""OrderedTimes: distinct times in order, in blocks, so that one that comes late moves few others."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain, islice

BLOCK = 256  # a longer block is halved


class OrderedTimes:
    """A sorted list of distinct integers; to add one anywhere costs about the same however many there are."""

    __slots__ = ("_blocks", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[array[int]] = []
        self._firsts: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._blocks)

    @property
    def first(self) -> int:
        """The earliest; there must be one."""
        return self._blocks[0][0]

    @property
    def last(self) -> int:
        """The latest; there must be one."""
        return self._blocks[-1][-1]

    def after(self, ts_us: int | None, count: int) -> list[int]:
        """Return the first so many after a time; the first of all if none is given."""
        if ts_us is None or not self._blocks:
            return list(islice(self, count))
        number = max(bisect_right(self._firsts, ts_us) - 1, 0)
        block = self._blocks[number]
        rest = chain.from_iterable(self._blocks[at] for at in range(number + 1, len(self._blocks)))
        return list(islice(chain(block[bisect_right(block, ts_us) :], rest), count))

    def append(self, ts_us: int) -> None:
        """Add one that is later than all."""
        if not self._blocks or len(self._blocks[-1]) >= BLOCK:
            self._blocks.append(array("q"))
            self._firsts.append(ts_us)
        self._blocks[-1].append(ts_us)

    def add(self, ts_us: int) -> tuple[int | None, int | None]:
        """Add one that is not there; return the one before it and the one after it, None where there is none."""
        blocks = self._blocks
        if not blocks or ts_us > blocks[-1][-1]:
            before = blocks[-1][-1] if blocks else None
            self.append(ts_us)
            return before, None
        number = bisect_right(self._firsts, ts_us) - 1
        if number < 0:
            after = self._firsts[0]
            blocks[0].insert(0, ts_us)
            self._firsts[0] = ts_us
            self._halve(0)
            return None, after
        block = blocks[number]
        place = bisect_right(block, ts_us)
        around = block[place - 1], block[place] if place < len(block) else self._firsts[number + 1]
        block.insert(place, ts_us)
        self._halve(number)
        return around

    def _halve(self, number: int) -> None:
        """Split a block that is too long."""
        block = self._blocks[number]
        if len(block) > BLOCK:
            half = len(block) // 2
            self._blocks.insert(number + 1, block[half:])
            self._firsts.insert(number + 1, block[half])
            del block[half:]

    def remove(self, ts_us: int) -> None:
        """Take one out that is there."""
        number = bisect_right(self._firsts, ts_us) - 1
        block = self._blocks[number]
        del block[bisect_left(block, ts_us)]
        if block:
            self._firsts[number] = block[0]
        else:
            del self._blocks[number], self._firsts[number]

    def pop_first(self) -> None:
        """Take the earliest out; there must be one."""
        block = self._blocks[0]
        del block[0]
        if block:
            self._firsts[0] = block[0]
        else:
            del self._blocks[0], self._firsts[0]

    def replace_first(self, ts_us: int) -> None:
        """Put a time in the earliest one's place; it must be before the second."""
        self._blocks[0][0] = self._firsts[0] = ts_us

    def around(self, ts_us: int) -> tuple[int | None, int | None]:
        """Return the last one before a time and the first one after it, None where there is none."""
        blocks, firsts, before, after = self._blocks, self._firsts, None, None
        if blocks and ts_us > firsts[0]:
            block = blocks[bisect_left(firsts, ts_us) - 1]
            before = block[bisect_left(block, ts_us) - 1]
        if blocks and ts_us < blocks[-1][-1]:
            number = max(bisect_right(firsts, ts_us) - 1, 0)
            block = blocks[number]
            place = bisect_right(block, ts_us)
            after = block[place] if place < len(block) else firsts[number + 1]
        return before, after

    def at_or_before(self, ts_us: int) -> int:
        """Return the last one not after a time; there must be one."""
        block = self._blocks[bisect_right(self._firsts, ts_us) - 1]
        return block[bisect_right(block, ts_us) - 1]

    def count(self, begin_us: int, end_us: int) -> int:
        """Return how many there are from a time to another, which is excluded."""
        if not self._blocks or not begin_us < end_us:
            return 0
        first = max(bisect_right(self._firsts, begin_us) - 1, 0)
        last = max(bisect_left(self._firsts, end_us) - 1, 0)
        counted = bisect_left(self._blocks[last], end_us) - bisect_left(self._blocks[first], begin_us)
        return counted + sum(map(len, self._blocks[first:last]))
