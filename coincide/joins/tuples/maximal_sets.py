"""MaximalSets: which sets of events are compatible and cannot grow, kept up to date event by event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

MemberSet = frozenset[int]


Growth = tuple[MemberSet, MemberSet | None]  # a new maximal set, and the live one that it supersedes


@dataclass
class MaximalSets:
    """Maximal compatible sets of at least so many events, under arrivals in any order.

    Events of a set are compatible pairwise, and all together where `holds` is given; so are those of every subset.
    When an event arrives, every new maximal set contains it. A live set that it enlarges gives way to that larger one.

    Examples
    --------
    Events 0 and 1 are compatible, then 2 comes, which is compatible with both:

    >>> sets = MaximalSets(at_least=2)
    >>> sets.add(0, []), sets.add(1, [0])
    ([], [(frozenset({0, 1}), None)])
    >>> sets.add(2, [0, 1])
    [(frozenset({0, 1, 2}), frozenset({0, 1}))]
    """

    at_least: int
    holds: Callable[[MemberSet], bool] | None = None
    _neighbours: dict[int, set[int]] = field(default_factory=dict)
    _live_of: dict[int, set[MemberSet]] = field(default_factory=dict)

    def add(self, event: int, compatible: Collection[int]) -> list[Growth]:
        """Take an event in, with the events before it that it is compatible with; return the new maximal sets."""
        if not compatible:
            return []
        self._neighbours[event] = set(compatible)
        for other in compatible:
            self._neighbours.setdefault(other, set()).add(event)
        grown = [each for each in self._maximal_with(event, compatible) if len(each) >= self.at_least]
        growths = [(each, each - {event} if self._is_live(each - {event}) else None) for each in grown]
        for each, before in growths:
            if before is not None:
                self._retire(before)
            self._enter(each)
        return growths

    def forget(self, events: Iterable[int]) -> None:
        """Forget events that no later event is compatible with; sets with one of them are final."""
        for event in events:
            for final in self._live_of.pop(event, set()):
                for member in final - {event}:
                    self._live_of[member].discard(final)
            for other in self._neighbours.pop(event, set()):
                self._neighbours[other].discard(event)

    def __len__(self) -> int:
        """How many sets are live and may still grow."""
        return len(set().union(*self._live_of.values())) if self._live_of else 0

    def _maximal_with(self, event: int, compatible: Collection[int]) -> list[MemberSet]:
        """Maximal compatible sets that contain the event."""
        cliques = [clique | {event} for clique in self._cliques(frozenset(), set(compatible), set())]
        if self.holds is None:
            return cliques
        standing = {part for clique in cliques for part in self._standing(clique, event)}
        return [part for part in standing if not any(part < other for other in standing)]

    def _cliques(self, chosen: frozenset[int], possible: set[int], excluded: set[int]) -> Iterator[frozenset[int]]:
        """Maximal cliques (Bron and Kerbosch, with a pivot)."""
        if not possible and not excluded:
            yield chosen
            return
        pivot = max(possible | excluded, key=lambda each: len(self._neighbours[each] & possible))
        for each in sorted(possible - self._neighbours[pivot]):
            near = self._neighbours[each]
            yield from self._cliques(chosen | {each}, possible & near, excluded & near)
            possible.discard(each)
            excluded.add(each)

    def _standing(self, clique: MemberSet, event: int) -> set[MemberSet]:
        """Return the greatest subsets with the event that hold: sets of one size after the other, from the top."""
        others, standing = sorted(clique - {event}), set[MemberSet]()
        for size in range(len(others), 0, -1):
            for part in combinations(others, size):
                candidate = frozenset(part) | {event}
                if (
                    not any(candidate < larger for larger in standing)
                    and self.holds is not None
                    and self.holds(candidate)
                ):
                    standing.add(candidate)
        return standing

    def _is_live(self, members: MemberSet) -> bool:
        return members in self._live_of.get(min(members), ())

    def _enter(self, members: MemberSet) -> None:
        for member in members:
            self._live_of.setdefault(member, set()).add(members)

    def _retire(self, members: MemberSet) -> None:
        for member in members:
            self._live_of[member].discard(members)
