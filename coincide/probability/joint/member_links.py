"""The edges of a graph between numbered members: its trees, their centres, and what closes its cycles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from coincide.constraints.graph import ConstraintGraph

Reach = tuple[float, float]
"""Least and greatest time in seconds from one member's occurrence to the other's; both closed."""


@dataclass(frozen=True)
class Links:
    """Who is tied to whom: `reach[i][j]` bounds t_j - t_i, and what it says of i and j it says of j and i too."""

    reach: dict[int, dict[int, Reach]]

    @classmethod
    def of(cls, graph: ConstraintGraph) -> Links:
        """Return the edges of a graph, its members numbered in the order of the streams."""
        reach: dict[int, dict[int, Reach]] = {member: {} for member in range(len(graph.roles))}
        for edge in graph.edges:
            a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
            reach[a][b] = (edge.window.lo_s, edge.window.hi_s)
            reach[b][a] = (-edge.window.hi_s, -edge.window.lo_s)
        return cls(reach)

    def without(self, *members: int) -> Links:
        """Leave members out, and every edge of theirs."""
        left = {i: {j: r for j, r in own.items() if j not in members} for i, own in self.reach.items()}
        return Links({i: own for i, own in left.items() if i not in members})

    def only(self, pairs: Collection[frozenset[int]]) -> Links:
        """Keep all members, and the edges between these pairs."""
        return Links({i: {j: r for j, r in own.items() if frozenset((i, j)) in pairs} for i, own in self.reach.items()})

    @property
    def components(self) -> list[list[int]]:
        """Members that chains of edges connect; the smallest first in each."""
        apart, left = [], set(self.reach)
        while left:
            group, waiting = set(), [min(left)]
            while waiting:
                member = waiting.pop()
                if member not in group:
                    group.add(member)
                    waiting += self.reach[member]
            apart.append(sorted(group))
            left -= group
        return apart

    @property
    def is_forest(self) -> bool:
        """Whether no edges form a cycle."""
        edges = sum(map(len, self.reach.values())) // 2
        return edges == len(self.reach) - len(self.components)

    @property
    def on_cycles(self) -> list[int]:
        """Members that some cycle goes through, or that lie between two: what is left when ends are cut off."""
        left = self
        while ends := [member for member, own in left.reach.items() if len(own) < 2]:
            left = left.without(*ends)
        return sorted(left.reach)

    def cycle_breakers(self) -> Iterator[tuple[int, ...]]:
        """All smallest sets of members without which no cycle is left (feedback vertex sets)."""
        for size in range(len(self.reach)):
            sets = [chosen for chosen in combinations(self.on_cycles, size) if self.without(*chosen).is_forest]
            if sets:
                yield from sets
                return

    def path_sums(self, start: int, longest: int | None = None) -> dict[int, set[Fraction]]:
        """Return the times from `start` to each other member at which all windows on a path are just met, unrounded."""
        most = len(self.reach) if longest is None else longest
        sums: dict[int, set[Fraction]] = {member: set() for member in self.reach}

        def walk(member: int, passed: frozenset[int], so_far: frozenset[Fraction]) -> None:
            sums[member] |= so_far
            for other, ends in self.reach[member].items():
                if other not in passed and len(passed) <= most:
                    further = frozenset(total + Fraction(end) for total in so_far for end in ends)
                    walk(other, passed | {other}, further)

        walk(start, frozenset((start,)), frozenset((Fraction(0),)))
        del sums[start]
        return sums


def break_points(links: Links, edges: Sequence[int], root: int, parent: int | None = None) -> int:
    """Return how many break points meet at the root of a tree: its own edges, and twice those of all below it."""
    below = (break_points(links, edges, child, root) for child in links.reach[root] if child != parent)
    return edges[root] + 2 * sum(below)


def centre(links: Links, edges: Sequence[int], component: Sequence[int]) -> int:
    """Return the member of a component at which the fewest break points meet."""
    return min(component, key=lambda member: (break_points(links, edges, member), member))
