"""EdgeJudges: which offsets qualify along the edges of a pattern, and where the partners of an event may lie.

Events are buffered under their earliest time, not the reported one. How far apart partners may be then depends on how
long templates are, not on how far from the reported time one of them lies: one sensor whose template is an hour late
costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.constraints.graph import WindowByDistance
from coincide.constraints.window import Window
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.search.distance_judge import DistanceJudge
from coincide.joins.search.earliest_offsets import Contains, EarliestOffsets
from coincide.joins.search.pattern import Pattern, RoleEdge
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork, blocks
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.candidates import RoleBounds
from coincide.offsets.cache import LookUps, OffsetCache, earns_a_table, judge_of
from coincide.offsets.pair_work import PairLimits
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.places.templates_at_places import TemplatesAtPlaces
from coincide.templates.codes import TemplatesInOrder

OFFSETS_AT_ONCE = 4_096  # a pair of templates of 64 buckets that has never met takes up to 0.2 ms


class EdgeJudge:
    """Which offsets qualify for two streams' templates, for one window and threshold.

    A table holds the offsets of all template pairs while that is little work. Beyond that a cache judges those that
    meet. `as_first` and `as_second` bound where events of either end find partners.
    """

    def __init__(
        self,
        window: Window,
        threshold: float,
        us: TemplatesInOrder,
        vs: TemplatesInOrder,
        limits: PairLimits,
        *,
        is_unordered: bool,
    ) -> None:
        self._window, self._threshold, self._us, self._vs, self._limits = window, threshold, us, vs, limits
        self._is_unordered = is_unordered
        self._judge: SatisfactionTable | OffsetCache = SatisfactionTable.build((), (), window, threshold)
        self._sizes = (-1, -1)  # has followed nothing yet
        self.as_first = self.as_second = ProbeBounds.of_a(self._judge)

    @property
    def look_ups(self) -> LookUps:
        """What the cache has done so far; nothing while a table will do."""
        return self._judge.look_ups if isinstance(self._judge, OffsetCache) else LookUps()

    def follow(self) -> bool:
        """Get to know all templates that are registered now; return whether any was new."""
        if self._sizes == (len(self._us), len(self._vs)):
            return False
        if isinstance(self._judge, SatisfactionTable):
            arguments = self._window, self._threshold, self._us, self._vs, self._limits
            self._judge = judge_of(*arguments, self._judge)
        self._set_bounds()
        return True

    def recode(self, u_code: CodeArray | None, v_code: CodeArray | None) -> None:
        """Follow a change of codes: the new ones by old code, None where they stayed."""
        if isinstance(self._judge, OffsetCache) and not earns_a_table(self._judge, self._us, self._vs, self._limits):
            unchanged = np.arange(max(len(self._us), len(self._vs)), dtype=np.int32)
            self._judge.recode(unchanged if u_code is None else u_code, unchanged if v_code is None else v_code)
        else:
            self._judge = judge_of(self._window, self._threshold, self._us, self._vs, self._limits)
        self._set_bounds()

    def _set_bounds(self) -> None:
        self._sizes = (len(self._us), len(self._vs))
        judge = self._judge
        is_settled = isinstance(judge, SatisfactionTable) and (not self._is_unordered or _is_symmetric(judge))
        contains = judge.contains if isinstance(judge, SatisfactionTable) else judge.contain
        earliest = EarliestOffsets(contains, self._us, self._vs, self._is_unordered and not is_settled)
        if isinstance(judge, SatisfactionTable) and is_settled:
            shift_us = self._vs.earliest_us - self._us.earliest_us[:, None]
            self.as_first, self.as_second = ProbeBounds.of_shifted(judge, shift_us, earliest)
        else:
            self.as_first = self._possible(earliest, probes_with_second=False)
            self.as_second = self._possible(earliest, probes_with_second=True)

    def _possible(self, judge: EarliestOffsets, *, probes_with_second: bool) -> ProbeBounds:
        """Return bounds of stored minus probing earliest time, by probing template."""
        probing, stored = (self._vs, self._us) if probes_with_second else (self._us, self._vs)
        window = self._window.swapped() if probes_with_second else self._window
        hi_us = window.hi_us + 1 + probing.latest_us - probing.earliest_us
        stored_lo_us = window.lo_us - 1 - (stored.latest_us - stored.earliest_us)
        lo_us = np.full_like(hi_us, stored_lo_us.min(initial=window.lo_us - 1))
        by_ends = stored_lo_us if isinstance(self._judge, OffsetCache) else None
        return ProbeBounds.possible(lo_us, hi_us, judge, by_ends, probes_with_b=probes_with_second)


def _is_symmetric(table: SatisfactionTable) -> bool:
    """Whether it makes no difference which of two events is called the first; rounding may make one."""
    if table.lo_us.shape[0] != table.lo_us.shape[1] or not table.is_single:
        return False
    qualifies = table.lo_us <= table.hi_us
    mirrored = (table.lo_us == -table.hi_us.T) | ~qualifies
    return bool(np.array_equal(qualifies, qualifies.T) and mirrored.all())


class EdgeJudges:
    """The judges of a pattern's edges; edges that ask the same of the same sources share one.

    `templates` are the registries by source. All caches together remember at most what the limits say.
    """

    def __init__(self, pattern: Pattern, templates: Mapping[SourceName, TemplatesInOrder], limits: PairLimits) -> None:
        self._graph = pattern.graph
        kinds = [_Kind.of(edge, pattern.sources) for edge in pattern.edges]
        room = replace(limits, cached=max(1, limits.cached // len({*kinds})))
        self._judges = {kind: kind.judge(templates, room) for kind in kinds}
        self._of_edges = [self._judges[kind] for kind in kinds]
        self._bounds: RoleBounds | None = None
        self._in_blocks: RoleBounds | None = None
        self._work = WHATEVER_IT_TAKES  # of the search that goes on

    def follow(self) -> None:
        """Get to know all templates that are registered now."""
        have_followed = [judge.follow() for judge in self._judges.values()]
        if any(have_followed):
            self._forget_bounds()

    def recode(self, new_codes: Mapping[SourceName, CodeArray]) -> None:
        """Follow a change of template codes: the new ones by old code, of each source where they changed."""
        for kind, judge in self._judges.items():
            if kind.first in new_codes or kind.second in new_codes:
                judge.recode(new_codes.get(kind.first), new_codes.get(kind.second))
                self._forget_bounds()

    @property
    def bounds(self) -> RoleBounds:
        """How far members may lie from each other, by every template that is known."""
        if self._bounds is None:
            self._bounds = RoleBounds.of(self._graph, [(judge.as_first, judge.as_second) for judge in self._of_edges])
        return self._bounds

    def bounds_for(self, work: SearchWork) -> RoleBounds:
        """Return the bounds for a search; if its work is bounded, offsets are judged in blocks, and it hears of each.

        These hold until the next search begins.
        """
        self._work = work
        if not work.is_bounded:
            return self.bounds
        if self._in_blocks is None:
            edges = {ends: replace(edge, judge=self._telling(edge.judge)) for ends, edge in self.bounds.edges.items()}
            self._in_blocks = RoleBounds(edges, self.bounds.implied_us)
        return self._in_blocks

    def _forget_bounds(self) -> None:
        self._bounds = self._in_blocks = None

    def _telling(self, judge: Contains | None) -> Contains | None:
        """Return what judges the same in blocks, and tells of each."""
        if judge is None:
            return None

        def in_blocks(u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
            qualifies = np.empty(len(offset_us), np.bool_)
            for part in blocks(len(offset_us), OFFSETS_AT_ONCE, self._work.check):
                qualifies[part] = judge(u[part], v[part], offset_us[part])
            return qualifies

        return in_blocks

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done so far, all edges together; nothing while tables will do."""
        return reduce(LookUps.plus, (judge.look_ups for judge in self._judges.values()))


@dataclass(frozen=True)
class _Kind:
    window: Window
    threshold: float
    first: SourceName
    second: SourceName
    is_unordered: bool
    by_distance: WindowByDistance | None

    @classmethod
    def of(cls, edge: RoleEdge, sources: Sequence[SourceName]) -> _Kind:
        ends = sources[edge.first], sources[edge.second]
        return cls(edge.window, edge.threshold, *ends, edge.is_unordered, edge.by_distance)

    def judge(self, templates: Mapping[SourceName, TemplatesInOrder], room: PairLimits) -> EdgeJudge | DistanceJudge:
        us, vs = templates[self.first], templates[self.second]
        if self.by_distance is None:
            return EdgeJudge(self.window, self.threshold, us, vs, room, is_unordered=self.is_unordered)
        if not isinstance(us, TemplatesAtPlaces) or not isinstance(vs, TemplatesAtPlaces):
            raise TypeError("windows by distance need templates at places")
        return DistanceJudge(self.by_distance, self.threshold, us, vs, room, is_unordered=self.is_unordered)
