"""Eager with templates: only events in probing ranges are evaluated, ranges that know no threshold."""

from __future__ import annotations

import math

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.regions import refuse_short_window
from coincide.timing_join.max_sorted_buffer import MaxSortedBuffer
from coincide.timing_join.ptjoin.evaluation import Evaluation, evaluations
from coincide.timing_join.ptjoin.partitions import Partitions, partitions_for_any_threshold
from coincide.timing_join.replay import Arrivals, Event, Side, StreamParameters, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


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
        _join(answer, evaluation[new.side], partitions, new, held)
        held.drop_before(_obsolete_before_us(new, parameters[new.side], windows[new.side]))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()


def longest_us(parameters: StreamParameters) -> int:
    """Return pi, the length of a stream's longest template, in whole microseconds rounded up."""
    return max((template.latest_us - template.earliest_us for template in parameters.templates), default=0)


def _join(answer: Answer, evaluation: Evaluation, partitions: Partitions, new: Event, buffer: MaxSortedBuffer) -> None:
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
