"""What is said of the pairs of a query of two roles, the rate of chance matches included."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from coincide import Histogram, Window
from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, IndexArray, Int64Array, PositionArray
from coincide.constraints.window import is_within_for_certain
from coincide.offsets.chance import offset_lengths_s
from coincide.offsets.pair_work import offsets_work
from coincide.probability import match_probabilities, occurrence_columns
from coincide.queries import Query
from coincide.templates.template_columns import TemplatePairs
from spark_jobs.matching.advisory_work import AdvisoryBudget, first_of_each, occurred_work
from spark_jobs.matching.match_verdicts import DECIMALS, Verdicts, as_recorded
from spark_jobs.records.match_records import (
    HAS_EQUAL,
    IS_FILTERED,
    NOT_WATCHED_YET,
    TOO_MUCH_WORK,
    OccurrenceRecord,
    UnknownReason,
    unknown_because,
)
from spark_jobs.rows.batch_rows import AcceptedBatch
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates
from spark_jobs.rows.rates import Background

LEVELS = 100  # probabilities are rounded down to a whole percent, so that few lengths are ever worked out
AS_PROBABLE = 1e-12  # probabilities closer than this are equal
CERTAIN = 1.0
MOST_KNOWN = 65_536


def levels(probability: FloatArray, threshold: float, is_certain: BoolArray) -> FloatArray:
    """How probable the chance matches of each match are at least, (n,): a whole percent, or the query's threshold.

    Pairs less probable than that are no matches. Only where every possible pair of times lies in the window it is
    `CERTAIN`. The lengths for that follow from the ends of the templates alone, and so take no work; for almost
    certain they take five times as much as for any other level.
    """
    whole = np.minimum(np.floor((probability + AS_PROBABLE) * LEVELS), LEVELS - 1) / LEVELS
    return np.where(is_certain, CERTAIN, np.maximum(whole, threshold))


class RivalOffsets:
    """Lengths of offset sets of template pairs by level; what is remembered changes no answer."""

    def __init__(self) -> None:
        self._known: dict[tuple[Window, str, str, float], float] = {}

    def lengths_s(self, pairs: TemplatePairs, window: Window, level: FloatArray) -> FloatArray:
        """Return the length in seconds of each pair at its level, shape (n,)."""
        us, vs = ([template.id for template in side] for side in (pairs.us, pairs.vs))
        named = zip(pairs.u_index.tolist(), pairs.v_index.tolist(), level.tolist(), strict=True)
        keys = [(window, us[u], vs[v], at_least) for u, v, at_least in named]
        self._learn(keys, pairs, level, window)
        return np.array([self._known[key] for key in keys])

    def _learn(
        self, keys: list[tuple[Window, str, str, float]], pairs: TemplatePairs, level: FloatArray, window: Window
    ) -> None:
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        new = {key: nth for nth, key in enumerate(keys) if key not in self._known}
        if not new:
            return
        at = np.array([*new.values()], dtype=np.int64)
        at_least = np.where(level[at] == CERTAIN, CERTAIN, np.maximum(level[at] - AS_PROBABLE, level[at] / 2))
        lengths_s = offset_lengths_s(pairs.take(at), window, at_least)
        self._known.update(zip(new, lengths_s.tolist(), strict=True))


SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Pairs that match, in the order of their newest members, and their templates."""

    positions: PositionArray  # (n, 2)
    templates: TemplatePairs
    detected_at_us: Int64Array  # (2, n)
    newest: Int64Array  # sequence number of the newest member
    frame: Int64Array  # in which it came
    is_certain: BoolArray  # whether every possible pair of times lies in the window

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class PairJudge:
    """Judges the pairs that one query found in a batch."""

    query: Query
    streams: tuple[int, ...]
    rows: EventColumns
    templates: VerifiedTemplates
    accepted: AcceptedBatch
    rivals: RivalOffsets
    budget: AdvisoryBudget

    def verdicts(self, positions: PositionArray) -> Verdicts:
        """Return what is said of each pair, (n, 2), in the order of the newest members, however they are batched."""
        if len(positions) == 0:
            return Verdicts([], [], [], [], [])
        pairs = self._columns(positions)
        probability = self._probabilities(pairs)
        occurred = self._occurred(pairs)
        chance_rates, unknown_rate = self._chance_rates(pairs, probability)
        unknown = [
            unknown_because(TOO_MUCH_WORK if when is None else None, why)
            for when, why in zip(occurred, unknown_rate, strict=True)
        ]
        return Verdicts(probability.tolist(), occurred, chance_rates, [[]] * len(pairs), unknown)

    def _columns(self, positions: PositionArray) -> PairColumns:
        rows, known = self.rows, self.templates
        (us, u_index), (vs, v_index) = (self._histograms(side) for side in positions.T)
        u, v = rows.template[positions.T]
        detected_at_us = rows.detected_at_us[positions.T]
        apart_us = detected_at_us[1] - detected_at_us[0]
        earliest_us = apart_us + known.earliest_us[v] - known.latest_us[u]
        latest_us = apart_us + known.latest_us[v] - known.earliest_us[u]
        is_certain = is_within_for_certain(self.query.window, earliest_us, latest_us)
        newest = rows.seq[positions].max(axis=1)
        templates = TemplatePairs(us, vs, u_index, v_index)
        return PairColumns(positions, templates, detected_at_us, newest, self.accepted.frames_of(newest), is_certain)

    def _probabilities(self, pairs: PairColumns) -> FloatArray:
        probability = np.ones(len(pairs))
        at = np.flatnonzero(~pairs.is_certain)
        some, (a_us, b_us) = pairs.templates.take(at), pairs.detected_at_us[:, at]
        probability[at] = match_probabilities(
            some.us, some.vs, some.u_index, some.v_index, b_us - a_us, self.query.window
        ).round(DECIMALS)
        return probability

    def _occurred(self, pairs: PairColumns) -> list[OccurrenceRecord | None]:
        """Tell when each pair occurred; None where that would take too much, unless the query's episodes need it."""
        rule = self.query.coalesce
        affordable = np.ones(len(pairs), np.bool_)
        if rule is None or rule.interval != "occurred":
            each_its_own = np.arange(len(pairs))
            work = occurred_work(pairs.templates)
            affordable = self.budget.affords(work, each_its_own, pairs.newest, pairs.frame)
        at = np.flatnonzero(affordable)
        some = pairs.templates.take(at)
        when = occurrence_columns(
            [some.us, some.vs], np.stack((some.u_index, some.v_index)), pairs.detected_at_us[:, at], self.query.window
        )
        occurred: list[OccurrenceRecord | None] = [None] * len(pairs)
        for nth, each in zip(at.tolist(), as_recorded(when), strict=True):
            occurred[nth] = each
        return occurred

    def _chance_rates(
        self, pairs: PairColumns, probability: FloatArray
    ) -> tuple[list[float | None], list[UnknownReason | None]]:
        """Rate of chance matches in the area of each pair, or None and why it is not known."""
        rates: list[float | None] = [None] * len(pairs)
        if self.query.equal is not None or self.query.is_filtered:
            return rates, [HAS_EQUAL if self.query.equal is not None else IS_FILTERED] * len(pairs)
        areas = self.rows.area[pairs.positions[:, 0]].tolist()
        backgrounds = self.accepted.backgrounds
        known = [backgrounds.at(area, seq) for area, seq in zip(areas, pairs.newest.tolist(), strict=True)]
        rate_hz2 = {each: self._pair_rate_hz2(each) for each in set(known) if each is not None}
        at = np.flatnonzero(np.array([each is not None for each in known], np.bool_))
        lengths_s = self._rival_lengths_s(pairs, probability, at).tolist()
        why: list[UnknownReason | None] = [NOT_WATCHED_YET] * len(pairs)
        for nth, seconds in zip(at.tolist(), lengths_s, strict=True):
            why[nth] = TOO_MUCH_WORK if isnan(seconds) else None
            if (each := known[nth]) is not None and not isnan(seconds):
                rates[nth] = float(f"{rate_hz2[each] * seconds:.{SIGNIFICANT_DIGITS}g}")
        return rates, why

    def _rival_lengths_s(self, pairs: PairColumns, probability: FloatArray, at: IndexArray) -> FloatArray:
        """How long the offsets of chance matches are, for the pairs at `at`; NaN where that would take too much.

        A detection and a frame pay for a template pair and level once, whether they are remembered or not.
        """
        level = levels(probability, self.query.graph.edges[0].threshold or 0.0, pairs.is_certain)[at]
        templates = pairs.templates.take(at)
        first, kind = first_of_each(templates.u_index, templates.v_index, level)
        work = (offsets_work(templates.take(first), self.query.window) * (level[first] != CERTAIN))[kind]
        affordable = self.budget.affords(work, kind, pairs.newest[at], pairs.frame[at])
        wanted, nth = np.unique(kind[affordable], return_inverse=True)
        some = first[wanted]
        lengths_s = np.full(len(at), np.nan)
        lengths_s[affordable] = self.rivals.lengths_s(templates.take(some), self.query.window, level[some])[nth]
        return lengths_s

    def _pair_rate_hz2(self, background: Background) -> float:
        one, other = self.streams
        rate_hz2 = background.pair_rate_hz2(one, other, self.query.sensors)
        is_unordered = len(self.query.interchange.groups) == 1
        return rate_hz2 / 2 if is_unordered else rate_hz2

    def _histograms(self, at: PositionArray) -> tuple[list[Histogram], PositionArray]:
        codes: CodeArray = self.rows.template[at]
        distinct, index = np.unique(codes, return_inverse=True)
        return [self.templates.histogram(code) for code in distinct], index
