"""Interchange: which roles of a graph can be swapped without changing it, so that a match is a set over them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial, prod

from coincide.constraints.graph import ConstraintGraph, WindowByDistance
from coincide.constraints.window import Window
from coincide.errors import GraphError

MOST_SYMMETRIES = 1000

Tie = tuple[Window, float, WindowByDistance | None] | None  # window, of the second role minus the first, threshold


@dataclass(frozen=True)
class Interchange:
    """Ways to swap roles that map a graph onto itself, each role to one of its kind.

    Attributes
    ----------
    groups : tuple of tuple of int
        Roles by position; any two of a group can be swapped. A role that can be swapped with none is alone.
    symmetries : tuple of tuple of int
        The other ways, but for swaps within groups and for leaving all as it is: role r takes the place of role
        ``symmetry[r]``. A path of four roles of one kind has its two ends and its two inner roles swapped at once.

    Examples
    --------
    >>> path = ConstraintGraph.path("abcd", Window(5), 0.5)
    >>> Interchange.of(path, [0.5] * 3, ["shot"] * 4)
    Interchange(groups=((0,), (1,), (2,), (3,)), symmetries=((3, 2, 1, 0),))
    >>> Interchange.of(path, [0.5] * 3, ["shot", "shot", "shot", "camera"]).symmetries
    ()
    >>> shots = ConstraintGraph.clique(["one", "other", "camera"], Window(5), 0.5)
    >>> Interchange.of(shots, [0.5] * 3, ["shot", "shot", "camera"]).groups
    ((0, 1), (2,))
    """

    groups: tuple[tuple[int, ...], ...]
    symmetries: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, graph: ConstraintGraph, thresholds: Sequence[float], kinds: Sequence[Hashable]) -> Interchange:
        """Find them; thresholds are by edge, kinds by role.

        Raises
        ------
        GraphError
            There are more than 1,000 symmetries.
        """
        ties = _Ties(graph, thresholds, kinds)
        found = []
        for symmetry in ties.symmetries():
            found.append(symmetry)
            if len(found) > MOST_SYMMETRIES:
                raise GraphError("graph", graph.form, f"at most {MOST_SYMMETRIES} ways to swap roles of one stream")
        return cls(ties.groups, tuple(found))

    @property
    def swaps(self) -> bool:
        """Whether there is any way to swap roles."""
        return bool(self.pairs or self.symmetries)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every two roles of one group, the first before the second."""
        return tuple(pair for group in self.groups for pair in combinations(group, 2))

    def ways(self, present: Collection[int]) -> int:
        """In how many ways the same members can take these roles, all others left out.

        >>> Interchange(((0, 1, 2), (3,))).ways([0, 1, 3])
        2
        """
        members = [len({*group} & {*present}) for group in self.groups]
        used = [nth for nth, count in enumerate(members) if count]
        of_role = {role: nth for nth, group in enumerate(self.groups) for role in group}
        images = [[of_role[symmetry[group[0]]] for group in self.groups] for symmetry in self.symmetries]
        fitting = (image for image in images if [members[to] for to in image] == members)
        of_groups = {tuple(used), *(tuple(image[nth] for nth in used) for image in fitting)}
        return prod(map(factorial, members)) * len(of_groups)


class _Ties:
    """The edges between any two roles, and the groups of roles that they tell apart."""

    def __init__(self, graph: ConstraintGraph, thresholds: Sequence[float], kinds: Sequence[Hashable]) -> None:
        self._kinds, roles = kinds, range(len(graph.roles))
        self._tie: dict[tuple[int, int], Tie] = {}
        for edge, threshold in zip(graph.edges, thresholds, strict=True):
            a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
            self._tie[a, b] = edge.window, threshold, edge.by_distance
            self._tie[b, a] = edge.window.swapped(), threshold, edge.by_distance
        groups: list[list[int]] = []
        for role in roles:
            of_role = next((group for group in groups if self._can_swap(group[0], role, roles)), None)
            if of_role is None:
                groups.append([role])
            else:
                of_role.append(role)
        self.groups = tuple(map(tuple, groups))

    def symmetries(self) -> Iterator[tuple[int, ...]]:
        """Yield the ways to map groups onto groups, but for leaving all as it is."""
        identity = tuple(range(len(self.groups)))
        for image in self._images(()):
            if image != identity:
                places = {
                    role: place
                    for group, to in zip(self.groups, image, strict=True)
                    for role, place in zip(group, self.groups[to], strict=True)
                }
                yield tuple(places[role] for role in sorted(places))

    def _images(self, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Extend a map of the first groups in every way that keeps all ties."""
        if len(chosen) == len(self.groups):
            yield chosen
            return
        for to in range(len(self.groups)):
            if to not in chosen and self._fits(len(chosen), to, chosen):
                yield from self._images((*chosen, to))

    def _fits(self, group: int, to: int, chosen: tuple[int, ...]) -> bool:
        one, other = self.groups[group], self.groups[to]
        if len(one) != len(other) or self._kinds[one[0]] != self._kinds[other[0]]:
            return False
        if len(one) > 1 and self._tie.get((one[0], one[1])) != self._tie.get((other[0], other[1])):
            return False
        return all(
            self._tie.get((one[0], self.groups[before][0])) == self._tie.get((other[0], self.groups[place][0]))
            for before, place in enumerate(chosen)
        )

    def _can_swap(self, one: int, other: int, roles: range) -> bool:
        if self._kinds[one] != self._kinds[other] or self._tie.get((one, other)) != self._tie.get((other, one)):
            return False
        return all(
            self._tie.get((one, third)) == self._tie.get((other, third)) for third in roles if third not in (one, other)
        )
