"""Simple, Simple-Sort and Eager timing correlation of interval timestamps."""

from __future__ import annotations

import math

from coincide.constraints.window import Window
from coincide.joins.retention import ROUNDING_US
from coincide.papers.interval_timing.regions import Regions, region_tables
from coincide.papers.timing_events import Arrivals, Event, MaxSortedBuffer, Side, other_side
from coincide.papers.timing_replay import Answer, Measured


def simple(arrivals: Arrivals, window: Window, threshold: float) -> Measured:
    """Algorithm 1 of the interval paper, for any templates and any window.

    The text does not say when an event is obsolete. Here: when no event still to come can reach it with any
    probability at all. That needs no regions and holds for every histogram.

    Parameters
    ----------
    arrivals : Arrivals
    window : Window
        Of Xb - Xa.
    threshold : float
        In (0, 1].

    Returns
    -------
    Measured
        The pairs of `timing_join` with sensors "any", and the work done for them.

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> a = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    >>> b = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    >>> measured = simple(Arrivals(a, b), Window(10), threshold=0.3)
    >>> measured.pairs.left.tolist(), measured.pairs.right.tolist(), measured.work.probabilities
    ([0], [0], 1)
    """
    answer = Answer(arrivals, window, threshold)
    buffers: dict[Side, list[Event]] = {"a": [], "b": []}
    for new in arrivals:
        target = other_side(new.side)
        horizon_us = obsolete_before_us(arrivals, new, window)
        kept = []
        for other in buffers[target]:
            answer.scanned += 1
            answer.probe(new, other)
            if other.latest_us >= horizon_us:
                kept.append(other)
        buffers[target] = kept
        buffers[new.side].append(new)
        answer.hold(*buffers.values())
    return answer.measured()


def obsolete_before_us(arrivals: Arrivals, new: Event, window: Window) -> int:
    """Partners whose max is below this match no event of the stream of `new` that is still to come."""
    base = arrivals.parameters[new.side]
    lo_s = window.lo_s if new.side == "a" else -window.hi_s
    return new.now_us - base.max_delay_us + math.floor((lo_s - base.longest_s) * 1e6) - ROUNDING_US


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
