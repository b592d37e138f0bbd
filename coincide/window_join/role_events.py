"""RoleEvents: the sorted events that may play one role, or a stretch of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays import CodeArray, Int64Array, PositionArray
from coincide.events import SortedEvents
from coincide.timing_join.key_grid import Search, search_in


@dataclass(frozen=True, eq=False)
class RoleEvents:
    """Some rows of a stream's sorted events, in their order.

    Attributes
    ----------
    stored : SortedEvents
        The rows themselves.
    first : int
        Position of the first one, where they are a stretch.
    chosen : ndarray of intp, shape (n,), or None
        Their positions, where they are not.
    """

    stored: SortedEvents
    first: int = 0
    chosen: PositionArray | None = None

    def __len__(self) -> int:
        return len(self.stored)

    @cached_property
    def area(self) -> CodeArray:
        """Area codes, int32 (n,)."""
        return self.stored.codec.area(self.stored.keys)

    @cached_property
    def time_us(self) -> Int64Array:
        """Reported times, int64 (n,)."""
        return self.stored.codec.time_us(self.stored.keys)

    def rows(self, first: int, last: int) -> RoleEvents:
        """Return rows first : last of these, not copied."""
        chosen = None if self.chosen is None else self.chosen[first:last]
        return RoleEvents(self.stored.rows(first, last), self.first + first, chosen)

    def take(self, rows: PositionArray) -> RoleEvents:
        """Return the given rows, which rise."""
        return RoleEvents(self.stored.take(rows), chosen=self.positions(rows))

    def positions(self, rows: PositionArray) -> PositionArray:
        """Return the positions of some of these rows in the stream."""
        return rows + self.first if self.chosen is None else self.chosen[rows]

    def row_at(self, positions: PositionArray) -> PositionArray:
        """Return the first of these rows at or after each position in the stream."""
        return positions - self.first if self.chosen is None else np.searchsorted(self.chosen, positions)

    def within(self, area: CodeArray, from_us: Int64Array, to_us: Int64Array) -> tuple[PositionArray, PositionArray]:
        """Find the rows start : stop of each area reported in a closed range of time; all arrays of shape (n,)."""
        lower, upper = (self.stored.codec.encode_bound(area, time_us) for time_us in (from_us, to_us))
        search = self._search(len(lower))
        return search(lower, "left"), search(upper, "right")

    def _search(self, bounds: int) -> Search:
        if 2 * bounds < len(self):
            return lambda sought, side: np.searchsorted(self.stored.keys, sought, side)
        return self._grid

    @cached_property
    def _grid(self) -> Search:
        return search_in(self.stored.keys, len(self))
