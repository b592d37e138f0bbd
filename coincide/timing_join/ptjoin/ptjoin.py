"""PTJoin: tight probing ranges, and in them a comparison with a number looked up."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.regions import refuse_short_window
from coincide.timing_join.max_sorted_buffer import MaxSortedBuffer
from coincide.timing_join.ptjoin.installed_condition import InstalledCondition, installed_conditions
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


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
        _join(answer, condition, new, held)
        held.drop_before(condition.obsolete_before_us(new, arrivals.parameters[new.side].max_delay_us))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()


def _join(answer: Answer, condition: InstalledCondition, new: Event, buffer: MaxSortedBuffer) -> None:
    partitions = condition.partitions(new)
    for held in buffer.between(partitions.least_us, partitions.greatest_us):
        answer.scanned += 1
        if not partitions.is_satisfied(held):
            answer.lookups += 1
            if not condition.is_match(new, held):
                continue
        answer.add(new, held)
