"""PairColumns: the blocks of a join as two columns, written once."""

from __future__ import annotations

import numpy as np

from coincide.arrays import PositionArray

SPARE = 1.1
GREATEST_LEAP = 256  # times what is in hand: a dense beginning must not ask for more memory than there is


class PairColumns:
    """Pairs in the order of their probing rows; room is made for as many as the rows so far let expect.

    Memory that is not written costs nothing; copying columns again and again costs as much as the join.

    Parameters
    ----------
    probing_rows : int
        How many there are in all.
    """

    def __init__(self, probing_rows: int) -> None:
        self._probing_rows = probing_rows
        self._rows, self._at = np.empty(0, np.intp), np.empty(0, np.intp)
        self._size = 0

    def append(self, rows: PositionArray, first_row: int, at: PositionArray, first_at: int) -> None:
        """Add pairs (probing row, stored row), each counted from its first; rows never fall."""
        if len(rows) == 0:
            return
        start, self._size = self._size, self._size + len(rows)
        if self._size > len(self._rows):
            expected = self._size * self._probing_rows / (first_row + int(rows[-1]) + 1)
            capacity = int(SPARE * min(expected, GREATEST_LEAP * self._size)) + 1
            self._rows, self._at = (_enlarged(column, start, capacity) for column in (self._rows, self._at))
        np.add(rows, first_row, out=self._rows[start : self._size])
        np.add(at, first_at, out=self._at[start : self._size])

    def columns(self) -> tuple[PositionArray, PositionArray]:
        """Return all probing rows and all stored rows."""
        return self._rows[: self._size], self._at[: self._size]


def _enlarged(column: PositionArray, size: int, capacity: int) -> PositionArray:
    larger = np.empty(capacity, np.intp)
    larger[:size] = column[:size]
    return larger
