"""Coalescing: readings, facts and matches to the longest intervals in which nothing that matters changed."""

from coincide.coalescing.batch import coalesce, coalesce_readings
from coincide.coalescing.eager import EagerCoalescing
from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.extent import WindowExtent
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
    "Equal",
    "Equivalence",
    "Increasing",
    "LazyCoalescing",
    "Predicate",
    "Quantised",
    "Run",
    "RunChanges",
    "Runs",
    "WindowExtent",
    "coalesce",
    "coalesce_readings",
    "validity",
]
