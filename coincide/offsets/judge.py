"""Who judges template pairs in a join: a table of all while it is little work, else a cache of those that meet."""

from __future__ import annotations

from coincide.constraints.window import Window
from coincide.offsets.cache import USUAL_LIMITS, OffsetCache, PairLimits
from coincide.offsets.pair_work import LEAST_WORK, mean_evaluation_work, table_work
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.templates.codes import TemplatesInOrder

BACK_TO_A_TABLE = 16  # once its work is less than this part of what it may be


def judge_of(
    window: Window,
    threshold: float,
    us: TemplatesInOrder,
    vs: TemplatesInOrder,
    limits: PairLimits = USUAL_LIMITS,
    known: SatisfactionTable | None = None,
) -> SatisfactionTable | OffsetCache:
    """Return what tells which offsets of two streams' templates qualify; `known` is a table of the first of them."""
    is_much = len(us) * len(vs) * LEAST_WORK > limits.table  # then no template need be looked at
    if is_much or table_work(us.templates, vs.templates, window) > limits.table:
        return OffsetCache(window, threshold, us, vs, limits.cached)
    table = SatisfactionTable.build((), (), window, threshold) if known is None else known
    return table.extend(us.templates[len(table.us) :], vs.templates[len(table.vs) :])


def earns_a_table(cache: OffsetCache, us: TemplatesInOrder, vs: TemplatesInOrder, limits: PairLimits) -> bool:
    """Whether the table is little work by now, and the look-ups since have cost as much as the last table.

    Else a stream whose events bring their own templates would build tables in vain, again and again.
    """
    look_ups = cache.look_ups.hits + cache.look_ups.misses
    is_made_up_for = look_ups * mean_evaluation_work(us.templates, vs.templates) >= limits.table
    return is_made_up_for and table_work(us.templates, vs.templates, cache.window) <= limits.table // BACK_TO_A_TABLE
