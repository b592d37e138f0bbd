"""RunRule: which readings go on from which, which runs interest, and which windows are due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.equivalences import Equal, Equivalence, Quantised
from coincide.sliding.value_limits import ValueLimits
from coincide.temporal.intervals import Intervals
from coincide.temporal.sliding_windows import SlidingWindows

#: A block of windows takes half a megabyte.
WINDOWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class RunRule(Equivalence):
    """An equivalence among the values within some limits; and how long a reading holds at most.

    It is an equivalence itself that looks at neighbours alone: a value within the limits and one beyond them never go
    on from each other. So to filter the runs is the same as to filter the readings once they have their intervals.
    Values beyond the limits make runs too, as long as can be, that nobody sees.

    Examples
    --------
    >>> hot = RunRule(hold_us=60_000_000, limits=ValueLimits(above=100))
    >>> hot.holds(101.0, 103.0), hot.holds(103.0, 99.0), hot.holds(99.0, 98.0)
    (True, False, True)
    """

    hold_us: int  # at most
    limits: ValueLimits | None = None  # None: all values interest
    equivalence: Equivalence | None = None  # None: any value goes on from any other

    def holds(self, previous: Any, following: Any) -> Any:
        """Whether `following` goes on from `previous`."""
        equivalent = self.equivalence is None or self.equivalence.holds(previous, following)
        return self._within_limits(previous, following, equivalent)

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        equivalent = self.equivalence is None or self.equivalence.link(previous, following)
        linked = self._within_limits(previous, following, equivalent)
        return np.broadcast_to(np.asarray(linked, np.bool_), previous.shape)

    def _within_limits(self, previous: Any, following: Any, equivalent: Any) -> Any:
        if self.limits is None:
            return equivalent
        is_within = self.limits.hold(previous)
        return (is_within == self.limits.hold(following)) & (equivalent | (is_within ^ True))

    def interests(self, values: npt.NDArray[Any]) -> BoolArray:
        """Whether each value, and so the run that begins with it, is known and within the limits: bool (n,)."""
        if self.limits is None:
            return np.asarray(values == values, np.bool_)  # noqa: PLR0124 - an unknown one is NaN
        return np.asarray(self.limits.hold(values), np.bool_)

    @property
    def has_one_value(self) -> bool:
        """Whether all readings of a run say the same."""
        return isinstance(self.equivalence, Equal | Quantised)

    def value_of(self, value: Any) -> Any:
        """Return what a run is worth by one of its values: of steps the lower end; numbers or an array of them."""
        return self.equivalence.lower_end(value) if isinstance(self.equivalence, Quantised) else value


def any_due(after_us: Int64Array, until_us: Int64Array, slide_us: int) -> BoolArray:
    """Whether windows end in each (after, until]: at multiples of the slide since the epoch."""
    due: BoolArray = after_us // slide_us < until_us // slide_us
    return due


def windows_due(
    facts: Intervals, after_us: int, until_us: int, time_us: int, slide_us: int, at_once: int = WINDOWS_AT_ONCE
) -> Iterator[SlidingWindows]:
    """Yield the windows that end in (after, until] and hold something, however many lie between, `at_once` at most.

    Examples
    --------
    >>> facts = Intervals([0, 1_000_000], [25, 1_000_001])
    >>> due = windows_due(facts, after_us=-(2**62), until_us=2**62, time_us=20, slide_us=10, at_once=4)
    >>> [windows.end_us.tolist() for windows in due]
    [[10, 20, 30, 40], [1000010, 1000020]]
    """
    first = np.maximum(facts.start_us // slide_us, after_us // slide_us) + 1
    beyond = np.minimum((facts.end_us + time_us - 1) // slide_us, until_us // slide_us) + 1
    first, beyond = _disjoint(first, beyond)
    counted = np.cumsum(beyond - first)
    before = counted - (beyond - first)  # how many windows come before each range
    for begin in range(0, int(counted[-1]) if len(counted) else 0, at_once):
        skipped = np.clip(begin - before, 0, beyond - first)
        stop = np.clip(begin + at_once - before, 0, beyond - first)
        _, number = expanded_ranges(first + skipped, first + stop)
        yield SlidingWindows(number * slide_us, time_us)


def _disjoint(first: Int64Array, beyond: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the union of ranges [first, beyond), ascending; those that are empty are left out."""
    order = np.flatnonzero(first < beyond)
    order = order[np.argsort(first[order], kind="stable")]
    first, reach = first[order], np.maximum.accumulate(beyond[order])
    begins = np.append(np.ones(min(1, len(order)), np.bool_), first[1:] > reach[:-1])
    return first[begins], reach[np.append(begins[1:], np.ones(min(1, len(order)), np.bool_))]
