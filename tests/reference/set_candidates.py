"""What the search for sets of at least so many members looks at for one detection, counted one set after the other.

A node is a detection in one of the roles that may be swapped. Beside the new node, sets grow by a node at a time: two
sets that differ in their last node alone make one that is looked at. Where sets are judged all together, every node
that fits all members of a match but the new one is looked at, too: it may have been there first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reference.fusion_query import SlowQuery, SlowRow

Node = tuple["SlowRow", int]  # with the number of the group of roles
Nodes = tuple[Node, ...]


@dataclass
class SetCandidates:
    query: SlowQuery
    new: SlowRow
    earlier: list[SlowRow]

    def count(self) -> int:
        return sum(self._beside(node) for node in self._nodes([self.new]))

    def _beside(self, last: Node) -> int:
        level: list[Nodes] = [(node,) for node in self._nodes(self.earlier) if self._are_near(node, last)]
        looked_at, standing = 0, list(level)
        while level:
            tried = [(*one, other[-1]) for one, other in combinations(level, 2) if one[:-1] == other[:-1]]
            looked_at += len(tried)
            level = [each for each in tried if self._stands((*each, last))]
            standing += level
        maximal = [each for each in standing if not any(set(each) < set(other) for other in standing)]
        assert isinstance(self.query.at_least, int), "where some roles are required, candidates are others"
        larger = [each for each in maximal if len(each) >= self.query.at_least]
        return looked_at + sum(self._rivals(rest) for rest in larger if self._are_judged)

    def _rivals(self, rest: Nodes) -> int:
        others = [node for node in self._nodes(self.earlier) if node not in rest]
        return sum(all(self._are_near(node, member) for member in rest) for node in others)

    def _nodes(self, rows: list[SlowRow]) -> list[Node]:
        numbered = list(enumerate(self._groups))
        return [(row, group) for row in rows for group, roles in numbered if self.query.may_play(row, roles[0])]

    @cached_property
    def _groups(self) -> list[list[str]]:
        return [
            list(group) for group in sorted({tuple(sorted({to[r] for to in self._swaps})) for r in self.query.roles})
        ]

    @property
    def _swaps(self) -> list[dict[str, str]]:
        return self.query.swaps

    @property
    def _are_judged(self) -> bool:
        return self.query.joint_threshold is not None or len(self._groups) < len(self.query.roles)

    def _are_near(self, one: Node, other: Node) -> bool:
        return one[0] is not other[0] and self._plays((one, other), judged=False)

    def _stands(self, nodes: Nodes) -> bool:
        return all(self._are_near(*pair) for pair in combinations(nodes, 2)) and self._plays(nodes, judged=True)

    def _plays(self, nodes: Nodes, *, judged: bool) -> bool:
        players: dict[str, SlowRow] = {}
        for row, group in nodes:
            free = [role for role in self._groups[group] if role not in players]
            if not free:
                return False
            players[free[0]] = row
        ordered = self.query.in_order(players)
        return self.query.holds_jointly(ordered) if judged else self.query.allows(ordered)
