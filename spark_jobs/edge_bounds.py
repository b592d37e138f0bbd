"""Edge bounds: how far apart the earliest times of two members may lie, which is what buffers are sorted by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import BoolArray, CodeArray, Int64Array
from coincide.offset_cache import OffsetCache
from coincide.timing_join.probe_bounds import ProbeBounds
from spark_jobs.role_edges import RoleEdge
from spark_jobs.templates import Templates


def possible_bounds(edge: RoleEdge, templates: Templates, *, probing_first: bool) -> ProbeBounds:
    """Return bounds of stored minus probing earliest time, by probing template; what lies within is judged later.

    `probing_first` tells whether the probing events play the edge's first role.
    """
    window = edge.window if probing_first else edge.window.swapped()
    length = templates.latest_us - templates.earliest_us
    lo = np.full_like(length, window.lo_us - 1 - length.max())
    hi = window.hi_us + 1 + length
    return ProbeBounds(
        lo_us=lo[:, None],
        hi_us=hi[:, None],
        outer_lo_us=lo,
        outer_hi_us=hi,
        sure_lo_us=hi,
        sure_hi_us=lo,
        table=None,
        probes_with_b=not probing_first,
    )


def judged_bounds(edge: RoleEdge, templates: Templates, cache: OffsetCache, *, probing_first: bool) -> ProbeBounds:
    """Return the same bounds; `cache` judges what lies within them by the reported times."""
    possible = {**vars(possible_bounds(edge, templates, probing_first=probing_first)), "cache": cache}
    return _JudgedBounds(**possible, judge=cache, earliest_us=templates.earliest_us, is_unordered=edge.is_unordered)


@dataclass(frozen=True, eq=False, kw_only=True)
class _JudgedBounds(ProbeBounds):
    judge: OffsetCache
    earliest_us: Int64Array
    is_unordered: bool

    def qualify(self, probing: CodeArray, stored: CodeArray, offset_us: Int64Array) -> BoolArray:
        reported_us = offset_us + self.earliest_us[probing] - self.earliest_us[stored]
        if not self.is_unordered:
            return super().qualify(probing, stored, reported_us)
        is_later = reported_us < 0
        one, other = np.where(is_later, stored, probing), np.where(is_later, probing, stored)
        qualifies = self.judge.contain(one, other, np.abs(reported_us))
        tied = np.flatnonzero(qualifies & (reported_us == 0))  # neither was first: which is called so must not matter
        if len(tied):
            qualifies[tied] = self.judge.contain(other[tied], one[tied], reported_us[tied])
        return qualifies
