"""Who judges template pairs in a join: a table of all while it is little work, else a cache of those that meet."""

from __future__ import annotations

from coincide.constraints.window import Window
from coincide.offsets.cache import USUAL_LIMITS, OffsetCache, PairLimits
from coincide.offsets.pair_work import LEAST_WORK, table_work
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.templates.codes import TemplatesInOrder


def judge_of(
    window: Window,
    threshold: float,
    us: TemplatesInOrder,
    vs: TemplatesInOrder,
    limits: PairLimits = USUAL_LIMITS,
    known: SatisfactionTable | None = None,
) -> SatisfactionTable | OffsetCache:
    """Return what tells which offsets of two streams' templates qualify.

    A cache keeps `us` and `vs`, and follows as they grow. `known` is a table of the first of these templates for the
    same window and threshold; it is extended.

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> clocks = TemplatesInOrder([Histogram.point()])
    >>> [type(judge_of(Window(5), 0.5, clocks, clocks, PairLimits(table=work))).__name__ for work in (1000, 0)]
    ['SatisfactionTable', 'OffsetCache']
    """
    is_much = len(us) * len(vs) * LEAST_WORK > limits.table  # then no template need be looked at
    if is_much or table_work(us.templates, vs.templates, window) > limits.table:
        return OffsetCache(window, threshold, us, vs, limits.cached)
    table = SatisfactionTable.build((), (), window, threshold) if known is None else known
    return table.extend(us.templates[len(table.us) :], vs.templates[len(table.vs) :])
