"""Link: whether a reading goes on from the one before it, and until when that one holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, Int64Array
from coincide.coalescing.equivalences import Equivalence


class LeftOut(Enum):
    """Stands for the value of a reading that a filter leaves out: it ends the one before it, and makes no run."""

    LEFT_OUT = "left out"

    def __repr__(self) -> str:
        return self.name


LEFT_OUT: Final = LeftOut.LEFT_OUT


@dataclass(frozen=True, slots=True)
class Link:
    """The equivalence and the hold of one operator, applied to two neighbours in time or to a column of them.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> link = Link(Equal(), hold_us=60)
    >>> link.goes_on(0, 81, 60, 81), link.goes_on(0, 81, 61, 81), link.held_until(0, next_us=61)
    (True, False, 60)
    >>> link.between(np.array([0, 60, 121]), np.array([81, 81, 81]), np.array([True, True, True])).tolist()
    [True, False]
    """

    equivalence: Equivalence
    hold_us: int | None = None

    def goes_on(self, previous_us: int, previous: Any, ts_us: int, value: Any) -> bool:
        """Whether the later reading belongs to the run of the earlier one."""
        if previous is LEFT_OUT or value is LEFT_OUT:
            return False
        held = self.hold_us is None or ts_us - previous_us <= self.hold_us
        return held and bool(self.equivalence.holds(previous, value))

    def held_until(self, ts_us: int, next_us: int) -> int:
        """Return te of a reading that has a next one."""
        return next_us if self.hold_us is None else min(next_us, ts_us + self.hold_us)

    def between(self, ts_us: Int64Array, value: npt.NDArray[Any], kept: BoolArray) -> BoolArray:
        """Return `goes_on` for each reading but the first and the one before it, bool (n - 1,)."""
        linked = self.equivalence.link(value[:-1], value[1:])
        if self.hold_us is not None:
            linked = linked & (np.diff(ts_us) <= self.hold_us)
        return linked if kept.all() else linked & kept[:-1] & kept[1:]

    def ends(self, ts_us: Int64Array, next_us: Int64Array) -> Int64Array:
        """Return `held_until` row by row, int64 (n,)."""
        return next_us if self.hold_us is None else np.minimum(next_us, ts_us + self.hold_us)
