"""InstalledJoin: one timing join at work on the buffers of its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.constraints.conditions import JoinCondition
from coincide.constraints.window import Window
from coincide.joins.answers import Pairs
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events, sorted_events
from coincide.joins.pairs.matching import Block, Probe, matching_pairs
from coincide.joins.probe_bounds import ProbeBounds
from coincide.offsets.cache import LookUps, OffsetCache, earns_a_table, judge_of
from coincide.offsets.pair_work import PairLimits
from coincide.offsets.ranges import NEVER_HI_US
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
    def of(cls, probe: Probe, blocks: Iterable[Block]) -> RefPairs:
        """Gather the pairs of all blocks."""
        parts = list(blocks)
        if not parts:
            return cls.none()
        rows, at = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        events, stored = probe.events, probe.stored
        offset_us = stored.codec.offset_us(stored.keys[at], probe.keys[rows])
        new = (events.ref[rows], events.template[rows])
        old = (stored.ref[at], stored.template[at])
        if probe.bounds.probes_with_b:
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
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

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
        columns = a_templates, b_templates, u_index, v_index, self.offset_us, window
        return Pairs(self.a, self.b, partial(match_probabilities, *columns))


def _named(templates: Sequence[Histogram], code: CodeArray) -> tuple[Sequence[Histogram], npt.NDArray[Any]]:
    """Return templates, and for each code which of them it names: those named alone if they are fewer than all."""
    if len(templates) <= len(code):
        return tuple(templates), code
    used, index = np.unique(code, return_inverse=True)
    return [templates[each] for each in used], index


@dataclass(frozen=True, eq=False)
class InstalledJoin:
    """A condition at work on buffers, and what is known of its template pairs by the codes of both streams.

    New events of a search by `as_a`, those of b by `as_b`.
    """

    condition: JoinCondition
    limits: PairLimits
    judge: SatisfactionTable | OffsetCache
    as_a: ProbeBounds
    as_b: ProbeBounds

    @classmethod
    def install(cls, condition: JoinCondition, limits: PairLimits) -> InstalledJoin:
        """Start with no templates known."""
        table = SatisfactionTable.build([], [], condition.window, condition.threshold)
        return cls(condition, limits, table, ProbeBounds.of_a(table), ProbeBounds.of_b(table))

    @property
    def look_ups(self) -> LookUps:
        """What the cache has done so far; nothing while a table will do."""
        return self.judge.look_ups if isinstance(self.judge, OffsetCache) else LookUps()

    def knowing(self, a: TemplateRegistry, b: TemplateRegistry) -> InstalledJoin:
        """Return the join with all templates of both registries known."""
        if (len(self.as_a.outer_lo_us), len(self.as_b.outer_lo_us)) == (len(a), len(b)):
            return self
        if isinstance(self.judge, OffsetCache):
            return self._judged_by(self.judge)
        window, threshold = self.condition.window, self.condition.threshold
        return self._judged_by(judge_of(window, threshold, a, b, self.limits, self.judge))

    def renewed(
        self, a: TemplateRegistry, b: TemplateRegistry, a_code: CodeArray | None, b_code: CodeArray | None
    ) -> InstalledJoin:
        """Return the join after a change of codes: the new ones by old code, None where they stayed."""
        if isinstance(self.judge, OffsetCache) and not earns_a_table(self.judge, a, b, self.limits):
            unchanged = np.arange(max(len(a), len(b)), dtype=np.int32)
            self.judge.recode(unchanged if a_code is None else a_code, unchanged if b_code is None else b_code)
            return self._judged_by(self.judge)
        window, threshold = self.condition.window, self.condition.threshold
        return self._judged_by(SatisfactionTable.build(a.templates, b.templates, window, threshold))

    def find(self, stream: str, batch: Events, partners: Buffer, goes_first: GoesFirst, since_ref: int = 0) -> RefPairs:
        """Return the pairs of the batch with the buffered partners from `since_ref` on, and in a self-join with itself.

        The batch is not in the buffer yet: so every pair is found exactly once, when its later member comes.
        """
        parts = []
        if stream == self.condition.a:
            parts.append(self._probe(batch, partners, self.as_a, since_ref))
        if stream == self.condition.b:
            parts.append(self._probe(batch, partners, self.as_b, since_ref))
        if self.condition.is_self_join:
            parts.append(self._inside(batch))
        pairs = RefPairs.all_of(parts)
        return pairs.with_ties_ordered(goes_first) if self.condition.is_unordered else pairs

    def _probe(self, batch: Events, partners: Buffer, bounds: ProbeBounds, since_ref: int) -> RefPairs:
        probe = Probe.into(partners, batch, bounds, self.condition.sensors, since_ref)
        return RefPairs.of(probe, matching_pairs(probe))

    def _inside(self, batch: Events) -> RefPairs:
        """Return the pairs of the sorted batch with itself."""
        probe = Probe(batch, sorted_events(batch), self.as_b, self.condition.sensors)
        # as_b finds partners of an unordered join reported before or at the same time; of the latter only rows before
        counts = np.less if self.condition.is_unordered else np.not_equal
        wanted = ((rows, at, counts(at, rows)) for rows, at in matching_pairs(probe))
        return RefPairs.of(probe, ((rows[keep], at[keep]) for rows, at, keep in wanted))

    def _judged_by(self, judge: SatisfactionTable | OffsetCache) -> InstalledJoin:
        # in an unordered join the earlier event has role a, so offsets tb - ta are at least 0; those of exactly 0 are
        # found once, with the new event in role b
        least_us = (1, 0) if self.condition.is_unordered else (NEVER_HI_US, NEVER_HI_US)
        as_a, as_b = ProbeBounds.of_a(judge, least_us[0]), ProbeBounds.of_b(judge, least_us[1])
        return replace(self, judge=judge, as_a=as_a, as_b=as_b)
