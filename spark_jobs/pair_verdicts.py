"""Pair verdicts: what is said of the pairs of a query of two roles, the rate of chance matches included."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from coincide.arrays import CodeArray, FloatArray, PositionArray
from coincide.difference import match_probabilities
from coincide.histogram import Histogram
from coincide.occurrences import occurrences
from coincide.query import Query
from coincide.template_pairs import TemplatePairs
from spark_jobs.backgrounds import Backgrounds
from spark_jobs.detection_rates import Background
from spark_jobs.events import EventColumns
from spark_jobs.rival_offsets import RivalOffsets
from spark_jobs.templates import Templates
from spark_jobs.verdicts import DECIMALS, Verdicts, as_recorded

SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class PairJudge:
    """Judges the pairs that one query found in a batch."""

    query: Query
    streams: tuple[int, ...]
    rows: EventColumns
    templates: Templates
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
        when = occurrences([us, vs], np.stack((u_index, v_index)), np.stack((a_us, b_us)), window)
        chance_rates = self._chance_rates(pairs, TemplatePairs(us, vs, u_index, v_index), probability)
        return Verdicts(probability.tolist(), [*as_recorded(when)], chance_rates, [[]] * len(pairs))

    def _chance_rates(
        self, pairs: PositionArray, templates: TemplatePairs, probability: FloatArray
    ) -> list[float | None]:
        """Rate of chance matches of this query in the area of each pair, as precise and at least as probable.

        None where nothing is known of the area, where it would take too much work (see RivalOffsets), and where an
        attribute has to be equal, of which nothing is counted.
        """
        areas = self.rows.area[pairs[:, 0]].tolist()
        seqs = self.rows.seq[pairs].max(axis=1).tolist()
        backgrounds = [self.backgrounds.at(area, seq) for area, seq in zip(areas, seqs, strict=True)]
        rate_hz2 = {known: self._pair_rate_hz2(known) for known in set(backgrounds) if known is not None}
        if not rate_hz2 or self.query.equal is not None:
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
        is_unordered = len(self.query.alike) == 1
        return rate_hz2 / 2 if is_unordered else rate_hz2

    def _histograms(self, at: PositionArray) -> tuple[list[Histogram], PositionArray]:
        codes: CodeArray = self.rows.template[at]
        distinct, index = np.unique(codes, return_inverse=True)
        return [self.templates.histogram(code) for code in distinct], index
