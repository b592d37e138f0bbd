"""Simple with templates: every event of the other stream is evaluated."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.ptjoin.evaluation import evaluations
from coincide.timing_join.replay import Arrivals, Event, Side, other_side
from coincide.timing_join.work import Measured
from coincide.window import Window


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
