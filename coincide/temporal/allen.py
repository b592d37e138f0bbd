"""Allen's thirteen relations between two intervals, and OVERLAPS as TSQL2 has it.

Exactly one of the thirteen holds for any two proper intervals. On half-open intervals "meets" leaves no instant out
and shares none. An end of NOW is later than every instant and the same for all: two open intervals finish together.

Sources: Allen: Maintaining Knowledge about Temporal Intervals (1983);
Snodgrass et al.: TSQL2 Language Specification (1994).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray
from coincide.temporal.intervals import Intervals, checked_lengths

IntervalPredicate = Callable[[Intervals, Intervals], BoolArray]


def before(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `a` ends and some time passes before `b` starts."""
    holds: BoolArray = a.end_us < b.start_us
    return holds


def meets(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `b` starts as `a` ends."""
    holds: BoolArray = a.end_us == b.start_us
    return holds


def overlaps(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `a` starts first, and ends inside `b`. TSQL2 means something wider: `overlaps_tsql2`."""
    return (a.start_us < b.start_us) & (b.start_us < a.end_us) & (a.end_us < b.end_us)


def starts(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `a` starts with `b` and ends first."""
    holds: BoolArray = (a.start_us == b.start_us) & (a.end_us < b.end_us)
    return holds


def during(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `a` starts after `b` and ends before it."""
    return (a.start_us > b.start_us) & (a.end_us < b.end_us)


def finishes(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each `a` starts after `b` and ends with it."""
    holds: BoolArray = (a.start_us > b.start_us) & (a.end_us == b.end_us)
    return holds


def equals(a: Intervals, b: Intervals) -> BoolArray:
    """Whether both start together and end together."""
    holds: BoolArray = (a.start_us == b.start_us) & (a.end_us == b.end_us)
    return holds


def _inverse(predicate: IntervalPredicate) -> IntervalPredicate:
    return lambda a, b: predicate(b, a)


ALLEN: Mapping[str, IntervalPredicate] = MappingProxyType(
    {
        "before": before,
        "meets": meets,
        "overlaps": overlaps,
        "finished by": _inverse(finishes),
        "contains": _inverse(during),
        "starts": starts,
        "equals": equals,
        "started by": _inverse(starts),
        "during": during,
        "finishes": finishes,
        "overlapped by": _inverse(overlaps),
        "met by": _inverse(meets),
        "after": _inverse(before),
    }
)
"""The thirteen by name: of two columns of intervals of the same length, or one of them of length 1."""


def relation(a: Intervals, b: Intervals) -> npt.NDArray[Any]:
    """Return which of the thirteen holds between each row of `a` and the same row of `b`.

    Parameters
    ----------
    a, b : Intervals of the same length n, or one of them of length 1

    Returns
    -------
    ndarray of str, shape (n,)
        Names as in `ALLEN`.

    Raises
    ------
    IntervalError
        They differ in length.

    Examples
    --------
    >>> relation(Intervals([0, 3, 5], [5, 5, 9]), Intervals([3], [5])).tolist()
    ['finished by', 'equals', 'met by']
    """
    checked_lengths(a, b)
    return np.select([predicate(a, b) for predicate in ALLEN.values()], list(ALLEN), default="")


def overlaps_tsql2(a: Intervals, b: Intervals) -> BoolArray:
    """Whether each row of `a` has an instant in common with the same row of `b`: TSQL2's OVERLAPS.

    It is true of all relations but before, meets, met by and after.

    Examples
    --------
    >>> overlaps_tsql2(Intervals([0, 3, 5], [5, 5, 9]), Intervals([3], [5])).tolist()
    [True, True, False]
    """
    checked_lengths(a, b)
    return (a.start_us < b.end_us) & (b.start_us < a.end_us)
