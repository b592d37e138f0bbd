"""Coalescing: readings, facts and matches to the longest intervals in which nothing that matters changed.

`validity` gives each reading its interval, and `coalesce` unites the rows of a batch. `EagerCoalescing` and
`LazyCoalescing` do it for readings of a stream as they arrive. `costs` says which of the two is cheaper for each query:

>>> queries = [DistinctQuery(cp=0.9, oop=0.1), DistinctQuery(cp=0.1, oop=0.5)]
>>> costs = scheme_costs(queries, Weights(memory=1, update=5, scan=2), PAPER, w=100, k=10_000)
>>> select_schemes(costs).eager.tolist()
[True, False]

`PAPER` was fitted to the paper's choices and says nothing of any machine. To choose for queries that run, give
``measure_costs(time.process_time)`` in its place: this machine's own profile.
"""

from __future__ import annotations

from coincide.coalescing.batch import NEVER_US, coalesce, coalesce_readings, validity
from coincide.coalescing.costs.measuring import measure_costs
from coincide.coalescing.costs.schemes import (
    DistinctQuery,
    SchemeCosts,
    Selection,
    Weights,
    cost_of,
    scheme_costs,
    select_schemes,
)
from coincide.coalescing.costs.units import PAPER, UnitCosts
from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.coalescing.runs import CoalescedRun, RunChanges, Runs
from coincide.coalescing.streams.extent import WindowExtent
from coincide.coalescing.streams.reading_streams import EagerCoalescing, LazyCoalescing

__all__ = [
    "NEVER_US",
    "PAPER",
    "Bounded",
    "CoalescedRun",
    "Decreasing",
    "DistinctQuery",
    "EagerCoalescing",
    "Equal",
    "Equivalence",
    "Increasing",
    "LazyCoalescing",
    "Predicate",
    "Quantised",
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
