"""CompatibleEvents: which sets of compatible events cannot grow, worked out size by size in columns.

A set of events is compatible if every two of them are, and if all of them hold together. Then all its subsets are
compatible too. So candidates of one size are made of the compatible sets of the size below, as in the Apriori
algorithm (Agrawal, Srikant: Fast Algorithms for Mining Association Rules, 1994), and are judged in one call. Every set
belongs to its last event. Nothing is remembered from batch to batch: what was maximal before an event follows from the
events that came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.numbers import is_whole
from coincide.arrays.range_expansion import BLOCK_PAIRS, expanded_range_blocks, expanded_ranges
from coincide.errors import CandidateLimitError, GraphError

Judge = Callable[[PositionArray], BoolArray]
"""Whether the members of each set hold all together, bool (n,); sets of at least three events, shape (n, size)."""

MOST_CANDIDATES = 100_000  # of one event: about a second where a joint probability takes 10 us


def whatever(candidates: int) -> None:
    """Let a search go on."""


def checked_max_candidates(limit: int) -> int:
    """Return how many candidate sets one row may have, else raise GraphError."""
    if not is_whole(limit) or limit < 1:
        raise GraphError("max_candidates", limit, "a whole number of sets, at least 1")
    return limit


@dataclass(frozen=True, eq=False)
class _Level:
    """Compatible sets of one size, each row its last event, then the others, which rise; rows rise too.

    `without`, shape (n, size - 1), says which set of the level below lacks each of the others.
    """

    members: PositionArray
    without: PositionArray

    def __len__(self) -> int:
        return len(self.members)

    def take(self, at: PositionArray | BoolArray | slice) -> _Level:
        """Return the given sets, which rise."""
        return _Level(self.members[at], self.without[at])

    def partners(self) -> PositionArray:
        """Return, for each set, the end of the sets behind it that differ from it in the last member alone."""
        start = self.without[:, -1]
        return np.searchsorted(start, start, side="right")


@dataclass(frozen=True, eq=False)
class CompatibleEvents:
    """Events by position, in the order of arrival, and which two of them are compatible.

    Attributes
    ----------
    row : ndarray of int64, shape (n,)
        The row that each event is, which rises. A row that may play several roles is several events.
    pairs : tuple of ndarray of intp, each of shape (pairs,)
        The later and the earlier event of every compatible pair, each once, in lexicographic order.
    holds : Judge, optional
        By default every two members are enough.
    max_candidates : int
        How many sets of three and more may be looked at for one row.
    looks_at : callable, optional
        Called with the number of candidates that are looked at next; what it raises ends the search.
    """

    row: Int64Array
    pairs: tuple[PositionArray, PositionArray]
    holds: Judge | None
    max_candidates: int
    block: int = BLOCK_PAIRS
    looks_at: Callable[[int], None] = whatever

    @classmethod
    def of(
        cls,
        row: Int64Array,
        pairs: PositionArray,
        holds: Judge | None,
        max_candidates: int = MOST_CANDIDATES,
        block: int = BLOCK_PAIRS,
        looks_at: Callable[[int], None] = whatever,
    ) -> CompatibleEvents:
        """Take pairs of positions, shape (2, pairs), in any order and some of them often."""
        keys = np.unique(pairs.max(axis=0) * len(row) + pairs.min(axis=0)) if pairs.size else np.empty(0, np.intp)
        later, earlier = np.divmod(keys, max(1, len(row)))
        return cls(row, (later, earlier), holds, max_candidates, block, looks_at)

    def maximal(self, since_row: int, at_least: int) -> Iterator[PositionArray]:
        """Yield the sets of at least so many members that were maximal when their last event came, (n, size).

        Only sets that end with an event from `since_row` on count. The last event is the first of its set, and the
        others rise. All events that are compatible with it and came before must be known, and the pairs among them.

        Raises
        ------
        CandidateLimitError
            For the first row that has more candidates than allowed, once all sets of the rows before it are yielded.
        """
        search = _Search(self)
        yield from search.maximal(at_least, since_row)
        search.refuse_beyond()

    def growths(self, since_row: int, at_least: int) -> Iterator[tuple[PositionArray, BoolArray]]:
        """Yield the sets of `maximal`, and whether each supersedes the set of its members but for the last.

        It does if that set was maximal, and large enough, before the last member came. To tell, every event that is
        compatible with one of its members must be known.

        Raises
        ------
        CandidateLimitError
            As `maximal`.
        """
        search = _Search(self)
        for sets in search.maximal(at_least, since_row):
            supersedes = np.zeros(len(sets), np.bool_)
            if sets.shape[1] > at_least:
                supersedes = search.had_maximal_rest(sets)
            yield sets, supersedes
        search.refuse_beyond()


class _Search:
    """One search, which counts the candidates of each row and stops before the first row that has too many."""

    def __init__(self, events: CompatibleEvents) -> None:
        self._events = events
        self._row, self._holds = events.row, events.holds
        later, earlier = events.pairs
        self._keys = later * len(events.row) + earlier  # they rise
        self._first_of_row = np.searchsorted(events.row, events.row)  # names a row by its first event
        self._candidates = np.zeros(len(events.row), np.int64)
        self._beyond = len(events.row)  # the first event of the first row that has too many

    def maximal(self, at_least: int, since_row: int) -> Iterator[PositionArray]:
        later, earlier = self._events.pairs
        start = np.searchsorted(self._row[later], since_row)
        level = _Level(np.column_stack([later[start:], earlier[start:]]), later[start:, None])
        for sets in self._maximal(level):
            if len(sets) and sets.shape[1] >= at_least:
                yield sets

    def refuse_beyond(self) -> None:
        """Raise an error if a row has too many candidates."""
        if self._beyond < len(self._row):
            raise CandidateLimitError(self._events.max_candidates, int(self._row[self._beyond]))

    def had_maximal_rest(self, sets: PositionArray) -> BoolArray:
        """Whether the members but for the last event were maximal: no row before that event's would enlarge them."""
        rest = sets[:, 1:]
        near, first = self._neighbours
        of = np.take_along_axis(rest, np.diff(first)[rest].argmin(axis=1)[:, None], axis=1)[:, 0]
        maximal = np.ones(len(sets), np.bool_)
        for block, place in expanded_range_blocks(first[of], first[of + 1]):
            maximal[self._enlarged(sets, of, block, near[place])] = False
        return maximal

    def _enlarged(
        self, sets: PositionArray, of: PositionArray, at: PositionArray, other: PositionArray
    ) -> PositionArray:
        """Return which sets `at`, without their last event, the other event beside each enlarges; it fits `of`."""
        last, rest = sets[at, 0], sets[at, 1:]
        fits = self._row[other] < self._row[last]
        for member in rest.T:
            fits &= (member == of[at]) | self._are_compatible(member, other)
        if self._holds is not None:
            self._count(last[fits], np.ones(np.count_nonzero(fits), np.int64))
            fits &= self._is_allowed(last)
            larger = np.column_stack([other, rest])[fits]
            fits[fits] = self._holds(larger) if len(larger) else False
        enlarged: PositionArray = at[fits]
        return enlarged

    def _maximal(self, level: _Level) -> Iterator[PositionArray]:
        for part in self._parts(level):
            larger = self._larger(part)
            can_grow = np.zeros(len(part), np.bool_)
            can_grow[larger.without.ravel()] = True
            is_final = ~can_grow & self._is_allowed(part.members[:, 0])
            yield part.members[is_final]
            if len(larger):
                yield from self._maximal(larger)

    def _parts(self, level: _Level) -> Iterator[_Level]:
        """Part the sets by event, so that a part has about a block of candidates or one event."""
        if len(level) == 0:
            return
        ends = np.append(np.flatnonzero(np.diff(level.members[:, 0])) + 1, len(level))
        count = np.cumsum(level.partners() - np.arange(len(level)))[ends - 1]
        cuts = np.searchsorted(count, np.arange(self._events.block, count[-1], self._events.block))
        for first, last in pairwise(np.unique([0, *ends[cuts].tolist(), len(level)]).tolist()):
            yield level.take(slice(first, last))

    def _larger(self, level: _Level) -> _Level:
        """Return the compatible sets of the next size, which are made of two that differ in the last member."""
        level, stop = self._within_limit(level)
        one, other = expanded_ranges(np.arange(1, len(level) + 1), stop)
        members = np.column_stack([level.members[one], level.members[other, -1]])
        larger = self._with_all_subsets(level, members, one, other)
        if self._holds is None or len(larger) == 0:
            return larger
        return larger.take(self._holds(larger.members))

    def _within_limit(self, level: _Level) -> tuple[_Level, PositionArray]:
        """Count the candidates of each row; leave out the rows from the first one that has too many."""
        stop = level.partners()
        self._count(level.members[:, 0], stop - np.arange(1, len(level) + 1))
        kept = np.count_nonzero(self._is_allowed(level.members[:, 0]))  # they come first
        return level.take(slice(0, kept)), stop[:kept]

    def _count(self, event: PositionArray, candidates: Int64Array) -> None:
        """Add candidates of each event; note the first row that has too many."""
        self._events.looks_at(int(candidates.sum()))
        row = self._first_of_row[event]
        np.add.at(self._candidates, row, candidates)
        over = row[self._candidates[row] > self._events.max_candidates]
        self._beyond = min(self._beyond, int(over.min(initial=self._beyond)))

    def _with_all_subsets(
        self, level: _Level, members: PositionArray, one: PositionArray, other: PositionArray
    ) -> _Level:
        """Keep candidates all of whose subsets of one size less, with the last event, are in the level."""
        if members.shape[1] == 3:
            keep = self._are_compatible(members[:, 2], members[:, 1])
            return _Level(members[keep], np.column_stack([other[keep], one[keep]]))
        keys = level.without[:, -1] * len(self._row) + level.members[:, -1]
        without: list[PositionArray] = []
        for lacks in level.without[:, :-1].T:
            wanted = lacks[one] * len(self._row) + members[:, -1]
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            keep = keys[at] == wanted
            without = [each[keep] for each in (*without, at)]
            members, one, other = members[keep], one[keep], other[keep]
        return _Level(members, np.column_stack([*without, other, one]))

    def _are_compatible(self, one: PositionArray, other: PositionArray) -> BoolArray:
        if len(self._keys) == 0:
            return np.zeros(len(one), np.bool_)
        wanted = np.maximum(one, other) * len(self._row) + np.minimum(one, other)
        are: BoolArray = self._keys[np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)] == wanted
        return are

    def _is_allowed(self, event: PositionArray) -> BoolArray:
        allowed: BoolArray = event < self._beyond
        return allowed

    @cached_property
    def _neighbours(self) -> tuple[PositionArray, PositionArray]:
        """Return the compatible events of each event, one's behind the other's, and where those of each begin."""
        later, earlier = self._events.pairs
        of, near = np.concatenate([later, earlier]), np.concatenate([earlier, later])
        order = np.argsort(of, kind="stable")
        return near[order], np.searchsorted(of[order], np.arange(len(self._row) + 1))
