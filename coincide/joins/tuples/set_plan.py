"""SetPlan: how the search for maximal sets goes from a set's last event to all its members, kind by kind.

Roles that can be swapped are one kind. Where some roles are required, the search first completes them, from the last
event along edges, and then adds members of the optional roles. `coincide.joins.retention` follows the same ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray
from coincide.constraints.at_least import AtLeast
from coincide.constraints.graph import ConstraintGraph

Step = tuple[int, int]
"""The place of a member that is met already, and the kind of the next one, which is tied to it."""


@dataclass(frozen=True, eq=False)
class SetPlan:
    """What the members of a set are, by kind.

    Attributes
    ----------
    kinds : tuple of tuple of int
        The roles of each kind.
    needed : tuple of int
        How many members of each kind every set has: all if it is required, 0 if it is optional.
    tied : ndarray of bool, shape (kinds, kinds)
        Whether members of two kinds have an edge.
    count : int
        How many optional members every set has at least.
    """

    kinds: tuple[tuple[int, ...], ...]
    needed: tuple[int, ...]
    tied: BoolArray
    count: int

    @classmethod
    def of(cls, graph: ConstraintGraph, at_least: AtLeast, kinds: Sequence[tuple[int, ...]]) -> SetPlan:
        """Make the plan; a kind is required as a whole or not at all."""
        required = at_least.required(graph.roles)
        needed = tuple(len(kind) if graph.roles[kind[0]] in required else 0 for kind in kinds)
        kind_of = {graph.roles[role]: nth for nth, kind in enumerate(kinds) for role in kind}
        tied = np.zeros((len(kinds), len(kinds)), np.bool_)
        for edge in graph.edges:
            tied[kind_of[edge.a], kind_of[edge.b]] = tied[kind_of[edge.b], kind_of[edge.a]] = True
        return cls(tuple(kinds), needed, tied, at_least.count)

    @property
    def fewest(self) -> int:
        """How many members the smallest sets have."""
        return self.count + sum(self.needed)

    @property
    def any_required(self) -> bool:
        """Whether there are required roles at all."""
        return any(self.needed)

    @property
    def free(self) -> BoolArray:
        """Whether members of two kinds may be in one set whatever their times, bool (kinds, kinds)."""
        is_single = np.diag([len(kind) == 1 for kind in self.kinds])
        free: BoolArray = ~self.tied & ~is_single
        return free

    def completing(self, first: int) -> list[Step]:
        """Return the steps from a member of one kind, at place 0, to all required members."""
        missing = [max(0, count - (kind == first)) for kind, count in enumerate(self.needed)]
        placed, steps = [first], list[Step]()
        for place, kind in enumerate(placed):  # which grows on the way
            for other in np.flatnonzero(self.tied[kind]).tolist():
                steps += [(place, other)] * missing[other]
                placed += [other] * missing[other]
                missing[other] = 0
        return steps

    def adding(self, first: int) -> dict[int, list[int]]:
        """Return the optional kinds whose members are found beside each place, once `completing` is done."""
        placed = [first, *(kind for _, kind in self.completing(first))]
        beside: dict[int, list[int]] = {}
        for kind, count in enumerate(self.needed):
            by = (place for place, other in enumerate(placed) if self.tied[other, kind] and self._leads(other))
            place = next(by, None)
            if count == 0 and place is not None:
                beside.setdefault(place, []).append(kind)
        return beside

    def _leads(self, kind: int) -> bool:
        """Whether other members are looked for beside those of a kind: required ones, if there are any."""
        return self.needed[kind] > 0 or not self.any_required

    def reaching(self, first: int) -> list[Step]:
        """Return the steps from a member of one kind to all that may be in a set with it."""
        return self.completing(first) + [(place, kind) for place, kinds in self.adding(first).items() for kind in kinds]

    def is_probed(self, kind: int, other: int) -> bool:
        """Whether the members of a kind that are met look for all partners of another: those may decide, or are met."""
        return bool(self.tied[kind, other]) and (self.needed[other] == 0 or (self.needed[kind] > 0 and kind <= other))
