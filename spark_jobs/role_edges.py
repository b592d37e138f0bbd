"""Role edges: the edges of a query between positions of its roles, the first before the second."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.query import Query
from coincide.window import Window


@dataclass(frozen=True)
class RoleEdge:
    """P(X of `second` - X of `first` lies in `window`) >= `threshold`.

    `is_forward`: the query's own edge names them in this order. `is_unordered`: nothing tells the two roles apart, so
    the member reported first plays the first.
    """

    first: int
    second: int
    window: Window
    threshold: float
    is_forward: bool
    is_unordered: bool


def role_edges(query: Query) -> list[RoleEdge]:
    """Return the edges, in the order of the query's."""
    names = [role for role, _ in query.roles]
    group_of = {role: group for group in query.alike for role in group}
    made = []
    for edge in query.graph.edges:
        a, b = names.index(edge.a), names.index(edge.b)
        window = edge.window if a < b else edge.window.swapped()
        are_alike = group_of[a] == group_of[b]
        made.append(RoleEdge(min(a, b), max(a, b), window, edge.threshold or 0.0, a < b, are_alike))
    return made
