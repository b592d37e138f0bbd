"""Faults: which rows of a chunk cannot be used, and why."""

from __future__ import annotations

import numpy as np

from coincide.arrays import BoolArray, Int64Array


class Faults(dict[int, str]):
    """What is wrong, by the row's position; the first thing found wrong with a row stays."""

    def add(self, position: int, why: object) -> None:
        """Note what is wrong with the row at `position`."""
        self.setdefault(position, str(why))

    def add_all(self, positions: Int64Array, why: str) -> None:
        """Note the same for many rows."""
        for position in positions.tolist():
            self.setdefault(position, why)

    def sound(self, rows: int) -> BoolArray:
        """Return which of `rows` rows have no fault, bool (rows,)."""
        mask = np.ones(rows, np.bool_)
        mask[list(self)] = False
        return mask
