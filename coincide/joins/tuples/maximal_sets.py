"""CompatibleEvents: which sets of compatible events cannot grow, worked out size by size in columns.

A set of events is compatible if every two of them are, and if all of them hold together. Then all its subsets are
compatible too. So candidates of one size are made of the compatible sets of the size below, as in the Apriori
algorithm (Agrawal, Srikant: Fast Algorithms for Mining Association Rules, 1994), and are judged in one call. Every set
belongs to its last event. Where some roles are required, sets grow from complete sets of their members, never from
optional ones alone. Nothing is remembered from batch to batch: what was maximal before an event follows from the
events that came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.numbers import is_whole
from coincide.arrays.range_expansion import BLOCK_PAIRS, expanded_range_blocks, expanded_ranges
from coincide.errors import CandidateLimitError, GraphError
from coincide.joins.progress import Progress, unheard
from coincide.joins.tuples.event_pairs import EventKinds, EventPairs
from coincide.joins.tuples.required_members import CandidateCounts, RequiredMembers, goes_on

Judge = Callable[[PositionArray], BoolArray]
"""Whether the members of each set hold all together, bool (n,); sets of at least three events, shape (n, size)."""

MOST_CANDIDATES = 100_000  # of one event: about a second where a joint probability takes 10 us


def checked_max_candidates(limit: int) -> int:
    """Return how many candidate sets one row may have, else raise GraphError."""
    if not is_whole(limit) or limit < 1:
        raise GraphError("max_candidates", limit, "a whole number of sets, at least 1")
    return limit


@dataclass(frozen=True, eq=False)
class _Level:
    """Compatible sets of one size, each row its start, then the events added to it, which rise; rows rise too.

    A start is the last event, or that and all required members. `without`, shape (n, events added), says which set of
    the level below lacks each of the events added.
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
        The later and the earlier event of every compatible pair, each once, in lexicographic order. Where some roles
        are required, only of pairs whose roles have an edge.
    holds : Judge, optional
        By default every two members are enough.
    max_candidates : int
        How many sets of three and more may be looked at for one row.
    looks_at : callable, optional
        Called with the number of candidates that are looked at next; what it raises ends the search.
    kinds : EventKinds, optional
        Given where some roles are required.
    """

    row: Int64Array
    pairs: tuple[PositionArray, PositionArray]
    holds: Judge | None
    max_candidates: int
    block: int = BLOCK_PAIRS
    looks_at: Callable[[int], None] = goes_on
    kinds: EventKinds | None = None

    @classmethod
    def of(
        cls,
        row: Int64Array,
        pairs: PositionArray,
        holds: Judge | None,
        max_candidates: int = MOST_CANDIDATES,
        block: int = BLOCK_PAIRS,
        looks_at: Callable[[int], None] = goes_on,
        kinds: EventKinds | None = None,
    ) -> CompatibleEvents:
        """Take pairs of positions, shape (2, pairs), in any order and some of them often."""
        keys = np.unique(pairs.max(axis=0) * len(row) + pairs.min(axis=0)) if pairs.size else np.empty(0, np.intp)
        later, earlier = np.divmod(keys, max(1, len(row)))
        return cls(row, (later, earlier), holds, max_candidates, block, looks_at, kinds)

    def maximal(self, since_row: int, at_least: int, progress: Progress = unheard) -> Iterator[PositionArray]:
        """Yield the sets of at least so many members that were maximal when their last event came, (n, size).

        Only sets that end with an event from `since_row` on count. The last event is the first of its set, and the
        others rise. All events that are compatible with it and came before must be known, and the pairs among them.
        `progress` is told the share of the events that are done.

        Raises
        ------
        CandidateLimitError
            For the first row that has more candidates than allowed, once all sets of the rows before it are yielded.
            It has none itself.
        """
        search = _Search(self)
        found = [_in_order(sets) for _, sets in search.maximal(at_least, since_row, progress)]
        for sets in found:
            yield sets[search.are_allowed(sets)]
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
        growths = []
        for start, sets in search.maximal(at_least, since_row):
            supersedes = np.zeros(len(sets), np.bool_)
            if sets.shape[1] > at_least and not start.is_required:
                supersedes = search.had_maximal_rest(sets, start)
            growths.append((_in_order(sets), supersedes))
        for sets, supersedes in growths:
            allowed = search.are_allowed(sets)
            yield sets[allowed], supersedes[allowed]
        search.refuse_beyond()


def _in_order(sets: PositionArray) -> PositionArray:
    """Let the members rise, but for the last event, which stays the first."""
    return np.column_stack([sets[:, 0], np.sort(sets[:, 1:], axis=1)])


@dataclass(frozen=True, eq=False)
class _Start:
    """What a search begins with: complete sets of required members and a last event, or last events alone.

    The sets of required members begin with an event of a `kind`.
    """

    level: _Level
    required: RequiredMembers | None = None
    kind: int = 0

    @property
    def is_required(self) -> bool:
        """Whether the last event is required."""
        return self.required is not None and self.required.is_required(self.kind)

    def larger(self) -> _Level:
        """Return what may be compatible sets with one optional event more than those of the start."""
        if self.required is None:
            return self.level
        at, other = self.required.optional_beside(self.level.members, self.kind)
        return _Level(np.column_stack([self.level.members[at], other]), at[:, None])


def _tell(progress: Progress, kind: int, kinds: int, share: float) -> None:
    """Tell which share is done, of events of so many kinds, one kind after the other."""
    progress((kind + share) / kinds)


class _Search:
    """One search, which counts the candidates of each row and stops before the first row that has too many."""

    def __init__(self, events: CompatibleEvents) -> None:
        self._events = events
        self._row, self._holds, kinds = events.row, events.holds, events.kinds
        self._pairs = EventPairs(events.row, *events.pairs, kinds)
        self._counts = CandidateCounts(events.row, events.max_candidates, events.looks_at)
        self._required = None if kinds is None else RequiredMembers(self._pairs, kinds, self._counts)

    def maximal(
        self, at_least: int, since_row: int, progress: Progress = unheard
    ) -> Iterator[tuple[_Start, PositionArray]]:
        kinds = 1 if self._events.kinds is None else len(self._events.kinds.plan.kinds)
        for start in self._starts(since_row):
            for sets in self._maximal(start.level, start, partial(_tell, progress, start.kind, kinds)):
                if len(sets) and sets.shape[1] >= at_least:
                    yield start, sets

    def are_allowed(self, sets: PositionArray) -> BoolArray:
        """Whether sets end with events of rows before the first that has too many candidates."""
        return self._counts.are_within(sets[:, 0])

    def refuse_beyond(self) -> None:
        """Raise an error if a row has too many candidates."""
        if self._counts.beyond < len(self._row):
            raise CandidateLimitError(self._events.max_candidates, int(self._row[self._counts.beyond]))

    def had_maximal_rest(self, sets: PositionArray, start: _Start) -> BoolArray:
        """Whether the members but for the last event were maximal: no row before that event's would enlarge them."""
        near, first = self._pairs.neighbours
        maximal = np.ones(len(sets), np.bool_)
        for of, wanted in self._beside_rest(sets, start):
            for at, place in expanded_range_blocks(first[of], first[of + 1]):
                maximal[self._enlarged(sets, of, at, near[place], wanted)] = False
        return maximal

    def _beside_rest(self, sets: PositionArray, start: _Start) -> Iterator[tuple[PositionArray, BoolArray | None]]:
        """Yield a member of each set that all others which enlarge it are partners of, and their kinds."""
        if self._required is None:
            rest, first = sets[:, 1:], self._pairs.neighbours[1]
            yield np.take_along_axis(rest, np.diff(first)[rest].argmin(axis=1)[:, None], axis=1)[:, 0], None
        for column, wanted in () if start.required is None else start.required.beside(start.kind):
            yield sets[:, column], wanted

    def _enlarged(
        self,
        sets: PositionArray,
        of: PositionArray,
        at: PositionArray,
        other: PositionArray,
        wanted: BoolArray | None,
    ) -> PositionArray:
        """Return which sets `at`, without their last event, the other event beside each enlarges; it fits `of`."""
        last, rest = sets[at, 0], sets[at, 1:]
        fits = self._row[other] < self._row[last]
        if self._required is not None and wanted is not None:
            fits &= wanted[self._required.kind[other]]
        for member in rest.T:
            fits &= (member == of[at]) | self._pairs.are_compatible(member, other)
        if self._holds is not None:
            self._counts.add_one_each(last[fits])
            fits &= self._counts.are_within(last)
            larger = np.column_stack([other, rest])[fits]
            fits[fits] = self._holds(larger) if len(larger) else False
        enlarged: PositionArray = at[fits]
        return enlarged

    def _starts(self, since_row: int) -> Iterator[_Start]:
        if self._required is None:
            later, earlier = self._events.pairs
            new = np.searchsorted(self._row[later], since_row)
            yield _Start(_Level(np.column_stack([later[new:], earlier[new:]]), later[new:, None]))
            return
        for kind, sets in self._required.complete_sets(since_row):
            level = self._holding(_Level(sets, np.empty((len(sets), 0), np.intp)))
            yield _Start(level, self._required, kind)

    def _maximal(self, level: _Level, start: _Start, progress: Progress = unheard) -> Iterator[PositionArray]:
        for part in self._parts(level):
            progress(float(part.members[0, 0]) / len(self._row))
            larger = self._larger(part) if part.without.shape[1] else self._holding(start.larger())
            can_grow = np.zeros(len(part), np.bool_)
            can_grow[larger.without.ravel()] = True
            is_final = ~can_grow & self._counts.are_within(part.members[:, 0])
            yield part.members[is_final]
            if len(larger):
                yield from self._maximal(larger, start)

    def _parts(self, level: _Level) -> Iterator[_Level]:
        """Part the sets by event, so that a part has about a block of candidates or one event."""
        if len(level) == 0:
            return
        if level.without.shape[1] == 0:
            yield level
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
        return self._holding(self._with_all_subsets(level, members, one, other))

    def _holding(self, level: _Level) -> _Level:
        if self._holds is None or len(level) == 0 or level.members.shape[1] <= 2:
            return level
        return level.take(self._holds(level.members))

    def _within_limit(self, level: _Level) -> tuple[_Level, PositionArray]:
        """Count the candidates of each row; leave out the rows from the first one that has too many."""
        stop = level.partners()
        self._counts.add(level.members[:, 0], stop - np.arange(1, len(level) + 1))
        kept = np.count_nonzero(self._counts.are_within(level.members[:, 0]))  # they come first
        return level.take(slice(0, kept)), stop[:kept]

    def _with_all_subsets(
        self, level: _Level, members: PositionArray, one: PositionArray, other: PositionArray
    ) -> _Level:
        """Keep candidates all of whose subsets of one size less, with the start, are in the level."""
        if level.without.shape[1] == 1:
            keep = self._pairs.are_compatible(members[:, -1], members[:, -2])
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
