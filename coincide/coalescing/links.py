"""Which neighbours belong to one run: whether one goes on from the other, and how far apart they may lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.order import narrow
from coincide.coalescing.equivalences import Equal, Equivalence


class LeftOut(Enum):
    """Stands for the value of a reading that a filter leaves out: it ends the one before it, and makes no run."""

    LEFT_OUT = "left out"

    def __repr__(self) -> str:
        return self.name


LEFT_OUT: Final = LeftOut.LEFT_OUT


@dataclass(frozen=True, slots=True)
class Link:
    """The equivalence and the hold of one operator, applied to two neighbours in time or to a column of them."""

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
        linked = self.link(ts_us[:-1], value[:-1], ts_us[1:], value[1:])
        return linked if kept.all() else linked & kept[:-1] & kept[1:]

    def link(
        self, previous_us: Int64Array, previous: npt.NDArray[Any], ts_us: Int64Array, value: npt.NDArray[Any]
    ) -> BoolArray:
        """Return `goes_on` row by row for readings that no filter leaves out, bool (n,)."""
        linked = self.equivalence.link(previous, value)
        return linked if self.hold_us is None else linked & (ts_us - previous_us <= self.hold_us)

    def ends(self, ts_us: Int64Array, next_us: Int64Array) -> Int64Array:
        """Return `held_until` row by row, int64 (n,)."""
        return next_us if self.hold_us is None else np.minimum(next_us, ts_us + self.hold_us)


NARROW = 1 << 16


@dataclass(frozen=True)
class LinkRule:
    """Values of all rows, and the equivalence that neighbours keep; without values all of a code belong together."""

    values: npt.NDArray[Any] | None = None
    equivalence: Equivalence = field(default_factory=Equal)
    gap_us: int = 0

    @classmethod
    def of(cls, values: npt.NDArray[Any] | None, equivalence: Equivalence) -> LinkRule:
        """Return the rule; whole numbers that only have to be equal are compared in the smallest type for them."""
        if values is None or values.dtype.kind != "i" or not isinstance(equivalence, Equal) or len(values) == 0:
            return cls(values, equivalence)
        least = int(values.min())
        range_ = int(values.max()) - least
        return cls(narrow(values - least, range_ + 1) if range_ < NARROW else values, equivalence)

    def links(self, last: PositionArray, first: PositionArray) -> BoolArray | None:
        """Whether each span but the first goes on from the one before; spans as their last and first rows."""
        if self.values is None:
            return None
        before = self.values.take(last)
        after = before if first is last else self.values.take(first)
        return self.equivalence.link(before[:-1], after[1:])
