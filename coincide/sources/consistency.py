"""source_probability: how probable it is that one place explains some reports, with bounds on the answer.

In a cell the corrected times of two members differ from those of its middle by at most twice what an arrival differs.
So a window that is as much longer gives an upper bound for all its places. Cells whose bound is no better than a place
that is known go: branch and bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import Window
from coincide.errors import ThresholdError
from coincide.places.local_frame import LocalFrame
from coincide.places.place import Place
from coincide.places.place_columns import Places
from coincide.probability.joint.probability import joint_probabilities
from coincide.sources.arrivals import Arrivals
from coincide.sources.locating import checked_members
from coincide.sources.place_search import Cells
from coincide.sources.report_density import ReportDensity
from coincide.sources.source_rule import SourceRule
from coincide.templates.histogram import Histogram

ROUNDING_S = 4e-6  # corrected times are whole microseconds
FEW_CELLS, MOST_CELLS, MOST_ROUNDS = 64, 512, 60
TRIED = 8  # best cells of a round whose middles are tried


@dataclass(frozen=True)
class SourceProbability:
    """P of consistency with a place, and a bound: no place in the box has more than `at_most`.

    `place` is the best that was found and has `probability`; None if no place is possible.
    """

    probability: float
    at_most: float
    place: Place | None


def source_probability(
    rule: SourceRule,
    places: Places,
    templates: Sequence[Histogram],
    detected_at_us: Sequence[int],
    within: float = 0.01,
) -> SourceProbability:
    """Return how probable it is that the reports of k members are consistent with one place.

    A source at z is consistent with occurrences X_i if those, less the travel times from z, lie within the rule's
    slack of each other. Occurrences are independent, each by its report and template. So for one place

        P(z) = P(|(X_i - travel_i(z)) - (X_j - travel_j(z))| <= slack for all i, j)

    which is the joint probability of the papers, of corrected reports. P of consistency is the greatest P(z) of all
    places in the box. Of two members whose line goes on in the box, that is P of the window of their distance.

    Parameters
    ----------
    rule, places, templates, detected_at_us
        As in `located_source`. Members on a clock that they share are taken so.
    within : float
        How close `at_most` is to be to `probability`, 0.001 to 1. It is further away where that takes more than 60
        rounds of 512 cells.

    Raises
    ------
    PlaceError, HistogramError, OffsetError, ThresholdError

    Examples
    --------
    >>> from coincide.places import FramePlace
    >>> square = Places.of([FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100)])
    >>> heard_us = [145_773, 235_057, 195_574, 269_008]
    >>> clock = Histogram.uniform(-0.001, 0.001)
    >>> found = source_probability(SourceRule(343, slack_s=0.002), square, [clock] * 4, heard_us)
    >>> found.probability > 0.99 and found.at_most <= 1
    True
    """
    known, at_us = checked_members(rule, places, templates, detected_at_us)
    if not 0.001 <= within <= 1:
        raise ThresholdError("within", within, "a number from 0.001 to 1")
    frame = LocalFrame.around(places)
    members_m = frame.metres(places)
    judge, room = _Judge(known, (at_us - at_us[0]) / 1e6, rule), rule.box_m(members_m)
    if room is None:
        return SourceProbability(0.0, 0.0, None)
    found = _searched(judge, members_m, Cells(room[0][None], room[1]), within)
    best_m = found.best_m
    return SourceProbability(found.best, found.at_most, None if best_m is None else frame.place(*best_m.tolist()))


@dataclass(frozen=True, eq=False)
class _Judge:
    templates: Sequence[Histogram]
    reported_s: FloatArray
    rule: SourceRule

    def probability(self, arrivals: Arrivals, longer_s: float) -> FloatArray:
        """P of each place, (n,), in a window that is longer by so much."""
        window = Window(self.rule.slack_s + longer_s)
        graph = ConstraintGraph.clique([str(nth) for nth in range(len(self.templates))], window)
        corrected_us = np.rint((self.reported_s - arrivals.apart_s) * 1e6).astype(np.int64).T
        first = np.zeros(corrected_us.shape, np.int64)
        return joint_probabilities(graph, [[each] for each in self.templates], first, corrected_us).value


@dataclass(eq=False)
class _Best:
    """The best place so far, and what no place exceeds."""

    best: float = 0.0
    at_most: float = 1.0
    best_m: FloatArray | None = None

    def take(self, probability: FloatArray, centres_m: FloatArray) -> None:
        at = int(np.argmax(probability))
        if probability[at] > self.best:
            self.best, self.best_m = float(probability[at]), centres_m[at]


def _searched(judge: _Judge, members_m: FloatArray, cells: Cells, within: float) -> _Best:
    found, travel, gone, left = _Best(), judge.rule.travel, 0.0, 1.0
    density = ReportDensity.of(judge.templates, judge.reported_s, judge.rule.slack_s)
    arrivals = Arrivals.of(travel, members_m, cells.centres_m, cells.half_m)
    for _ in range(MOST_ROUNDS):
        cells = cells.halved(int(np.argmax(arrivals.steepest)))
        arrivals = Arrivals.of(travel, members_m, cells.centres_m, cells.half_m)
        possible = density.may_be(arrivals)
        cells, arrivals = cells.take(possible), arrivals.take(possible)
        if not len(cells):
            left = 0.0
            break
        if len(cells) <= FEW_CELLS and not _is_small(arrivals, judge.rule.slack_s):
            continue
        bound = judge.probability(arrivals, 2 * float(arrivals.within_s.max()) + ROUNDING_S)
        order = np.argsort(-bound)
        tried = order[:TRIED]
        found.take(judge.probability(arrivals.take(tried), 0.0), cells.centres_m[tried])
        kept = order[bound[order] > found.best + within][:MOST_CELLS]
        gone, left = max(gone, float(np.delete(bound, kept).max(initial=0.0))), float(bound[kept].max(initial=0.0))
        cells, arrivals = cells.take(kept), arrivals.take(kept)
        if not len(cells):
            break
    found.at_most = min(max(found.best, gone, left), 1.0)
    return found


def _is_small(arrivals: Arrivals, slack_s: float) -> bool:
    """Whether cells are so small that their bounds tell something."""
    return float(arrivals.within_s.max()) < slack_s / 2
