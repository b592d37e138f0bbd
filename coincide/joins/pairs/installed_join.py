"""InstalledJoin: one timing join at work on buffers that it shares with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, Int64Array
from coincide.constraints.conditions import JoinCondition
from coincide.constraints.window import Window
from coincide.joins.answers import Pairs
from coincide.joins.events import Events, SortedEvents, sorted_events
from coincide.joins.pairs.matching import Block, Probe, matching_pairs
from coincide.joins.probe_bounds import ProbeBounds
from coincide.offsets.cache import LookUps, OffsetCache, PairLimits
from coincide.offsets.judge import judge_of
from coincide.offsets.pair_work import mean_evaluation_work, table_work
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.probability.difference import match_probabilities
from coincide.templates.codes import TemplateRegistry
from coincide.templates.histogram import Histogram

GoesFirst = Callable[[Int64Array, Int64Array], BoolArray]


@dataclass(frozen=True, eq=False)
class RefPairs:
    """Pairs of events in columns of shape (n,): refs and template codes by role, and tb - ta as reported."""

    a: Int64Array
    b: Int64Array
    a_template: CodeArray
    b_template: CodeArray
    offset_us: Int64Array

    @classmethod
    def of(cls, probe: Probe, blocks: Iterable[Block], *, probes_with_b: bool) -> RefPairs:
        """Gather the pairs of all blocks; the probing events are those of b if `probes_with_b`, else of a."""
        parts = list(blocks)
        if not parts:
            return cls.none()
        rows, at = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        events, stored = probe.events, probe.stored
        offset_us = stored.codec.offset_us(stored.keys[at], probe.keys[rows])
        new = (events.ref[rows], events.template[rows])
        old = (stored.ref[at], stored.template[at])
        if probes_with_b:
            return cls(old[0], new[0], old[1], new[1], -offset_us)
        return cls(new[0], old[0], new[1], old[1], offset_us)

    @classmethod
    def none(cls) -> RefPairs:
        """Return no pairs."""
        refs, codes = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(refs, refs, codes, codes, refs)

    @classmethod
    def all_of(cls, parts: list[RefPairs]) -> RefPairs:
        """Return the pairs of all parts."""
        parts = [part for part in parts if len(part)]
        if len(parts) <= 1:
            return parts[0] if parts else cls.none()
        names = ("a", "b", "a_template", "b_template", "offset_us")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.a)

    def with_ties_ordered(self, goes_first: GoesFirst) -> RefPairs:
        """Swap roles in pairs reported at the same time whose b goes before their a."""
        ties = np.flatnonzero(self.offset_us == 0)
        if len(ties) == 0:
            return self
        swap = np.zeros(len(self), np.bool_)
        swap[ties] = goes_first(self.b[ties], self.a[ties])
        return RefPairs(
            np.where(swap, self.b, self.a),
            np.where(swap, self.a, self.b),
            np.where(swap, self.b_template, self.a_template),
            np.where(swap, self.a_template, self.b_template),
            self.offset_us,
        )

    def pairs(self, us: Sequence[Histogram], vs: Sequence[Histogram], window: Window) -> Pairs:
        """Return the pairs of refs; `us` and `vs` are the templates by code, of which no more are kept than pairs."""
        a_templates, u_index = _named(us, self.a_template)
        b_templates, v_index = _named(vs, self.b_template)

        def probabilities() -> FloatArray:
            return match_probabilities(a_templates, b_templates, u_index, v_index, self.offset_us, window)

        return Pairs(self.a, self.b, probabilities)


def _named(templates: Sequence[Histogram], code: CodeArray) -> tuple[Sequence[Histogram], npt.NDArray[Any]]:
    """Return templates, and for each code which of them it names: those named alone if they are fewer than all."""
    if len(templates) <= len(code):
        return tuple(templates), code
    used, index = np.unique(code, return_inverse=True)
    return [templates[each] for each in used], index


BACK_TO_A_TABLE = 16  # once its work is less than this part of what it may be


@dataclass(frozen=True, eq=False)
class InstalledJoin:
    """A condition, since when it counts, and what is known of its template pairs.

    Events with a ref below `since_ref` have no part in any match. `table` judges pairs by the template codes of both
    streams. `cache` does so instead, once all template pairs would be too much work. New events of a search by `as_a`,
    those of b by `as_b`.
    """

    condition: JoinCondition
    since_ref: int
    limits: PairLimits
    table: SatisfactionTable
    cache: OffsetCache | None
    as_a: ProbeBounds
    as_b: ProbeBounds

    @classmethod
    def install(cls, condition: JoinCondition, since_ref: int, limits: PairLimits) -> InstalledJoin:
        """Start with no templates known."""
        table = SatisfactionTable.build([], [], condition.window, condition.threshold)
        bounds = ProbeBounds.of_a(table), ProbeBounds.of_b(table)
        return cls(condition, since_ref, limits, table, None, *bounds)

    @property
    def look_ups(self) -> LookUps:
        """What the cache has done so far; nothing while a table will do."""
        return LookUps() if self.cache is None else self.cache.look_ups

    def knowing(self, a: TemplateRegistry, b: TemplateRegistry) -> InstalledJoin:
        """Return the join with all templates of both registries known."""
        if (len(self.as_a.outer_lo_us), len(self.as_b.outer_lo_us)) == (len(a), len(b)):
            return self
        if self.cache is not None:
            return self._with_cache(self.cache)
        window, threshold = self.condition.window, self.condition.threshold
        judge = judge_of(window, threshold, a, b, self.limits, self.table)
        return self._with_table(judge) if isinstance(judge, SatisfactionTable) else self._with_cache(judge)

    def renewed(
        self, a: TemplateRegistry, b: TemplateRegistry, a_code: CodeArray | None, b_code: CodeArray | None
    ) -> InstalledJoin:
        """Return the join after a change of codes: the new ones by old code, None where they stayed."""
        if self.cache is not None and not self._earns_a_table(self.cache, a, b):
            unchanged = np.arange(max(len(a), len(b)), dtype=np.int32)
            self.cache.recode(unchanged if a_code is None else a_code, unchanged if b_code is None else b_code)
            return self._with_cache(self.cache)
        condition = self.condition
        return self._with_table(
            SatisfactionTable.build(a.templates, b.templates, condition.window, condition.threshold)
        )

    def _earns_a_table(self, cache: OffsetCache, a: TemplateRegistry, b: TemplateRegistry) -> bool:
        """Whether the table is little work by now, and the look-ups since have cost as much as the last table.

        Else a stream whose events bring their own templates would build tables in vain, again and again.
        """
        look_ups = cache.look_ups.hits + cache.look_ups.misses
        work = table_work(a.templates, b.templates, self.condition.window)
        made_up_for = look_ups * mean_evaluation_work(a.templates, b.templates) >= self.limits.table
        return made_up_for and work <= self.limits.table // BACK_TO_A_TABLE

    def find(self, stream: str, batch: Events, stored: SortedEvents, goes_first: GoesFirst) -> RefPairs:
        """Return the pairs of the batch with the stored partners, and in a self-join with itself.

        The batch is not in the buffer yet: so every pair is found exactly once, when its later member comes.
        """
        parts = []
        if stream == self.condition.a:
            parts.append(self._probe(batch, stored, self.as_a, probes_with_b=False))
        if stream == self.condition.b:
            parts.append(self._probe(batch, stored, self.as_b, probes_with_b=True))
        if self.condition.is_self_join:
            parts.append(self._inside(batch))
        pairs = RefPairs.all_of(parts)
        return pairs.with_ties_ordered(goes_first) if self.condition.is_unordered else pairs

    def _probe(self, batch: Events, stored: SortedEvents, bounds: ProbeBounds, *, probes_with_b: bool) -> RefPairs:
        probe = Probe(batch, stored, bounds, self.condition.sensors, self.since_ref)
        return RefPairs.of(probe, matching_pairs(probe), probes_with_b=probes_with_b)

    def _inside(self, batch: Events) -> RefPairs:
        """Pairs of the sorted batch with itself."""
        stored = sorted_events(batch)
        probe = Probe(batch, stored, self.as_b, self.condition.sensors)
        blocks = matching_pairs(probe)
        if self.condition.is_unordered:
            # as_b finds partners reported before or at the same time; of the latter only rows before count
            blocks = ((rows[at < rows], at[at < rows]) for rows, at in blocks)
        else:
            blocks = ((rows[at != rows], at[at != rows]) for rows, at in blocks)
        return RefPairs.of(probe, blocks, probes_with_b=True)

    def _with_cache(self, cache: OffsetCache) -> InstalledJoin:
        least = self._least_offsets_us
        as_a, as_b = ProbeBounds.possible_of_a(cache, least[0]), ProbeBounds.possible_of_b(cache, least[1])
        return replace(self, cache=cache, as_a=as_a, as_b=as_b)

    def _with_table(self, table: SatisfactionTable) -> InstalledJoin:
        least = self._least_offsets_us
        as_a, as_b = ProbeBounds.of_a(table, least[0]), ProbeBounds.of_b(table, least[1])
        return replace(self, table=table, cache=None, as_a=as_a, as_b=as_b)

    @property
    def _least_offsets_us(self) -> tuple[int, int]:
        """Least tb - ta for a new event in role a, and for one in role b."""
        # in an unordered join the earlier event has role a, so offsets tb - ta are at least 0; those of exactly 0 are
        # found once, with the new event in role b
        return (1, 0) if self.condition.is_unordered else (-(2**61), -(2**61))
