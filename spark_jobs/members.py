"""Members of found tuples as the library takes them, and what is asked of all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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

_induced = lru_cache(maxsize=1024)(induced)


@dataclass(frozen=True, eq=False)
class AlikeTuples:
    """Tuples with the same constraint graph between the members that are present.

    Attributes
    ----------
    at : ndarray of intp, shape (n,)
        Which of the tuples that were asked about they are.
    graph : ConstraintGraph
        Of m roles; in a uniform clique they stand for any m roles.
    roles : ndarray of intp, shape (n, m)
        Role of each member.
    columns : MemberColumns
    """

    at: PositionArray
    graph: ConstraintGraph
    roles: PositionArray
    columns: MemberColumns


def alike_tuples(
    query: Query, members: PositionArray, rows: EventColumns, templates: Templates
) -> Iterator[AlikeTuples]:
    """Part tuples, (n, roles), by their constraint graph: the fewer parts, the faster they are judged."""
    is_present = members != ABSENT
    is_uniform = query.graph.uniform_window is not None
    kinds, kind = np.unique(is_present.sum(axis=1)[:, None] if is_uniform else is_present, axis=0, return_inverse=True)
    for nth in range(len(kinds)):
        at = np.flatnonzero(kind.ravel() == nth)
        present = is_present[at]
        roles = np.nonzero(present)[1].reshape(len(at), -1)
        named = range(roles.shape[1]) if is_uniform else roles[0].tolist()
        graph = _induced(query.graph, tuple(query.roles[role][0] for role in named))
        yield AlikeTuples(at, graph, roles, _columns_of(members[at][present].reshape(roles.shape), rows, templates))


def hold_jointly(query: Query, members: PositionArray, rows: EventColumns, templates: Templates) -> BoolArray:
    """Whether each tuple, roles without a member `ABSENT`, reaches the query's joint threshold, bool (n,)."""
    holds = np.ones(len(members), np.bool_)
    if query.joint_threshold is None:
        return holds
    for alike in alike_tuples(query, members, rows, templates):
        if len(alike.graph.edges) > 1:  # of one edge its own threshold says it all
            holds[alike.at] = alike.columns.at_least(alike.graph, query.joint_threshold)
    return holds


def _columns_of(members: PositionArray, rows: EventColumns, templates: Templates) -> MemberColumns:
    codes, index = np.unique(rows.template[members], return_inverse=True)
    histograms = [templates.histogram(code) for code in codes.tolist()]
    return MemberColumns(
        [histograms] * members.shape[1], index.reshape(members.shape).T, rows.detected_at_us[members].T
    )
