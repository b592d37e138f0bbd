"""PTJoin, the join of histogram timestamps, and its yardsticks Simple and Eager."""

from __future__ import annotations

import math

from coincide.constraints.window import Window
from coincide.offsets.long_windows import least_probability
from coincide.papers.interval_timing.regions import refuse_short_window
from coincide.papers.ptjoin.bucket_pairs import HistogramTimestamp, ge
from coincide.papers.ptjoin.partition_bounds import (
    InstalledCondition,
    Partitions,
    installed_conditions,
    partitions_for_any_threshold,
)
from coincide.papers.timing_events import Arrivals, Event, MaxSortedBuffer, Side, StreamParameters, other_side
from coincide.papers.timing_replay import Answer, Measured, is_inside


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


def simple(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Join by nested loops, the straightforward method that section 3 of the PTJoin paper starts from.

    It evaluates the definition of the join condition, so it takes any window. Nothing is ever dropped.

    Parameters
    ----------
    arrivals : Arrivals
    window : Window
        Of Xb - Xa.
    threshold : float
        In (0, 1].

    Raises
    ------
    ThresholdError
        `threshold` is not in (0, 1].

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> arrivals = Arrivals(Detections([9_000_000], clock), Detections([7_000_000, 15_000_000], clock))
    >>> found = simple(arrivals, Window(5), threshold=0.6)
    >>> found.pairs.right.tolist(), found.work.probabilities
    ([0], 2)
    """
    answer, evaluation = Answer(arrivals, window, threshold), evaluations(arrivals, window, threshold)
    buffers: dict[Side, list[Event]] = {"a": [], "b": []}
    for new in arrivals:
        for held in buffers[other_side(new.side)]:
            answer.scanned += 1
            answer.probabilities += 1
            if evaluation[new.side].is_match(new, held):
                answer.add(new, held)
        buffers[new.side].append(new)
        answer.hold(*buffers.values())
    return answer.measured()


def eager(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Join with the partitions of Equations 4 to 6: what is in a probing range is evaluated by Theorem 1.

    Events leave the buffer when they are left of the probing range of every event that may still arrive.

    Parameters and result are those of `simple`.

    Raises
    ------
    WindowError
        The window is shorter than the longest templates of both streams together: Lemma 2 does not hold.

    Examples
    --------
    The first event of b matches for certain, the last is certain not to:

    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> b = Detections([92_000_000, 98_500_000, 120_000_000], clock)
    >>> found = eager(Arrivals(Detections([102_000_000], clock), b, order=[1, 2, 3, 0]), Window(10), threshold=0.6)
    >>> found.pairs.right.tolist(), found.work.scanned, found.work.probabilities
    ([1], 2, 1)
    """
    answer, evaluation = Answer(arrivals, window, threshold), evaluations(arrivals, window, threshold)
    refuse_short_window(arrivals, window)
    windows: dict[Side, Window] = {"a": window, "b": window.swapped()}
    buffers: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    for new in arrivals:
        held, parameters = buffers[other_side(new.side)], arrivals.parameters
        partitions = partitions_for_any_threshold(new, windows[new.side], longest_us(parameters[other_side(new.side)]))
        _eager_join(answer, evaluation[new.side], partitions, new, held)
        held.drop_before(_obsolete_before_us(new, parameters[new.side], windows[new.side]))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()


def longest_us(parameters: StreamParameters) -> int:
    """Return pi, the length of a stream's longest template, in whole microseconds rounded up."""
    return max((template.latest_us - template.earliest_us for template in parameters.templates), default=0)


def _eager_join(
    answer: Answer, evaluation: Evaluation, partitions: Partitions, new: Event, buffer: MaxSortedBuffer
) -> None:
    for held in buffer.between(partitions.least_us, partitions.greatest_us):
        answer.scanned += 1
        if not partitions.is_satisfied(held):
            answer.probabilities += 1
            probe = evaluation.starts_inside if partitions.is_left(held) else evaluation.ends_inside
            if not probe(new, held):
                continue
        answer.add(new, held)


def _obsolete_before_us(new: Event, parameters: StreamParameters, window: Window) -> int:
    """Return where the left probing range of the last event that may still arrive starts, by Equation 4."""
    return new.latest_us - parameters.max_delay_us - longest_us(parameters) + math.floor(window.lo_s * 1e6)


def ptjoin(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Join with the partitions of Theorem 3, the check of Theorem 2 and the invalidation of Theorem 4.

    No probability is evaluated after the condition is installed. Parameters and result are those of `simple`.

    Raises
    ------
    WindowError
        The window is shorter than the longest templates of both streams together: Lemma 2 does not hold.

    References
    ----------
    Section 3 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    Ranges are so tight that one template of b leaves nothing to probe:

    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-2, 0)]
    >>> b = Detections([92_000_000, 98_500_000, 120_000_000], clock)
    >>> found = ptjoin(Arrivals(Detections([102_000_000], clock), b, order=[1, 2, 3, 0]), Window(10), threshold=0.6)
    >>> found.pairs.right.tolist(), found.work
    ([1], Work(scanned=1, probabilities=0, lookups=0, buffered=4))
    """
    answer = Answer(arrivals, window, threshold)
    refuse_short_window(arrivals, window)
    conditions = installed_conditions(arrivals, window, threshold)
    buffers: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    for new in arrivals:
        condition, held = conditions[new.side], buffers[other_side(new.side)]
        _ptjoin_join(answer, condition, new, held)
        held.drop_before(condition.obsolete_before_us(new, arrivals.parameters[new.side].max_delay_us))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()


def _ptjoin_join(answer: Answer, condition: InstalledCondition, new: Event, buffer: MaxSortedBuffer) -> None:
    partitions = condition.partitions(new)
    for held in buffer.between(partitions.least_us, partitions.greatest_us):
        answer.scanned += 1
        if not partitions.is_satisfied(held):
            answer.lookups += 1
            if not condition.is_match(new, held):
                continue
        answer.add(new, held)
