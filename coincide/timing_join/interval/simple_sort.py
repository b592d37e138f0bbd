"""Simple-Sort timing correlation: every event held is probed, obsolete ones lie together."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.simple import obsolete_before_us
from coincide.timing_join.max_sorted_buffer import MaxSortedBuffer
from coincide.timing_join.replay import Arrivals, Side, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


def simple_sort(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Algorithm 1 with buffers in the order of the events' max: all that is obsolete goes in one cut.

    It probes what `simple` probes; parameters and result are the same, for any templates and any window.

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> a = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    >>> b = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    >>> simple_sort(Arrivals(a, b), Window(10), threshold=0.3).work.scanned
    1
    """
    answer = Answer(arrivals, window, threshold)
    buffers: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    for new in arrivals:
        target = buffers[other_side(new.side)]
        for other in target:
            answer.scanned += 1
            answer.probe(new, other)
        target.drop_before(obsolete_before_us(arrivals, new, window))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()
