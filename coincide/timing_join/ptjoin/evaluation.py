"""Evaluation: whether two events match, by adjusted histograms and Theorem 1."""

from __future__ import annotations

from coincide.satisfaction_times import least_probability
from coincide.timing_join.answer import is_inside
from coincide.timing_join.ptjoin.adjusted import ge
from coincide.timing_join.ptjoin.histogram_timestamp import HistogramTimestamp
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.window import Window


class Evaluation:
    """The join condition evaluated for events of one stream and partners of the other.

    Probabilities are good to about 1e-14 where buckets are not much shorter than a millisecond and edges are whole
    microseconds; threshold 1, which the paper leaves out, asks for the supports.

    Parameters
    ----------
    arrivals : Arrivals
    side : {"a", "b"}
        Whose events arrive.
    window : Window
        Of Xb - Xa.
    threshold : float

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> arrivals = Arrivals(Detections([9_000_000], clock), Detections([4_000_000], clock))
    >>> b_1, a_1 = arrivals
    >>> evaluation = Evaluation(arrivals, "a", Window(5), threshold=0.6)
    >>> evaluation.starts_inside(a_1, b_1), evaluation.ends_inside(a_1, b_1)
    (False, True)
    """

    def __init__(self, arrivals: Arrivals, side: Side, window: Window, threshold: float) -> None:
        self._window = window if side == "a" else window.swapped()
        self._threshold, self._enough = threshold, least_probability(threshold)
        parameters = arrivals.parameters
        self._us, self._vs = parameters[side].templates, parameters[other_side(side)].templates
        self._new, self._held = ([HistogramTimestamp.of_template(t) for t in ts] for ts in (self._us, self._vs))

    def is_match(self, new: Event, held: Event) -> bool:
        """P(X_i + hi >= X_j and X_j - lo >= X_i) >= threshold: both cannot fail at once, so that their failures add."""
        return self._is_enough(self._ends(new, held) + self._starts(new, held) - 1.0, new, held)

    def ends_inside(self, new: Event, held: Event) -> bool:
        """prob(H_i + hi >= H_j) >= threshold: all that Lemma 2 leaves to ask on the right."""
        return self._is_enough(self._ends(new, held), new, held)

    def starts_inside(self, new: Event, held: Event) -> bool:
        """prob(H_j - lo >= H_i) >= threshold: all that Lemma 2 leaves to ask on the left."""
        return self._is_enough(self._starts(new, held), new, held)

    def _ends(self, new: Event, held: Event) -> float:
        return ge(self._new[new.template] + self._window.hi_s * 1e6, self._moved(new, held))

    def _starts(self, new: Event, held: Event) -> float:
        return ge(self._moved(new, held) - self._window.lo_s * 1e6, self._new[new.template])

    def _moved(self, new: Event, held: Event) -> HistogramTimestamp:
        return self._held[held.template] + (held.detected_at_us - new.detected_at_us)

    def _is_enough(self, probability: float, new: Event, held: Event) -> bool:
        if probability < self._enough:
            return False
        u, v, offset_us = self._us[new.template], self._vs[held.template], held.detected_at_us - new.detected_at_us
        return self._threshold < 1.0 or is_inside(u, v, offset_us, self._window)


def evaluations(arrivals: Arrivals, window: Window, threshold: float) -> dict[Side, Evaluation]:
    """One evaluation for each stream whose events arrive."""
    return {side: Evaluation(arrivals, side, window, threshold) for side in arrivals.parameters}
