"""Eager timing correlation: only events between the certain bounds are probed."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.regions import Regions, region_tables
from coincide.timing_join.max_sorted_buffer import MaxSortedBuffer
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


def eager(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Algorithms 2 and 3 of the interval paper, for uniform templates.

    Line 8 takes the current time; here it is the greatest max that has arrived (see
    `RegionTable.obsolete_before_us`). The paper assumes a window at least as long as the templates. In a shorter one
    there is no region of certain matches, so all of [LH, RH] is probed and the answer is right there too.

    Parameters and result are those of `simple`.

    Raises
    ------
    HistogramError
        A template of more than one bucket.

    Examples
    --------
    The second event of b is certain to match, the third certain not to:

    >>> from coincide import Detections, Histogram
    >>> b = Detections([92_000_000, 100_000_000, 120_000_000], [Histogram.uniform(-4, 0)])
    >>> a = Detections([102_000_000], [Histogram.uniform(-4, 0)])
    >>> measured = eager(Arrivals(a, b, order=[1, 2, 3, 0]), Window(10), threshold=0.5)
    >>> measured.pairs.right.tolist(), measured.work.scanned, measured.work.probabilities
    ([0, 1], 2, 1)
    """
    answer = Answer(arrivals, window, threshold)
    tables = region_tables(arrivals, window, threshold)
    buffers: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    for new in arrivals:
        target = buffers[other_side(new.side)]
        correlate(answer, tables[new.side].of(new), new, target)
        target.drop_before(tables[new.side].obsolete_before_us(new.now_us))
        buffers[new.side].insert(new)
        answer.hold(*buffers.values())
    return answer.measured()


def correlate(answer: Answer, regions: Regions, new: Event, target: MaxSortedBuffer) -> None:
    """Lines 2 to 7: add what is in [LL, RL], probe what is in [LH, LL) or (RL, RH]."""
    for other in target.between(regions.lh_us, regions.rh_us):
        answer.scanned += 1
        if regions.ll_us <= other.latest_us <= regions.rl_us:
            answer.add(new, other)
        else:
            answer.probe(new, other)
