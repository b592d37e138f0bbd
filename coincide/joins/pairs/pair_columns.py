"""PairColumns: pairs written block by block into columns, and the order of the pairs of one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import PositionArray

SPARE = 1.1
GREATEST_LEAP = 256  # times what is in hand: a dense beginning must not ask for more memory than there is


class PairColumns:
    """Pairs in the order of their probing rows, with room for as many as the rows so far let one expect.

    Memory that is not written costs nothing; copying columns again and again costs as much as the join.
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


def sorted_inside(
    rows: PositionArray, at: npt.NDArray[np.int64] | npt.NDArray[np.int32], count: int
) -> tuple[PositionArray, npt.NDArray[Any]]:
    """Sort the pairs of each row by `at`, of which every one is below `count`; `rows` never falls."""
    if len(rows) == 0:
        return rows, at
    bits = count.bit_length()
    fits_32_bits = int(rows[-1] - rows[0]).bit_length() + bits < 32
    keys = (rows - rows[0]).astype(np.int32 if fits_32_bits else np.int64)  # narrow numbers sort twice as fast
    keys <<= bits
    keys |= at.astype(keys.dtype, copy=False)
    keys.sort()
    keys &= (1 << bits) - 1
    return rows, keys
