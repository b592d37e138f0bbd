"""Joint costs: what a joint probability costs, known before it is computed, from the way in which it is computed.

The unit is a bucket pair, about 20 ns, among hundreds of alike tuples. Trees cost so much for each break point of their
messages. Where fixing one member leaves a tree, that tree is summed at every time at which it may bend. Those times
multiply with the length of a cycle, and less if its windows are equal, since then many fall together. Measured for 1 to
16 buckets and 3 to 6 roles; nearly always within a factor of 4 of the work done.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from coincide.constraints.graph import ConstraintGraph
from coincide.probability.joint.member_links import Links, break_points, centre

BESIDES, OF_BUCKET = 200.0, 70.0  # a clique of one symmetric window
OF_BREAK_POINT = 25.0
FOUR_CLIQUE, OF_FOUR_BUCKETS = 1_000.0, 150.0
POSSIBLE = 0.2  # of the times at which a member is fixed: at the others it, or its neighbours, cannot be
CELLS, OF_PIECE = 50.0, 0.17  # in which a member is fixed if that leaves what is exact, and for each piece of its time
CELLS_BEFORE, OF_PIECE_BEFORE = 5.0, 0.17  # if that leaves what needs cells, too


@lru_cache(maxsize=4_096)
def joint_cost(graph: ConstraintGraph, buckets: tuple[int, ...]) -> float:
    """Return the work of one joint probability in bucket pairs, for templates of so many buckets.

    Examples
    --------
    A third edge closes a cycle:

    >>> from coincide.constraints.window import Window
    >>> steps = [("a", "b", Window(1)), ("b", "c", Window(1))]
    >>> path, ring = ConstraintGraph.graph(steps), ConstraintGraph.graph([*steps, ("a", "c", Window(2))])
    >>> joint_cost(ring, (8, 8, 8)) > 10 * joint_cost(path, (8, 8, 8))
    True
    """
    if graph.uniform_window is not None:
        return BESIDES + OF_BUCKET * sum(buckets)
    return BESIDES + _cost(Links.of(graph), {nth: count + 1 for nth, count in enumerate(buckets)})


def _cost(links: Links, edges: Mapping[int, int]) -> float:
    edges = {member: edges[member] for member in links.reach}
    if links.is_forest:
        return sum(_tree_cost(links, edges, component) for component in links.components)
    if _is_four_clique(links):
        return FOUR_CLIQUE + OF_FOUR_BUCKETS * (sum(edges.values()) - len(edges))
    breakers = _breakers(links)
    if breakers:
        return min(_times(links, edges, member) * _cost(links.without(member), edges) for member in breakers)
    member = max(links.on_cycles, key=lambda each: (len(links.reach[each]), -each))
    rest = links.without(member)
    pieces = edges[member] + sum(2 * edges[other] for other in links.reach[member])
    is_exact = bool(_breakers(rest)) or _is_four_clique(rest)
    cells = CELLS + OF_PIECE * pieces if is_exact else CELLS_BEFORE + OF_PIECE_BEFORE * pieces
    return cells * _cost(rest, edges)


def _breakers(links: Links) -> list[int]:
    """Return the members each of which all cycles go through."""
    return [member for member in links.on_cycles if links.without(member).is_forest]


def _is_four_clique(links: Links) -> bool:
    return len(links.reach) == 4 and all(len(own) == 3 for own in links.reach.values())


def _times(links: Links, edges: Mapping[int, int], member: int) -> float:
    """At how many times a member is fixed."""
    bends = edges[member] + sum(edges[other] * len(sums) for other, sums in links.path_sums(member).items())
    nodes = len(links.reach) // 2 + len(links.reach) % 2  # of Gauss and Legendre, for as many others as there are
    return POSSIBLE * bends * nodes


def _tree_cost(links: Links, edges: Mapping[int, int], component: list[int]) -> float:
    """Cost of a tree: of the break points that meet at each of its members."""
    listed = [edges.get(member, 0) for member in range(max(edges) + 1)]
    root = centre(links, listed, component)

    def below(member: int, parent: int | None) -> int:
        others = [other for other in links.reach[member] if other != parent]
        return break_points(links, listed, member, parent) + sum(below(other, member) for other in others)

    return OF_BREAK_POINT * below(root, None)
