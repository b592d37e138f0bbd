"""What is said of the pairs of a query of two roles, the rate of chance matches included."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from coincide import Histogram, Window
from coincide.arrays.kinds import CodeArray, FloatArray, PositionArray
from coincide.offsets.chance import offset_lengths_s
from coincide.offsets.pair_work import offsets_work
from coincide.probability import match_probabilities, occurrence_columns
from coincide.queries import Query
from coincide.templates.template_columns import TemplatePairs
from spark_jobs.matching.match_verdicts import DECIMALS, Verdicts, as_recorded
from spark_jobs.rows.batch_rows import Backgrounds
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates
from spark_jobs.rows.rates import Background

LEVELS = 100  # probabilities are rounded down to a whole percent, so that few lengths are ever asked for
AS_PROBABLE = 1e-12  # probabilities closer than this are equal
MOST_KNOWN = 65_536
MOST_WORK = 50_000  # bucket pairs for one length: about 1 ms; beyond it none is given


class RivalOffsets:
    """Lengths of offset sets of template pairs at whole percents; what is remembered changes no answer."""

    def __init__(self) -> None:
        self._known: dict[tuple[Window, str, str, float], float] = {}

    def lengths_s(self, pairs: TemplatePairs, window: Window, probability: FloatArray, threshold: float) -> FloatArray:
        """Return the length in seconds for each match, shape (n,); NaN where it would take too much work.

        That is judged from the templates and the window alone: two templates with a product of 2,000 buckets in a
        window shorter than both together, of 12,000 in a longer one (ingest lets 64 of each in). Pairs less probable
        than the query's threshold are no matches.
        """
        level = np.maximum(np.floor((probability + AS_PROBABLE) * LEVELS) / LEVELS, threshold)
        distinct, row, nth = np.unique(
            np.stack((pairs.u_index, pairs.v_index, level)), axis=1, return_index=True, return_inverse=True
        )
        keys = [(window, pairs.us[int(u)].id, pairs.vs[int(v)].id, at_least) for u, v, at_least in distinct.T.tolist()]
        self._learn(keys, pairs.take(row), level[row], window)
        return np.array([self._known[key] for key in keys])[nth.ravel()]

    def _learn(
        self, keys: list[tuple[Window, str, str, float]], pairs: TemplatePairs, level: FloatArray, window: Window
    ) -> None:
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        new = np.array([nth for nth, key in enumerate(keys) if key not in self._known], dtype=np.int64)
        if len(new) == 0:
            return
        lengths_s = _lengths_s(pairs.take(new), window, np.maximum(level[new] - AS_PROBABLE, level[new] / 2))
        self._known |= {keys[nth]: length_s for nth, length_s in zip(new.tolist(), lengths_s.tolist(), strict=True)}


def _lengths_s(pairs: TemplatePairs, window: Window, at_least: FloatArray) -> FloatArray:
    lengths_s = np.full(len(pairs), np.nan)
    affordable = np.flatnonzero(offsets_work(pairs, window) <= MOST_WORK)
    lengths_s[affordable] = offset_lengths_s(pairs.take(affordable), window, at_least[affordable])
    return lengths_s


SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class PairJudge:
    """Judges the pairs that one query found in a batch."""

    query: Query
    streams: tuple[int, ...]
    rows: EventColumns
    templates: VerifiedTemplates
    backgrounds: Backgrounds
    rivals: RivalOffsets

    def verdicts(self, pairs: PositionArray) -> Verdicts:
        """Return what is said of each pair, (n, 2); none of it depends on the other pairs."""
        if len(pairs) == 0:
            return Verdicts([], [], [], [])
        (us, u_index), (vs, v_index) = (self._histograms(side) for side in pairs.T)
        a_us, b_us = self.rows.detected_at_us[pairs.T]
        window = self.query.window
        probability = match_probabilities(us, vs, u_index, v_index, b_us - a_us, window).round(DECIMALS)
        when = occurrence_columns([us, vs], np.stack((u_index, v_index)), np.stack((a_us, b_us)), window)
        chance_rates = self._chance_rates(pairs, TemplatePairs(us, vs, u_index, v_index), probability)
        return Verdicts(probability.tolist(), [*as_recorded(when)], chance_rates, [[]] * len(pairs))

    def _chance_rates(
        self, pairs: PositionArray, templates: TemplatePairs, probability: FloatArray
    ) -> list[float | None]:
        """Rate of chance matches in the area of each pair; None where nothing is known or it would take too much."""
        areas = self.rows.area[pairs[:, 0]].tolist()
        seqs = self.rows.seq[pairs].max(axis=1).tolist()
        backgrounds = [self.backgrounds.at(area, seq) for area, seq in zip(areas, seqs, strict=True)]
        rate_hz2 = {known: self._pair_rate_hz2(known) for known in set(backgrounds) if known is not None}
        if not rate_hz2 or self.query.equal is not None or self.query.is_filtered:
            return [None] * len(pairs)
        threshold = self.query.graph.edges[0].threshold or 0.0
        offsets_s = self.rivals.lengths_s(templates, self.query.window, probability, threshold).tolist()
        return [
            None if known is None or isnan(seconds) else float(f"{rate_hz2[known] * seconds:.{SIGNIFICANT_DIGITS}g}")
            for known, seconds in zip(backgrounds, offsets_s, strict=True)
        ]

    def _pair_rate_hz2(self, background: Background) -> float:
        one, other = self.streams
        rate_hz2 = background.pair_rate_hz2(one, other, self.query.sensors)
        is_unordered = len(self.query.interchange.groups) == 1
        return rate_hz2 / 2 if is_unordered else rate_hz2

    def _histograms(self, at: PositionArray) -> tuple[list[Histogram], PositionArray]:
        codes: CodeArray = self.rows.template[at]
        distinct, index = np.unique(codes, return_inverse=True)
        return [self.templates.histogram(code) for code in distinct], index
