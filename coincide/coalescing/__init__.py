"""Coalescing: readings, facts and matches to the longest intervals in which nothing that matters changed."""

from coincide.coalescing.batch import coalesce
from coincide.coalescing.eager import EagerCoalescing
from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.fact_coalescing import EagerFactCoalescing, LazyFactCoalescing
from coincide.coalescing.lazy import LazyCoalescing
from coincide.coalescing.run_changes import RunChanges
from coincide.coalescing.runs import Run, Runs
from coincide.coalescing.validity import NEVER_US, validity

__all__ = [
    "NEVER_US",
    "Bounded",
    "CoalescingError",
    "Decreasing",
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
    "WindowExtent",
    "coalesce",
    "validity",
]
