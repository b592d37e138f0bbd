"""Simple timing correlation: every event held is probed."""

from __future__ import annotations

import math

from coincide.timing_join.answer import Answer
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.timing_join.retention import ROUNDING_US
from coincide.timing_join.work import Measured
from coincide.window import Window


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
