"""RequiredMembers: complete sets of required members, and the optional events beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.range_expansion import expanded_range_blocks
from coincide.joins.tuples.event_pairs import EventKinds, EventPairs

MOST_LAST = 4096  # last events whose sets are searched together, so that memory does not grow with the batch

Beside = tuple[int, BoolArray]
"""A column of sets, and the kinds whose events are found as partners of its members, bool (kinds,)."""


def goes_on(candidates: int) -> None:
    """Let a search go on."""


class CandidateCounts:
    """Counts the candidates of each row, and knows the first event of the first row that has too many.

    `looks_at` is told how many candidates are looked at next; what it raises ends the search.
    """

    def __init__(self, row: Int64Array, most: int, looks_at: Callable[[int], None] = goes_on) -> None:
        self._looks_at = looks_at
        self._first_of_row = np.searchsorted(row, row)  # names a row by its first event
        self._candidates = np.zeros(len(row), np.int64)
        self._most, self.beyond = most, len(row)

    def add(self, event: PositionArray, candidates: Int64Array) -> None:
        """Add candidates of each event; note the first row that has too many."""
        self._looks_at(int(candidates.sum()))
        row = self._first_of_row[event]
        np.add.at(self._candidates, row, candidates)
        over = row[self._candidates[row] > self._most]
        self.beyond = min(self.beyond, int(over.min(initial=self.beyond)))

    def add_one_each(self, event: PositionArray) -> None:
        """Add one candidate for each time that an event is named."""
        self.add(event, np.ones(len(event), np.int64))

    def are_within(self, event: PositionArray) -> BoolArray:
        """Whether events are of rows before the first that has too many."""
        within: BoolArray = event < self.beyond
        return within


class RequiredMembers:
    """Searches along pairs of tied events; what it looks at counts as candidates of the last event's row."""

    def __init__(self, pairs: EventPairs, kinds: EventKinds, counts: CandidateCounts) -> None:
        self._pairs, self._plan, self._counts = pairs, kinds.plan, counts
        self.kind = kinds.of

    def is_required(self, kind: int) -> bool:
        """Whether every set has members of a kind."""
        return self._plan.needed[kind] > 0

    def beside(self, kind: int) -> list[Beside]:
        """Return where optional events are found beside the complete sets whose last event is of a kind."""
        return [(column, self._wanted(kinds)) for column, kinds in self._plan.adding(kind).items()]

    def complete_sets(self, since_row: int) -> Iterator[tuple[int, PositionArray]]:
        """Yield sets of a last event, from a row on, and all required members, (n, size); the kind of the last first.

        Every two members are compatible. The last events rise.
        """
        for kind in range(len(self._plan.kinds)):
            last = np.flatnonzero((self.kind == kind) & (self._pairs.row >= since_row))
            for first in range(0, len(last), MOST_LAST):
                yield kind, self._completed(last[first : first + MOST_LAST, None], kind)

    def optional_beside(self, sets: PositionArray, kind: int) -> tuple[PositionArray, PositionArray]:
        """Return which sets have which compatible optional events from before their last one, by set, then event."""
        parts = [np.array(self._met(sets, column, wanted)) for column, wanted in self.beside(kind)]
        at, other = np.concatenate([np.empty((2, 0), np.intp), *parts], axis=1)
        order = np.lexsort((other, at))
        order = order[self._counts.are_within(sets[at[order], 0])]
        return at[order], other[order]

    def _completed(self, sets: PositionArray, kind: int) -> PositionArray:
        placed = [kind]
        for column, other in self._plan.completing(kind):
            at, event = self._met(sets, column, self._wanted([other]))
            alike = [nth for nth, each in enumerate(placed) if each == other and nth > 0]
            if alike:  # members of one kind fall, so that each set comes once
                falls = event < sets[at, alike[-1]]
                at, event = at[falls], event[falls]
            sets, placed = np.column_stack([sets[at], event]), [*placed, other]
        return sets[self._counts.are_within(sets[:, 0])]

    def _met(self, sets: PositionArray, column: int, wanted: BoolArray) -> tuple[PositionArray, PositionArray]:
        """Return which sets have which compatible events of the wanted kinds as partners of their members in a column.

        Those came before the last event. They count as candidates, unless they make a pair.
        """
        near, first = self._pairs.neighbours
        of, parts = sets[:, column], [np.empty((2, 0), np.intp)]
        for at, place in expanded_range_blocks(first[of], first[of + 1]):
            other, last = near[place], sets[at, 0]
            fits = wanted[self.kind[other]] & (self._pairs.row[other] < self._pairs.row[last])
            if sets.shape[1] > 1:
                self._counts.add_one_each(last[fits])
            fits &= self._counts.are_within(last)
            parts.append(np.array(self._compatible(sets, column, at[fits], other[fits])))
        at, other = np.concatenate(parts, axis=1)
        return at, other

    def _compatible(
        self, sets: PositionArray, column: int, at: PositionArray, other: PositionArray
    ) -> tuple[PositionArray, PositionArray]:
        """Return which partners of the members in a column are compatible with all the others, too."""
        for member in np.delete(sets, column, axis=1).T:
            kept = self._pairs.are_compatible(member[at], other)
            at, other = at[kept], other[kept]
        return at, other

    def _wanted(self, kinds: Sequence[int]) -> BoolArray:
        wanted = np.zeros(len(self._plan.kinds), np.bool_)
        wanted[list(kinds)] = True
        return wanted
