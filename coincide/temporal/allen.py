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

ALLEN: Mapping[str, Callable[[Intervals, Intervals], BoolArray]] = MappingProxyType(
    {
        "before": lambda a, b: a.end_us < b.start_us,
        "meets": lambda a, b: a.end_us == b.start_us,
        "overlaps": lambda a, b: (a.start_us < b.start_us) & (b.start_us < a.end_us) & (a.end_us < b.end_us),
        "finished by": lambda a, b: (a.start_us < b.start_us) & (a.end_us == b.end_us),
        "contains": lambda a, b: (a.start_us < b.start_us) & (a.end_us > b.end_us),
        "starts": lambda a, b: (a.start_us == b.start_us) & (a.end_us < b.end_us),
        "equals": lambda a, b: (a.start_us == b.start_us) & (a.end_us == b.end_us),
        "started by": lambda a, b: (a.start_us == b.start_us) & (a.end_us > b.end_us),
        "during": lambda a, b: (a.start_us > b.start_us) & (a.end_us < b.end_us),
        "finishes": lambda a, b: (a.start_us > b.start_us) & (a.end_us == b.end_us),
        "overlapped by": lambda a, b: (b.start_us < a.start_us) & (a.start_us < b.end_us) & (b.end_us < a.end_us),
        "met by": lambda a, b: a.start_us == b.end_us,
        "after": lambda a, b: a.start_us > b.end_us,
    }
)
"""The thirteen by name: of two columns of intervals of the same length, or one of them of length 1.

TSQL2 means something wider by "overlaps": `overlaps_tsql2`.
"""

INVERSES: Mapping[str, str] = MappingProxyType(dict(zip(ALLEN, list(ALLEN)[::-1], strict=True)))
"""What each of the thirteen is called from the other interval's side."""

APART = frozenset({"before", "meets", "met by", "after"})
"""The relations of two intervals that have no instant in common."""

OVERLAPPING = frozenset(ALLEN) - APART
"""The nine relations of two intervals that have an instant in common: TSQL2's OVERLAPS."""


def relation(a: Intervals, b: Intervals) -> npt.NDArray[Any]:
    """Return which of the thirteen holds between each row of `a` and the same row of `b`.

    The result has names as in `ALLEN`, str (n,). An IntervalError says that the two columns differ in length, unless
    one of them has length 1.

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
