"""What is said of the pairs of a query of two roles."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array, PositionArray
from coincide.fusion.matching.advisory_work import AdvisoryBudget, occurred_work
from coincide.fusion.matching.chance_rates import ChanceJudge
from coincide.fusion.matching.match_verdicts import (
    DECIMALS,
    Verdicts,
    as_recorded,
    half_widths_ms,
    hold_for_certain,
    hold_for_certain_within,
)
from coincide.fusion.matching.told_clocks import tell_clocks
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.search.work import blocks
from coincide.places.place_registry import PlaceRegistry
from coincide.probability import OccurrenceColumns, match_probabilities, occurrence_columns
from coincide.probability.difference import probabilities_within
from coincide.probability.joint.on_clocks import share_clocks
from coincide.probability.joint.tuples import EventTuples
from coincide.probability.onset_columns import occurrence_within
from coincide.queries import Query
from coincide.templates.template_columns import TemplatePairs
from coincide.wire.results.match_record import TOO_MUCH_WORK, EdgeRecord, OccurrenceRecord, unknown_because

PAIRS_AT_ONCE = 4_096


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Pairs that match, in the order of their newest members, and their templates."""

    positions: PositionArray  # (n, 2)
    templates: TemplatePairs
    tuples: EventTuples  # the same, but that templates are whole where both are on one clock
    newest: Int64Array  # sequence number of the newest member
    frame: Int64Array  # in which it came
    is_certain: BoolArray  # whether every possible pair of times lies in the window
    half_width_ms: Int64Array | None  # half of each pair's window, where windows follow distances

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class PairJudge:
    """Judges the pairs that one query found in a batch."""

    query: Query
    rows: EventColumns
    templates: VerifiedTemplates
    places: PlaceRegistry
    accepted: AcceptedBatch
    budget: AdvisoryBudget
    chance: ChanceJudge
    check: Callable[[], None]  # called between blocks of at most about a second; what it raises ends the judgement

    def verdicts(self, positions: PositionArray) -> Verdicts:
        """Return what is said of each pair, (n, 2), in the order of the newest members, however they are batched."""
        if len(positions) == 0:
            return Verdicts([], [], [], [], [], [])
        pairs = self._columns(positions)
        tell, too_much = tell_clocks(positions, self.rows, self.templates, self.accepted, self.budget)
        occurred, mass = self._occurred(pairs, tell)
        probability = self._probabilities(pairs, mass)
        chance = self.chance.rates(positions, probability, pairs.is_certain)
        unknown = [
            unknown_because(TOO_MUCH_WORK if when is None else None, why, TOO_MUCH_WORK if when and of_clocks else None)
            for when, why, of_clocks in zip(occurred, chance.unknown, too_much.tolist(), strict=True)
        ]
        no_edges: list[list[EdgeRecord]] = [[]] * len(pairs)
        return Verdicts(probability.tolist(), occurred, chance.rate_hz, chance.error_hz, no_edges, unknown)

    def _columns(self, positions: PositionArray) -> PairColumns:
        rows, known = self.rows, self.templates
        (us, u_index), (vs, v_index) = (known.among(rows.template[side]) for side in positions.T)
        detected_at_us = rows.detected_at_us[positions.T]
        widths_ms = None
        if self.query.graph.is_by_distance:
            widths_ms = half_widths_ms(self.query.graph, positions, rows, self.places)[:, 0]
            is_certain = hold_for_certain_within(widths_ms, positions.T, rows, known)
        else:
            is_certain = hold_for_certain(self.query.window, positions.T, rows, known)
        newest = rows.seq[positions].max(axis=1)
        templates = TemplatePairs(us, vs, u_index, v_index)
        tuples = EventTuples([us, vs], np.stack((u_index, v_index)), detected_at_us)
        return PairColumns(positions, templates, tuples, newest, self.accepted.frames_of(newest), is_certain, widths_ms)

    def _probabilities(self, pairs: PairColumns, mass: FloatArray) -> FloatArray:
        """Return the probability of each pair; the mass of when it occurred is it, where that is not NaN."""
        probability = np.where(pairs.is_certain, 1.0, mass)
        uncertain = np.flatnonzero(np.isnan(probability))
        for block in blocks(len(uncertain), PAIRS_AT_ONCE, self.check):
            at = uncertain[block]
            some, (a_us, b_us) = pairs.templates.take(at), pairs.tuples.detected_at_us[:, at]
            if pairs.half_width_ms is not None:
                probability[at] = probabilities_within(some, b_us - a_us, pairs.half_width_ms[at] / 1000)
                continue
            probability[at] = match_probabilities(
                some.us, some.vs, some.u_index, some.v_index, b_us - a_us, self.query.window
            )
        return probability.round(DECIMALS)

    def _occurred(self, pairs: PairColumns, tell: BoolArray) -> tuple[list[OccurrenceRecord | None], FloatArray]:
        """Tell when each pair occurred, and the mass of that; None and NaN where that would take too much.

        It never does where the query's episodes need it.
        """
        rule = self.query.coalesce
        affordable = np.ones(len(pairs), np.bool_)
        if rule is None or rule.interval != "occurred":
            each_its_own = np.arange(len(pairs))
            work = occurred_work(pairs.templates, share_clocks(pairs.tuples))
            affordable = self.budget.affords(work, each_its_own, pairs.newest, pairs.frame)
        wanted = np.flatnonzero(affordable)
        occurred: list[OccurrenceRecord | None] = [None] * len(pairs)
        mass = np.full(len(pairs), np.nan)
        for block in blocks(len(wanted), PAIRS_AT_ONCE, self.check):
            at = wanted[block]
            when = self._when(pairs, at, tell[at])
            mass[at] = when.probability
            for nth, each in zip(at.tolist(), as_recorded(when), strict=True):
                occurred[nth] = each
        return occurred, mass

    def _when(self, pairs: PairColumns, at: IndexArray, tell: BoolArray) -> OccurrenceColumns:
        some = pairs.tuples.take(at)
        if pairs.half_width_ms is not None:
            return occurrence_within(some, pairs.half_width_ms[at] / 1000, tell)
        return occurrence_columns(some.templates, some.template_index, some.detected_at_us, self.query.window, tell)
