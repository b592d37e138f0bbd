"""Where to root a tree of members: at its centre, which keeps the break points few."""

from __future__ import annotations

from collections.abc import Sequence

from coincide.window_join.joint.links import Links


def break_points(links: Links, edges: Sequence[int], root: int, parent: int | None = None) -> int:
    """Return how many break points meet at a root: its own edges, and twice those of each member below it.

    Parameters
    ----------
    links : Links
        A tree.
    edges : sequence of int
        Number of bucket bounds of each member.
    root, parent : int
        Members; what lies beyond the parent does not count.
    """
    below = (break_points(links, edges, child, root) for child in links.reach[root] if child != parent)
    return edges[root] + 2 * sum(below)


def centre(links: Links, edges: Sequence[int], component: Sequence[int]) -> int:
    """Return the member of a component at which the fewest break points meet.

    Examples
    --------
    A path of eight members with eight buckets each, from its middle and from an end:

    >>> path = Links({i: {j: (0.0, 1.0) for j in (i - 1, i + 1) if 0 <= j < 8} for i in range(8)})
    >>> edges = [9] * 8
    >>> root = centre(path, edges, range(8))
    >>> root, break_points(path, edges, root), break_points(path, edges, 0)
    (3, 405, 2295)
    """
    return min(component, key=lambda member: (break_points(links, edges, member), member))
