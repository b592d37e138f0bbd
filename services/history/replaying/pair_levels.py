"""PairLevels: which thresholds of a curve a pair reaches, told by its templates and its offset alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from coincide import Histogram, Window
from coincide.arrays.kinds import CodeArray, FloatArray, IndexArray, Int64Array, OffsetArray
from coincide.offsets.satisfying import offset_ranges
from coincide.probability import match_probabilities
from coincide.templates.template_columns import TemplatePairs

MOST_KNOWN = 2_000  # template pairs; a few seconds of work, and 50 MB
SEARCHED_AT_ONCE = 4_096

Steps = tuple[OffsetArray, FloatArray]
"""Where in the offsets something changes, ascending, and what is reached before, between and behind these places."""


@dataclass
class PairLevels:
    """Which of some thresholds pairs reach; what is not sure enough for the least one reaches 0.

    The offsets that satisfy a threshold are ranges, and those of a higher one lie within those of a lower one. So the
    ranges of all thresholds make steps, and a search in them says of a pair what it reaches: the join's own decision at
    each threshold, for a hundredth of the work that the probability takes. Pairs of templates beyond `MOST_KNOWN` are
    judged by their probability.
    """

    window: Window
    thresholds: Sequence[float]  # ascending
    _known: dict[tuple[Histogram, Histogram], Steps] = field(default_factory=dict)

    def reached(self, templates: Sequence[Histogram], index: CodeArray, offset_us: Int64Array) -> FloatArray:
        """Return what pairs reach: `index` says which templates they have, (2, n), the offset is tb - ta, (n,)."""
        distinct, kind = np.unique(index.astype(np.int64), axis=1, return_inverse=True)
        kind = kind.ravel()
        self._learn([(templates[u], templates[v]) for u, v in distinct.T.tolist()])
        reached, order = np.empty(len(offset_us)), np.argsort(kind, kind="stable")
        stops = np.searchsorted(kind[order], np.arange(distinct.shape[1] + 1))
        for nth, (u, v) in enumerate(distinct.T.tolist()):
            at = order[stops[nth] : stops[nth + 1]]
            reached[at] = self._of_pair(templates[u], templates[v], offset_us[at])
        return reached

    def _of_pair(self, u: Histogram, v: Histogram, offset_us: Int64Array) -> FloatArray:
        steps = self._known.get((u, v))
        if steps is None:
            nothing = np.zeros(len(offset_us), np.intp)
            return match_probabilities([u], [v], nothing, nothing, offset_us, self.window)
        places, levels = steps
        return levels[np.searchsorted(places, offset_us, side="right")]

    def _learn(self, pairs: Sequence[tuple[Histogram, Histogram]]) -> None:
        new = [pair for pair in pairs if pair not in self._known][: MOST_KNOWN - len(self._known)]
        at_once = max(1, SEARCHED_AT_ONCE // len(self.thresholds))
        for first in range(0, len(new), at_once):
            some = new[first : first + at_once]
            self._known |= zip(some, self._steps(some), strict=True)

    def _steps(self, pairs: Sequence[tuple[Histogram, Histogram]]) -> list[Steps]:
        us, vs = (list(side) for side in zip(*pairs, strict=True))
        each, thresholds = np.arange(len(pairs)), np.array([*self.thresholds])
        at: IndexArray = np.repeat(each, len(thresholds))
        ranges = offset_ranges(TemplatePairs(us, vs, at, at), self.window, np.tile(thresholds, len(pairs)))
        of_pair = at[ranges.pair]
        places = np.concatenate((ranges.left, ranges.right + 1))
        change = np.repeat([1, -1], len(ranges))
        order = np.lexsort((places, np.tile(of_pair, 2)))
        stops = np.searchsorted(np.tile(of_pair, 2)[order], np.append(each, len(pairs)))
        levels = np.append(0.0, thresholds)
        found = []
        for start, stop in pairwise(stops.tolist()):
            rows = order[start:stop]
            found.append((places[rows], levels[np.append(0, np.cumsum(change[rows]))]))
        return found
