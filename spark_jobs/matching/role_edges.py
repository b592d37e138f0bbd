"""Edges between roles, the bounds on their times, and the order of members whose roles are alike."""

from dataclasses import dataclass

import numpy as np

from coincide import Window
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.joins.probe_bounds import OffsetJudge, ProbeBounds
from coincide.offsets.cache import OffsetCache
from coincide.queries import Query
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates


@dataclass(frozen=True)
class RoleEdge:
    """P(X of `second` - X of `first` lies in `window`) >= `threshold`."""

    first: int
    second: int
    window: Window
    threshold: float
    is_forward: bool  # the query's own edge names the roles in this order
    is_unordered: bool  # nothing tells the roles apart: the member reported first plays the first


def role_edges(query: Query) -> list[RoleEdge]:
    """Return the edges, in the order of the query's."""
    names = [role for role, _ in query.roles]
    made = []
    for edge in query.graph.edges:
        a, b = names.index(edge.a), names.index(edge.b)
        window = edge.window if a < b else edge.window.swapped()
        can_be_swapped = (min(a, b), max(a, b)) in query.interchange.pairs
        made.append(RoleEdge(min(a, b), max(a, b), window, edge.threshold or 0.0, a < b, can_be_swapped))
    return made


def possible_bounds(
    edge: RoleEdge, templates: VerifiedTemplates, *, probing_first: bool, judge: OffsetJudge | None = None
) -> ProbeBounds:
    """Return bounds of stored minus probing earliest time, by probing template; `judge` judges what lies within."""
    window = edge.window if probing_first else edge.window.swapped()
    length = templates.latest_us - templates.earliest_us
    lo_us = np.full_like(length, window.lo_us - 1 - length.max())
    hi_us = window.hi_us + 1 + length
    return ProbeBounds.possible(lo_us, hi_us, judge, probes_with_b=not probing_first)


@dataclass(frozen=True, eq=False)
class EarliestOffsets:
    """Judges an edge's offsets between earliest times, by which rows are buffered; the cache knows reported times."""

    cache: OffsetCache
    earliest_us: Int64Array
    is_unordered: bool

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether offsets of v's earliest time minus u's qualify for their templates; arrays of shape (n,)."""
        reported_us = offset_us + self.earliest_us[u] - self.earliest_us[v]
        if not self.is_unordered:
            return self.cache.contain(u, v, reported_us)
        is_later = reported_us < 0
        one, other = np.where(is_later, v, u), np.where(is_later, u, v)
        qualifies = self.cache.contain(one, other, np.abs(reported_us))
        tied = np.flatnonzero(qualifies & (reported_us == 0))  # neither was first: which is called so must not matter
        if len(tied):
            qualifies[tied] = self.cache.contain(other[tied], one[tied], reported_us[tied])
        return qualifies


@dataclass(frozen=True, eq=False)
class RoleOrder:
    """Orders members by (detected_at, sensor, id); they are positions in `rows`."""

    rows: EventColumns
    areas: Areas

    def goes_before(self, one: PositionArray, other: PositionArray) -> BoolArray:
        """Whether each member goes before the other."""
        detected_at_us = self.rows.detected_at_us
        before: BoolArray = detected_at_us[one] < detected_at_us[other]
        for tie in np.flatnonzero(detected_at_us[one] == detected_at_us[other]):
            before[tie] = self._name(one[tie]) < self._name(other[tie])
        return before

    def _name(self, at: int | np.intp) -> tuple[str, str]:
        return self.areas.sensor_of(self.rows.sensor[at]).name, self.rows.ids[int(at)]
