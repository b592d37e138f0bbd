"""Verdicts: what is said of the pairs found: how probable they are, when it happened, how often chance does as well."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from coincide.arrays import CodeArray, FloatArray, PositionArray
from coincide.difference import match_probabilities
from coincide.histogram import Histogram
from coincide.occurrences import Occurrences, occurrences
from coincide.query import Query
from coincide.template_pairs import TemplatePairs
from spark_jobs.backgrounds import Backgrounds
from spark_jobs.detection_rates import Background
from spark_jobs.events import EventColumns
from spark_jobs.matches import WhenOccurred
from spark_jobs.pairing import FoundPairs
from spark_jobs.rival_offsets import RivalOffsets
from spark_jobs.templates import Templates

DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed in the same batch
NANOSECOND_DECIMALS = 9
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class Verdicts:
    """One entry for each pair."""

    probability: list[float]
    occurred: list[WhenOccurred]
    chance_rate_hz: list[float | None]


@dataclass(frozen=True)
class Judge:
    """Judges the pairs that one query found in a batch."""

    query: Query
    streams: tuple[int, int]
    rows: EventColumns
    templates: Templates
    backgrounds: Backgrounds
    rivals: RivalOffsets

    def verdicts(self, pairs: FoundPairs) -> Verdicts:
        """Return what is said of each pair; none of it depends on the other pairs."""
        if len(pairs) == 0:
            return Verdicts([], [], [])
        us, u_index = self._histograms(pairs.first)
        vs, v_index = self._histograms(pairs.second)
        a_us, b_us = self.rows.detected_at_us[pairs.first], self.rows.detected_at_us[pairs.second]
        window = self.query.window
        probability = match_probabilities(us, vs, u_index, v_index, b_us - a_us, window).round(DECIMALS)
        when = occurrences([us, vs], np.stack((u_index, v_index)), np.stack((a_us, b_us)), window)
        chance_rates = self._chance_rates(pairs, TemplatePairs(us, vs, u_index, v_index), probability)
        return Verdicts(probability.tolist(), _as_recorded(when), chance_rates)

    def _chance_rates(self, pairs: FoundPairs, templates: TemplatePairs, probability: FloatArray) -> list[float | None]:
        """Rate of chance matches of this query in the area of each pair, as precise and at least as probable.

        None where nothing is known of the area, or where it would take too much work (see RivalOffsets).
        """
        areas = self.rows.area[pairs.first].tolist()
        seqs = np.maximum(self.rows.seq[pairs.first], self.rows.seq[pairs.second]).tolist()
        backgrounds = [self.backgrounds.at(area, seq) for area, seq in zip(areas, seqs, strict=True)]
        rate_hz2 = {known: self._pair_rate_hz2(known) for known in set(backgrounds) if known is not None}
        if not rate_hz2:
            return [None] * len(pairs)
        threshold = self.query.within[0].threshold
        offsets_s = self.rivals.lengths_s(templates, self.query.window, probability, threshold).tolist()
        return [
            None if known is None or isnan(seconds) else float(f"{rate_hz2[known] * seconds:.{SIGNIFICANT_DIGITS}g}")
            for known, seconds in zip(backgrounds, offsets_s, strict=True)
        ]

    def _pair_rate_hz2(self, background: Background) -> float:
        rate_hz2 = background.pair_rate_hz2(*self.streams, self.query.sensors)
        unordered = self.query.is_self_join and self.query.window.is_symmetric
        return rate_hz2 / 2 if unordered else rate_hz2

    def _histograms(self, at: PositionArray) -> tuple[list[Histogram], PositionArray]:
        codes: CodeArray = self.rows.template[at]
        distinct, index = np.unique(codes, return_inverse=True)
        return [self.templates.histogram(code) for code in distinct], index


def _as_recorded(when: Occurrences) -> list[WhenOccurred]:
    std_s = when.std_s.round(NANOSECOND_DECIMALS)
    columns = (when.mean_us, std_s, when.p05_us, when.p95_us)
    return [WhenOccurred(*fields) for fields in zip(*(column.tolist() for column in columns), strict=True)]
