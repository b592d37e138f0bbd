"""EdgeReach: what the sensors of an edge attain, each pair of templates looked at once and within a bound of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_work import offsets_work
from coincide.queries.explaining.explanation import BestPair
from coincide.queries.explaining.known_sensors import KnownSensor, Players
from coincide.queries.explaining.sensor_pairs import SensorPairs, different
from coincide.queries.explaining.template_cells import TemplateCells
from coincide.templates.clocked import clock_of, own_of
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import offset_lengths_s
from coincide.thresholds.offset_cells import OffsetCells, cells_work
from coincide.thresholds.peaks import attainable_of_pairs

EXACT_WORK = 2.0**21  # bucket pairs, 40 ms: of the offsets that are searched exactly for one threshold
EXACT_WORK_AT_ALL = 2.0**23  # and for all thresholds together
CERTAIN = 1.0
PEAK = 3.0  # times the work of satisfaction offsets: to find the most that a pair attains


@dataclass(frozen=True, eq=False)
class EdgeReach:
    """The pairs of sensors of an edge in groups of equal area and templates, and the template pair of each group.

    Where there is more work than allowed, evenly spaced template pairs stand for all, and `sensors` are those of these.

    Attributes
    ----------
    pair : ndarray of int64, shape (groups,)
        The template pair of each group of sensor pairs.
    at_least, at_most : ndarray of float64, shape (template pairs,)
        What each template pair attains: equal where that matters, else bounds that decide as well.
    """

    window: Window
    sensors: SensorPairs
    pair: IndexArray
    templates: TemplatePairs
    offsets: OffsetCells
    at_least: FloatArray
    at_most: FloatArray
    is_sample: bool
    scale: float

    @classmethod
    def of(
        cls,
        players: tuple[Players, Players],
        window: Window,
        rule: SensorRule,
        known: TemplateCells,
        thresholds: Sequence[float],
        most_work: float,
    ) -> EdgeReach:
        """Pair the sensors of two roles; all is exact that these thresholds, the least and the greatest depend on."""
        sensors = SensorPairs.between(*players, rule)
        kinds, pair = different(np.stack((sensors.u, sensors.v)))
        chosen = _within(cells_work(known.pairs(*kinds), known.cells), most_work)
        nth = np.full(kinds.shape[1], -1)
        nth[chosen] = np.arange(len(chosen))
        some = sensors.take(np.flatnonzero(nth[pair] >= 0))
        scale = sensors.rate_hz2.sum() / some.rate_hz2.sum() if some.rate_hz2.any() else 1.0
        u, v = kinds[:, chosen]
        cells, at = known.of(window, u, v)
        offsets, templates = cells.take(at), known.pairs(u, v)
        at_least, at_most, is_exact = _attained(offsets, templates, window, thresholds, most_work)
        is_sample = sensors.is_sample or len(chosen) < kinds.shape[1] or not is_exact
        of_group = nth[pair[nth[pair] >= 0]]
        return cls(window, some, of_group, templates, offsets, at_least, at_most, is_sample, float(scale))

    def reach(self, threshold: float) -> BoolArray:
        """Whether each group has offsets that reach the threshold."""
        if threshold == CERTAIN:  # the ends of the templates tell; a probability is too little off 1
            return offset_lengths_s(self.templates, self.window, threshold)[self.pair] > 0
        reaches: BoolArray = (self.at_least >= least_probability(threshold))[self.pair]
        return reaches

    def extent(self) -> tuple[float, float]:
        """Return the least and the greatest that a template pair attains."""
        return float(self.at_most.min()), float(self.at_least.max())

    def chance_hz(self, threshold: float) -> float:
        """Return the chance matches a second, each pair of sensors once.

        As many pairs' offsets are searched exactly as a bound of work allows, those with the fewest offsets first.
        """
        lengths_s = self.offsets.lengths_s(threshold)
        wide = self.offsets.reach(threshold).sum(axis=1)
        near = np.flatnonzero(self.at_most >= least_probability(threshold))
        near = near[np.argsort(wide[near], kind="stable")]
        work = offsets_work(self.templates.take(near), self.window) * (threshold < CERTAIN)
        near = near[np.cumsum(work) <= EXACT_WORK]
        lengths_s[near] = offset_lengths_s(self.templates.take(near), self.window, threshold)
        return float(self.sensors.rate_hz2 @ lengths_s[self.pair] * self.scale)

    def chances_hz(self, thresholds: Sequence[float]) -> FloatArray:
        """Return the chance matches a second at each threshold, in one pass over all cells.

        The offsets of as many template pairs as work allows are searched exactly, those that meet most often first.
        """
        rate_hz2 = np.bincount(self.pair, self.sensors.rate_hz2, len(self.offsets)) * self.scale
        often = np.argsort(-rate_hz2, kind="stable")
        work = np.cumsum(offsets_work(self.templates.take(often), self.window))
        exact, others = np.split(often, [np.searchsorted(work, EXACT_WORK_AT_ALL / max(1, len(thresholds)))])
        weight = (rate_hz2[others, None] * self.offsets.width_s[others]).ravel()
        probability = self.offsets.probability[others].ravel()
        order = np.argsort(probability)
        beyond_hz = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
        least = [least_probability(threshold) for threshold in thresholds]
        by_cells = beyond_hz[np.searchsorted(probability[order], least)]
        searched = self.templates.take(exact)
        lengths_s = [offset_lengths_s(searched, self.window, threshold) for threshold in thresholds]
        chances_hz: FloatArray = by_cells + np.array([rate_hz2[exact] @ each for each in lengths_s])
        return chances_hz

    def best_pair(self, a: Sequence[KnownSensor], b: Sequence[KnownSensor], rule: SensorRule) -> BestPair:
        """Return two of the given sensors that attain the most."""
        best = int(np.argmax(self.at_least))
        [offset_us] = attainable_of_pairs(self.templates.take(np.array([best])), self.window)[1]
        u, v = self.templates.us[self.templates.u_index[best]], self.templates.vs[self.templates.v_index[best]]
        ones, others = _names(a, u), _names(b, v)
        for area, clock in sorted(ones.keys() & others.keys()):
            chosen = _allowed_pair(ones[area, clock], others[area, clock], rule)
            if chosen is not None:
                return BestPair(chosen, area, int(offset_us) / 1e6)
        raise AssertionError("a pair was counted")


def _names(sensors: Sequence[KnownSensor], template: Histogram) -> Mapping[tuple[str, str], list[str | None]]:
    """Return the sensors of a template by area and no clock; also those with which it is what is left on a clock."""
    names: dict[tuple[str, str], list[str | None]] = {}
    for each in sensors:
        clock = clock_of(each.template)
        if each.template == template:
            names.setdefault((each.area, ""), []).append(each.sensor)
        elif clock is not None and own_of(each.template) == template:
            names.setdefault((each.area, clock), []).append(each.sensor)
    return names


def _allowed_pair(
    ones: Sequence[str | None], others: Sequence[str | None], rule: SensorRule
) -> tuple[str | None, str | None] | None:
    """Return two sensors that the rule allows, if there are any."""
    if rule == "same":
        both = {*ones} & {*others} - {None}
        return next(((name, name) for name in ones if name in both), None)
    if rule == "any":
        return next(((one, other) for one in ones for other in others if other != one), (ones[0], others[0]))
    return next(((one, other) for one in ones for other in others if one is None or one != other), None)


def _attained(
    offsets: OffsetCells, templates: TemplatePairs, window: Window, thresholds: Sequence[float], most_work: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Return bounds of what each pair attains, and whether they decide what is asked of them.

    They are made exact where they hold a threshold, or where the least or the greatest of all may be.
    """
    at_least, at_most = offsets.at_least.copy(), offsets.at_most.copy()
    if not len(offsets):
        return at_least, at_most, True
    is_open = (at_most >= at_least.max()) | (at_least <= at_most.min())
    for threshold in thresholds:
        is_open |= (at_least < least_probability(threshold)) & (least_probability(threshold) <= at_most)
    rows = np.flatnonzero(is_open & (at_least < at_most))
    kept = rows[np.cumsum(PEAK * offsets_work(templates.take(rows), window)) <= most_work]
    at_least[kept] = at_most[kept] = attainable_of_pairs(templates.take(kept), window)[0]
    return at_least, at_most, len(kept) == len(rows)


def _within(work: FloatArray, most: float) -> Int64Array:
    """Return as many evenly spaced positions as the work allows, one at least."""
    in_all = float(work.sum())
    if in_all <= most:
        return np.arange(len(work))
    count = max(1, int(len(work) * most / in_all))
    chosen: Int64Array = np.unique(np.linspace(0, len(work) - 1, count).astype(np.int64))
    return chosen
