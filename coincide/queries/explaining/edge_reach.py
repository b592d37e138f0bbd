"""EdgeReach: what the sensors of an edge can attain, each pair of templates worked out once and within a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, OffsetArray
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window
from coincide.offsets.chance import offset_lengths_s
from coincide.offsets.pair_work import offsets_work
from coincide.offsets.peaks import attainable_of_pairs
from coincide.queries.explaining.figures import BestPair
from coincide.queries.explaining.sensor_pairs import Codes, KnownSensor, Players, SensorPairs
from coincide.templates.template_columns import TemplatePairs

WORK = 3  # times that of satisfaction offsets: these, and what is attainable


@dataclass(frozen=True, eq=False)
class EdgeReach:
    """The pairs of sensors of an edge in cells of area and templates, and the template pair of each cell.

    Where there is more work than allowed, evenly spaced template pairs stand for all, and `cells` are those of these.
    """

    window: Window
    cells: SensorPairs
    pair: IndexArray
    templates: TemplatePairs
    codes: Codes
    is_sample: bool
    scale: float

    @classmethod
    def of(
        cls, a: Sequence[KnownSensor], b: Sequence[KnownSensor], window: Window, rule: SensorRule, most_work: float
    ) -> EdgeReach:
        """Pair the sensors of two roles; `most_work` is in bucket pairs, see `pair_work`."""
        codes = Codes()
        cells = SensorPairs.between(Players.of(a, codes), Players.of(b, codes), rule)
        kinds, pair = np.unique(np.stack((cells.u, cells.v)), axis=1, return_inverse=True)
        templates = TemplatePairs(*(tuple(codes.templates),) * 2, *kinds)
        work = WORK * offsets_work(templates, window) if len(cells) else np.zeros(0)
        chosen = _within(work, most_work)
        in_all_hz2, nth = cells.rate_hz2.sum(), np.full(kinds.shape[1], -1)
        nth[chosen] = np.arange(len(chosen))
        some = np.flatnonzero(nth[pair.ravel()] >= 0)
        kept = cells.take(some)
        scale = in_all_hz2 / kept.rate_hz2.sum() if kept.rate_hz2.any() else 1.0
        is_sample = cells.is_sample or len(chosen) < kinds.shape[1]
        return cls(window, kept, nth[pair.ravel()[some]], templates.take(chosen), codes, is_sample, float(scale))

    @cached_property
    def attainable(self) -> tuple[FloatArray, OffsetArray]:
        """The most that each template pair attains, and where, in microseconds."""
        return attainable_of_pairs(self.templates, self.window)

    def reach(self, threshold: float) -> BoolArray:
        """Whether each cell has offsets that reach the threshold."""
        reaches: BoolArray = offset_lengths_s(self.templates, self.window, threshold)[self.pair] > 0
        return reaches

    def chance_hz(self, threshold: float) -> dict[str, float]:
        """Return the chance matches a second by area, each pair of sensors once."""
        of_cell = self.cells.rate_hz2 * offset_lengths_s(self.templates, self.window, threshold)[self.pair]
        of_area = np.bincount(self.cells.area, of_cell, len(self.codes.areas)) * self.scale
        return dict(zip(self.codes.areas, of_area.tolist(), strict=True))

    def best_pair(self, a: Sequence[KnownSensor], b: Sequence[KnownSensor], rule: SensorRule) -> BestPair:
        """Return two of the given sensors that attain the most."""
        most, offset_us = self.attainable
        cell = int(np.argmax(most[self.pair]))
        area = list(self.codes.areas)[int(self.cells.area[cell])]
        u, v = (list(self.codes.templates)[int(number[cell])] for number in (self.cells.u, self.cells.v))
        ones = [each.sensor for each in a if each.area == area and each.template == u]
        others = [each.sensor for each in b if each.area == area and each.template == v]
        chosen = _allowed_pair(ones, others, rule)
        return BestPair(chosen, area, int(offset_us[self.pair[cell]]) / 1e6)


def _allowed_pair(
    ones: Sequence[str | None], others: Sequence[str | None], rule: SensorRule
) -> tuple[str | None, str | None]:
    """Return two sensors that the rule allows; there are some."""
    if rule == "same":
        both = {*ones} & {*others}
        return (name := next(each for each in ones if each in both)), name
    different = [each for each in others if each is None or each != ones[0]]
    if different or rule == "any":
        return ones[0], (different or others)[0]
    return next(each for each in ones if each is None or each != others[0]), others[0]


def _within(work: FloatArray, most: float) -> IndexArray:
    """Return as many evenly spaced positions as the work allows, one at least."""
    in_all = float(work.sum())
    if in_all <= most:
        return np.arange(len(work))
    count = max(1, int(len(work) * most / in_all))
    chosen: IndexArray = np.unique(np.linspace(0, len(work) - 1, count).astype(np.int64))
    return chosen
