"""Coalescing: readings, facts and matches to the longest intervals in which nothing that matters changed.

Batch: `validity`, `coalesce`. Streams: `EagerCoalescing`, `LazyCoalescing` for readings, `EagerFactCoalescing`,
`LazyFactCoalescing` for rows that bring their own interval. Which scheme is the cheaper for each of many queries:

>>> queries = [DistinctQuery(cp=0.9, oop=0.1), DistinctQuery(cp=0.1, oop=0.5)]
>>> costs = scheme_costs(queries, Weights(memory=1, update=5, scan=2), PAPER, w=100, k=10_000)
>>> select_schemes(costs).eager.tolist()
[True, False]

``measure_costs(time.process_time)`` is this machine's own profile, to be given in place of `PAPER`.
"""

from __future__ import annotations

from coincide.coalescing.batch import coalesce, coalesce_readings
from coincide.coalescing.costs import (
    PAPER,
    DistinctQuery,
    SchemeCosts,
    Selection,
    UnitCosts,
    Weights,
    cost_of,
    measure_costs,
    scheme_costs,
    select_schemes,
)
from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.coalescing.holding import NEVER_US, validity
from coincide.coalescing.runs import Run, RunChanges, Runs
from coincide.coalescing.streams import (
    EagerCoalescing,
    EagerFactCoalescing,
    LazyCoalescing,
    LazyFactCoalescing,
    WindowExtent,
)

__all__ = [
    "NEVER_US",
    "PAPER",
    "Bounded",
    "Decreasing",
    "DistinctQuery",
    "EagerCoalescing",
    "EagerFactCoalescing",
    "Equal",
    "Equivalence",
    "Increasing",
    "LazyCoalescing",
    "LazyFactCoalescing",
    "Predicate",
    "Quantised",
    "Run",
    "RunChanges",
    "Runs",
    "SchemeCosts",
    "Selection",
    "UnitCosts",
    "Weights",
    "WindowExtent",
    "coalesce",
    "coalesce_readings",
    "cost_of",
    "measure_costs",
    "scheme_costs",
    "select_schemes",
    "validity",
]
