"""Lazy timing correlation: events wait until there are enough of them, then go in one block."""

from __future__ import annotations

from coincide.timing_join.answer import Answer
from coincide.timing_join.interval.eager import correlate
from coincide.timing_join.interval.re_evaluation import BLOCK, re_evaluated
from coincide.timing_join.interval.regions import region_tables
from coincide.timing_join.replay import Arrivals
from coincide.timing_join.work import Measured
from coincide.window import Window


def lazy(arrivals: Arrivals, window: Window, threshold: float, block: int = BLOCK) -> Measured:
    """Algorithms 4 and 5 of the interval paper, for uniform templates.

    As printed, the block of a is joined with all of b, and the block of b later with all of a: two events that waited
    at the same time are found twice. Here one re-evaluation takes both blocks (see `re_evaluated`). The result is
    that of `simple`; short windows are as in `eager`.

    Parameters
    ----------
    arrivals : Arrivals
    window : Window
    threshold : float
    block : int
        How many events wait, of both streams together, before they are processed. What waits at the end is
        processed then.

    Raises
    ------
    HistogramError
        A template of more than one bucket.

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-4, 0)]
    >>> arrivals = Arrivals(Detections([102_000_000], clock), Detections([92_000_000, 100_000_000], clock))
    >>> measured = lazy(arrivals, Window(10), threshold=0.5, block=2)
    >>> measured.pairs.right.tolist(), measured.work.scanned, measured.work.probabilities
    ([0, 1], 2, 1)
    """
    answer = Answer(arrivals, window, threshold)
    tables = region_tables(arrivals, window, threshold)
    for base, waiting, target in re_evaluated(answer, tables, block):
        for new in waiting:
            correlate(answer, tables[base].of(new), new, target)
    return answer.measured()
