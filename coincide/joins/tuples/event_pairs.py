"""EventPairs: which two events may be in one set, and which events are compatible with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.joins.tuples.set_plan import SetPlan

MayMeet = Callable[[PositionArray, PositionArray], BoolArray]
"""Whether two events may be in one set as far as their sensors go, both arrays of shape (n,)."""


@dataclass(frozen=True, eq=False)
class EventKinds:
    """The kind of each event, by position, intp (n,), where some roles are required.

    Two events whose roles have no edge are compatible if they `may_meet` and are different rows.
    """

    plan: SetPlan
    of: PositionArray
    may_meet: MayMeet


@dataclass(frozen=True, eq=False)
class EventPairs:
    """Looks pairs of events up: `later` and `earlier` in lexicographic order."""

    row: Int64Array
    later: PositionArray
    earlier: PositionArray
    kinds: EventKinds | None

    def are_compatible(self, one: PositionArray, other: PositionArray) -> BoolArray:
        """Whether two events may be in one set, bool (n,)."""
        are = self._are_listed(one, other)
        if self.kinds is not None:
            of = self.kinds.of
            free = np.flatnonzero(~are & self._free[of[one], of[other]] & (self.row[one] != self.row[other]))
            if len(free):
                are[free] = self.kinds.may_meet(one[free], other[free])
        return are

    @cached_property
    def neighbours(self) -> tuple[PositionArray, PositionArray]:
        """Return the partners of each event, one's behind the other's, and where those of each begin."""
        of, near = np.concatenate([self.later, self.earlier]), np.concatenate([self.earlier, self.later])
        order = np.lexsort((near, of))
        return near[order], np.searchsorted(of[order], np.arange(len(self.row) + 1))

    def _are_listed(self, one: PositionArray, other: PositionArray) -> BoolArray:
        if len(self._keys) == 0:
            return np.zeros(len(one), np.bool_)
        wanted = np.maximum(one, other) * len(self.row) + np.minimum(one, other)
        are: BoolArray = self._keys[np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)] == wanted
        return are

    @cached_property
    def _keys(self) -> PositionArray:
        return self.later * len(self.row) + self.earlier  # they rise

    @cached_property
    def _free(self) -> BoolArray:
        return np.zeros((0, 0), np.bool_) if self.kinds is None else self.kinds.plan.free
