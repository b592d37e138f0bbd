"""ValueLimits: filter readings by their value, and for spells how far back a value must go to end one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coincide.arrays.kinds import BoolArray


@dataclass(frozen=True)
class ValueLimits:
    """The values that interest a query: at most one lower and one upper limit, and one at least.

    Limits decide after readings have their intervals: a reading beyond them still ends the one before it.

    `until_below` and `until_above` are of spells alone: one that begins within the limits lasts until a value is below
    the one or above the other. Each lies at its limit or beyond it.

    Examples
    --------
    >>> hot = ValueLimits(above=80, until_below=75)
    >>> [hot.hold(value) for value in (81, 79.5, 74)], [hot.last(value) for value in (81, 79.5, 74)]
    ([True, False, False], [True, True, False])
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    until_below: float | None = None
    until_above: float | None = None

    @property
    def has_hysteresis(self) -> bool:
        """Whether other limits end what began within these."""
        return self.until_below is not None or self.until_above is not None

    def hold(self, value: Any) -> Any:
        """Whether the value is within the limits: a number, or an array of numbers, row by row."""
        least, greatest = self.range
        return (least <= value) & (value <= greatest)

    def last(self, value: Any) -> Any:
        """Whether a spell that has begun lasts with the value; as `hold` where no other limit ends it."""
        least, greatest = self.lasting_range
        return (least <= value) & (value <= greatest)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and greatest number within the limits: a float lies above another if it is the next one or more."""
        least, greatest = self.at_least, self.at_most
        if self.above is not None:
            least = math.nextafter(self.above, math.inf)
        if self.below is not None:
            greatest = math.nextafter(self.below, -math.inf)
        return -math.inf if least is None else least, math.inf if greatest is None else greatest

    @cached_property
    def lasting_range(self) -> tuple[float, float]:
        """Least and greatest number with which a spell lasts."""
        least, greatest = self.range
        return (
            least if self.until_below is None else self.until_below,
            greatest if self.until_above is None else self.until_above,
        )


def begun(begins: BoolArray, chained: BoolArray) -> BoolArray:
    """Whether each reading belongs to something that has begun, bool (n,).

    Parameters
    ----------
    begins : bool (n,)
        Whether it begins with this reading, if it had not.
    chained : bool (n - 1,)
        Whether it goes on, if it had begun, from each reading to the next.

    Examples
    --------
    >>> begun(np.array([False, True, False, False]), np.array([True, True, False])).tolist()
    [False, True, True, False]
    """
    at = np.arange(len(begins))
    chain = np.maximum.accumulate(np.where(np.append(True, ~chained)[: len(at)], at, 0))
    found: BoolArray = np.maximum.accumulate(np.where(begins, at, -1)) >= chain
    return found
