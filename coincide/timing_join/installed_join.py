"""InstalledJoin: one query at work on buffers that it shares with others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coincide.buffer import Buffer
from coincide.events import Events, SortedEvents, sorted_events
from coincide.satisfaction_table import SatisfactionTable
from coincide.template_registry import TemplateRegistry
from coincide.timing_join.condition import JoinCondition
from coincide.timing_join.found import Found, GoesFirst
from coincide.timing_join.matching import Probe, matching_pairs
from coincide.timing_join.probe_bounds import ProbeBounds


@dataclass(frozen=True, eq=False)
class InstalledJoin:
    """A condition, since when it counts, and its satisfaction table for the templates known so far.

    Attributes
    ----------
    condition : JoinCondition
    since_ref : int
        The activation: events with a smaller ref have no part in any match.
    is_paused : bool
        Events are still kept for it, but no pair is found.
    table : SatisfactionTable
        By the template codes of both streams.
    as_a, as_b : ProbeBounds
        For new events that play a, and for those that play b.
    """

    condition: JoinCondition
    since_ref: int
    is_paused: bool
    table: SatisfactionTable
    as_a: ProbeBounds
    as_b: ProbeBounds

    @classmethod
    def install(cls, condition: JoinCondition, since_ref: int, *, is_paused: bool) -> InstalledJoin:
        """Start with no templates known."""
        table = SatisfactionTable.build([], [], condition.window, condition.threshold)
        return cls(condition, since_ref, is_paused, table, ProbeBounds.of_a(table), ProbeBounds.of_b(table))

    def knowing(self, a: TemplateRegistry, b: TemplateRegistry) -> InstalledJoin:
        """Return the join with a table that covers all templates of both registries."""
        more_us, more_vs = a.templates[len(self.table.us) :], b.templates[len(self.table.vs) :]
        if not more_us and not more_vs:
            return self
        return self._with_table(self.table.extend(more_us, more_vs))

    def renewed(self, a: TemplateRegistry, b: TemplateRegistry) -> InstalledJoin:
        """Return the join with its table built anew: codes have changed."""
        condition = self.condition
        return self._with_table(
            SatisfactionTable.build(a.templates, b.templates, condition.window, condition.threshold)
        )

    def find(self, stream: str, batch: Events, partners: Buffer, goes_first: GoesFirst) -> Found:
        """Pairs of the batch of `stream` with what the partners' buffer holds, and in a self-join with itself.

        The batch is not in the buffer yet: so every pair is found exactly once, when its later member comes.
        """
        if self.is_paused:
            return Found.none()
        parts = []
        stored = partners.view()
        if stream == self.condition.a:
            parts.append(self._probe(batch, stored, self.as_a, probes_with_b=False))
        if stream == self.condition.b:
            parts.append(self._probe(batch, stored, self.as_b, probes_with_b=True))
        if self.condition.is_self_join:
            parts.append(self._inside(batch))
        found = Found.all_of(parts)
        return found.with_ties_ordered(goes_first) if self.condition.is_unordered else found

    def _probe(self, batch: Events, stored: SortedEvents, bounds: ProbeBounds, *, probes_with_b: bool) -> Found:
        probe = Probe(batch, stored, bounds, self.condition.sensors, self.since_ref)
        return Found.by(probe, matching_pairs(probe), probes_with_b=probes_with_b)

    def _inside(self, batch: Events) -> Found:
        """Pairs of the sorted batch with itself."""
        stored = sorted_events(batch)
        probe = Probe(batch, stored, self.as_b, self.condition.sensors)
        blocks = matching_pairs(probe)
        if self.condition.is_unordered:
            # as_b finds partners reported before or at the same time; of the latter only rows before count
            blocks = ((rows[at < rows], at[at < rows]) for rows, at in blocks)
        else:
            blocks = ((rows[at != rows], at[at != rows]) for rows, at in blocks)
        return Found.by(probe, blocks, probes_with_b=True)

    def _with_table(self, table: SatisfactionTable) -> InstalledJoin:
        # in an unordered join the earlier event plays a, so offsets tb - ta are at least 0; those of exactly 0 are
        # found by the new event playing b, and not again by its playing a
        least = (1, 0) if self.condition.is_unordered else (-(2**61), -(2**61))
        return replace(
            self, table=table, as_a=ProbeBounds.of_a(table, least[0]), as_b=ProbeBounds.of_b(table, least[1])
        )
