"""Coalescing: readings, facts and matches to the longest intervals in which nothing that matters changed."""

from coincide.coalescing.batch import coalesce
from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.runs import Run, Runs
from coincide.coalescing.validity import NEVER_US, validity

__all__ = [
    "NEVER_US",
    "Bounded",
    "CoalescingError",
    "Decreasing",
    "Equal",
    "Equivalence",
    "Increasing",
    "Predicate",
    "Quantised",
    "Run",
    "Runs",
    "coalesce",
    "validity",
]
