"""RunRule: which readings go on from which, and which runs interest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray
from coincide.coalescing.equivalences import Equal, Equivalence, Quantised
from coincide.sliding.condition import Condition


@dataclass(frozen=True)
class RunRule(Equivalence):
    """An equivalence among the values that fulfil a condition, with a hold.

    It is an equivalence itself, and a local one: values that fulfil the condition and values that do not never go on
    from each other. So to filter the runs is the same as to filter the readings once they have their intervals. Those
    that do not fulfil it make runs too, as long as can be, that nobody sees.

    Parameters
    ----------
    hold_us : int
        How long a reading holds at most.
    condition : Condition, optional
        Left out: all values interest.
    equivalence : Equivalence, optional
        Left out: any value goes on from any other.

    Examples
    --------
    >>> hot = RunRule(hold_us=60_000_000, condition=Condition(above=100))
    >>> hot.holds(101.0, 103.0), hot.holds(103.0, 99.0), hot.holds(99.0, 98.0)
    (True, False, True)
    """

    hold_us: int
    condition: Condition | None = None
    equivalence: Equivalence | None = None

    def holds(self, previous: Any, following: Any) -> Any:
        """Whether `following` goes on from `previous`."""
        equivalent = True if self.equivalence is None else self.equivalence.holds(previous, following)
        if self.condition is None:
            return equivalent
        interest = self.condition.holds(previous)
        return (interest == self.condition.holds(following)) & (equivalent | (interest ^ True))

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        return np.broadcast_to(np.asarray(self.holds(previous, following), np.bool_), previous.shape)

    def interests(self, values: npt.NDArray[Any]) -> BoolArray:
        """Whether each value, and so the run that begins with it, fulfils the condition: bool (n,)."""
        if self.condition is None:
            return np.ones(len(values), np.bool_)
        return np.asarray(self.condition.holds(values), np.bool_)

    @property
    def has_one_value(self) -> bool:
        """Whether all readings of a run say the same."""
        return isinstance(self.equivalence, Equal | Quantised)

    def value_of(self, value: Any) -> Any:
        """Return what a run is worth by one of its values: of steps the lower end; numbers or an array of them."""
        if isinstance(self.equivalence, Quantised):
            return value // self.equivalence.step * self.equivalence.step
        return value
