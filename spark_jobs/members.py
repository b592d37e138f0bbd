"""Members of found tuples as the library takes them, and what is asked of all of them at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from coincide.arrays import BoolArray, PositionArray
from coincide.query import Query
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint import induced
from coincide.window_join.member_columns import MemberColumns
from spark_jobs.events import EventColumns
from spark_jobs.found import ABSENT
from spark_jobs.templates import Templates

Roles = tuple[int, ...]

_induced = lru_cache(maxsize=1024)(induced)


def graph_of(query: Query, present: Roles) -> ConstraintGraph:
    """Return the constraint graph of the roles that are present."""
    if len(present) == len(query.roles):
        return query.graph
    return _induced(query.graph, tuple(query.roles[role][0] for role in present))


def by_present_roles(members: PositionArray) -> list[tuple[Roles, PositionArray]]:
    """Return the roles that are present, and the rows of `members` in which just these are."""
    if (members != ABSENT).all():
        return [(tuple(range(members.shape[1])), np.arange(len(members)))] if len(members) else []
    kinds, kind = np.unique(members != ABSENT, axis=0, return_inverse=True)
    return [
        (tuple(np.flatnonzero(present).tolist()), np.flatnonzero(kind.ravel() == at))
        for at, present in enumerate(kinds)
    ]


def columns_of(members: PositionArray, rows: EventColumns, templates: Templates) -> MemberColumns:
    """Return the members, positions in `rows` of shape (n, k), none of them absent."""
    codes, index = np.unique(rows.template[members], return_inverse=True)
    histograms = [templates.histogram(code) for code in codes.tolist()]
    return MemberColumns(
        [histograms] * members.shape[1], index.reshape(members.shape).T, rows.detected_at_us[members].T
    )


def hold_jointly(query: Query, members: PositionArray, rows: EventColumns, templates: Templates) -> BoolArray:
    """Whether each tuple, roles without a member `ABSENT`, reaches the query's joint threshold, bool (n,)."""
    holds = np.ones(len(members), np.bool_)
    if query.joint_threshold is None:
        return holds
    for present, which in by_present_roles(members):
        if len(present) > 2:  # of one edge its own threshold says it all
            columns = columns_of(members[which][:, present], rows, templates)
            holds[which] = columns.at_least(graph_of(query, present), query.joint_threshold)
    return holds
