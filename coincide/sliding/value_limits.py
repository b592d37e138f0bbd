"""ValueLimits: filter readings by their value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class ValueLimits:
    """The values that interest a query: at most one lower and one upper limit, and one at least.

    Limits decide after readings have their intervals: a reading beyond them still ends the one before it.
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    def hold(self, value: Any) -> Any:
        """Whether the value is within the limits: a number, or an array of numbers, row by row."""
        least, greatest = self.range
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
