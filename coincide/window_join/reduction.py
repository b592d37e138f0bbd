"""Reduction: events that cannot be a member of any tuple leave before the first pair is formed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays import BoolArray
from coincide.window_join.look_up import LookUp
from coincide.window_join.reach import Reach
from coincide.window_join.role_events import RoleEvents


def reduced(roles: Sequence[RoleEvents], reach: Reach, root: int) -> list[RoleEvents]:
    """Keep the events that have partners all along a tree of edges from the root: semi-joins up, then down.

    Where the graph is a tree and ranges are sharp, every event that stays is a member of some tuple, so joining along
    the tree never writes a partial tuple in vain (the full reducer of Yannakakis: Algorithms for Acyclic Database
    Schemes, 1981).
    """
    parents = parents_of(reach, root, len(roles))
    alive = [np.ones(len(role), np.bool_) for role in roles]
    for role, parent in reversed(parents.items()):
        alive[parent] &= _meets(roles, reach, parent, role, alive[role])
    for role, parent in parents.items():
        alive[role] &= _meets(roles, reach, role, parent, alive[parent])
    return [role if stays.all() else role.take(np.flatnonzero(stays)) for role, stays in zip(roles, alive, strict=True)]


def parents_of(reach: Reach, root: int, roles: int) -> dict[int, int]:
    """Return who each other role is reached from along edges, nearest to the root first."""
    parents, waiting = {}, [root]
    for parent in waiting:
        for role in range(roles):
            if (parent, role) in reach.edges and role != root and role not in parents:
                parents[role] = parent
                waiting.append(role)
    return parents


def _meets(roles: Sequence[RoleEvents], reach: Reach, role: int, other: int, alive: BoolArray) -> BoolArray:
    """Whether each event of a role has one that is alive in its range of another."""
    start, stop = LookUp(roles[role], roles[other], *reach.bounds_us(role, other)).all_ranges()
    before = np.concatenate(([0], np.cumsum(alive)))
    found: BoolArray = before[np.maximum(stop, start)] > before[start]
    return found
