"""The joint probability of members whose constraints form no cycle: exact, by messages towards each tree's centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays import FloatArray
from coincide.window_join.joint.estimate import Estimate
from coincide.window_join.joint.links import Links
from coincide.window_join.joint.meeting import Meeting
from coincide.window_join.joint.members import PlacedMember
from coincide.window_join.joint.rooting import break_points, centre

ELEMENTS_PER_STEP = 16_384  # break points times tuples: temporaries that stay in the processor's cache


@dataclass(frozen=True)
class Forest:
    """Trees of members; what nothing ties together multiplies.

    Attributes
    ----------
    links : Links
    edges : sequence of int
        Number of bucket bounds of each member.
    """

    links: Links
    edges: Sequence[int]

    def estimate(self, members: Mapping[int, PlacedMember]) -> Estimate:
        """P(all windows hold), exact, as many tuples at a time as the cache holds."""
        count = len(next(iter(members.values())))
        probability = np.empty(count)
        step = max(1, ELEMENTS_PER_STEP // sum(break_points(self.links, self.edges, root) for root in self._roots))
        for first in range(0, count, step):
            columns = slice(first, min(first + step, count))
            probability[columns] = self._probability({i: each.take(columns) for i, each in members.items()})
        return Estimate.exact(probability)

    @cached_property
    def _roots(self) -> list[int]:
        return [centre(self.links, self.edges, component) for component in self.links.components]

    def _probability(self, members: Mapping[int, PlacedMember]) -> FloatArray:
        first, *rest = (self._tree_probability(members, root) for root in self._roots)
        for probability in rest:
            first = first * probability
        return first

    def _tree_probability(self, members: Mapping[int, PlacedMember], root: int) -> FloatArray:
        return self._meeting(members, root, None).mass if self.links.reach[root] else members[root].mass

    def _meeting(self, members: Mapping[int, PlacedMember], at: int, parent: int | None) -> Meeting:
        below = {child: reach for child, reach in self.links.reach[at].items() if child != parent}
        messages = [self._meeting(members, child, at).subtree().message(reach) for child, reach in below.items()]
        return Meeting(members[at], messages)
