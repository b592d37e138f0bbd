"""KeyGrid: positions in sorted keys read from a table, not searched; several times faster where keys are spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coincide.area_keys import KeyArray
from coincide.arrays import Int64Array, PositionArray

Side = Literal["left", "right"]
Search = Callable[[KeyArray, Side], PositionArray]  # np.searchsorted in keys given before

LEAST_KEYS = 1024
CELLS_PER_KEY = 2
STEPS = 4  # from the first key of a cell; what is further on is searched


def search_in(keys: KeyArray, bounds: int) -> Search:
    """Return the fastest way to find that many bounds among sorted keys."""
    if len(keys) >= LEAST_KEYS and bounds * 2 >= len(keys) and keys.dtype == np.int64:
        grid = KeyGrid.over(keys)
        if not grid.is_crowded:
            return grid.positions
    return lambda bounds, side: np.searchsorted(keys, bounds, side)


@dataclass(frozen=True, eq=False)
class KeyGrid:
    """Cells of equal length, and for each the position of its first key.

    A search mispredicts branches at its last levels; reading the cell's first position and stepping on has none.

    Attributes
    ----------
    keys : ndarray of int64, shape (n + 1,)
        Sorted, at least 0 and below the greatest int64, which follows the last.
    shift : int
        Cells are ``2 ** shift`` long, the first one starts at ``keys[0]``.
    first : ndarray of intp, shape (cells + 1,)
        How many keys lie before each cell; the last counts all.
    is_crowded : bool
        Most cells that have a key at all have more than two: searching is faster.

    Examples
    --------
    >>> KeyGrid.over(np.array([10, 20, 20, 30])).positions(np.array([5, 20, 30, 99]), "right").tolist()
    [0, 3, 4, 4]
    """

    keys: Int64Array
    shift: int
    first: PositionArray
    is_crowded: bool

    @classmethod
    def over(cls, keys: Int64Array) -> KeyGrid:
        """Lay two to four cells a key between the first and the last of at least one key."""
        span = int(keys[-1] - keys[0])
        shift = max(0, (span // (CELLS_PER_KEY * len(keys))).bit_length() - 1)
        following = keys - keys[0]
        following >>= shift
        following += 1  # counted in the next cell, so that sums count what lies before
        keys_in = np.bincount(following)
        is_crowded = bool(2 * np.count_nonzero(keys_in) < len(keys))
        return cls(np.append(keys, np.iinfo(np.int64).max), shift, np.cumsum(keys_in), is_crowded)

    def positions(self, bounds: KeyArray, side: Side) -> PositionArray:
        """Return ``np.searchsorted(keys, bounds, side)`` for bounds of at least 0, in any order."""
        cell = bounds - self.keys[0]
        cell >>= self.shift
        at: PositionArray = self.first.take(cell, mode="clip")
        is_before = np.less if side == "left" else np.less_equal
        rows = np.flatnonzero(is_before(self.keys.take(at, mode="clip"), bounds))
        sought, here = bounds.take(rows), at.take(rows)
        for _ in range(STEPS):
            here += 1
            at[rows] = here
            onwards = np.flatnonzero(is_before(self.keys.take(here, mode="clip"), sought))
            rows, sought, here = rows.take(onwards), sought.take(onwards), here.take(onwards)
        at[rows] = np.searchsorted(self.keys[:-1], sought, side)
        return at
