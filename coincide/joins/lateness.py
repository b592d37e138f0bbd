"""Lateness: the watermark of each area, and by how much a row is late."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.arrays.order import group_starts, stable_order

BEFORE_ALL_US = -(2**62)  # the watermark of an area that has seen nothing: no detection is late
Us = TypeVar("Us", int, Int64Array)


def late_by_us(watermark_us: Us, latest_us: Us, max_delay_us: Us | int) -> Us:
    """How far each row lies behind the last acceptable time, int64 (n,): it is late where this is above 0.

    `watermark_us` is of each row's area, the row included; `max_delay_us` of its stream.
    """
    return watermark_us - max_delay_us - latest_us


def raised_us(watermark_us: int, latest_us: int, received_at_us: int) -> int:
    """Return the watermark of an area after one more row: `Watermark.advance` of one."""
    return max(watermark_us, min(latest_us, received_at_us))


class Watermark:
    """Per area, the running maximum of min(latest, received_at) over the rows of all its streams, in their order.

    `late_by_us` judges a detection by the watermark at its own row. The maximum is taken row by row, so the verdict
    does not depend on how the rows are batched. The minimum with the time of reception keeps one fast clock from
    making everybody late. Areas are small integers (positions in the state).
    """

    def __init__(self, state_us: npt.ArrayLike = ()) -> None:
        self._us = np.array(state_us, dtype=np.int64)

    def advance(self, area: CodeArray, latest_us: Int64Array, received_at_us: Int64Array | None = None) -> Int64Array:
        """Take rows in and return the watermark of each row's area after that row; all arrays of shape (n,)."""
        if len(area) == 0:
            return np.empty(0, np.int64)
        progress = latest_us if received_at_us is None else np.minimum(latest_us, received_at_us)
        self._grow(int(area.max()) + 1)
        if area.min() == area.max():
            after: Int64Array = np.maximum(np.maximum.accumulate(progress), self._us[area[0]])
            self._us[area[0]] = after[-1]
            return after
        return self._advance_many(area, progress)

    def us(self, area: int) -> int:
        """Return the watermark of one area; BEFORE_ALL_US if it has seen nothing."""
        return int(self._us[area]) if area < len(self._us) else BEFORE_ALL_US

    def of(self, areas: PositionArray) -> Int64Array:
        """Return the watermarks of areas that are known."""
        return self._us[areas]

    def put(self, area: int, watermark_us: int) -> None:
        """Set how far one area has come: as it was when it was saved, or back to BEFORE_ALL_US."""
        self._grow(area + 1)
        self._us[area] = watermark_us

    def move_on(self, area: CodeArray, by_us: Int64Array) -> None:
        """Move watermarks of different areas on, by at least 0, though no row came; one that has seen nothing stays."""
        if len(area) == 0:
            return
        self._grow(int(area.max()) + 1)
        seen = self._us[area] != BEFORE_ALL_US
        self._us[area[seen]] += by_us[seen]

    @property
    def state_us(self) -> Int64Array:
        """Watermarks by area, int64 (areas,): all there is to save; `Watermark(state_us)` goes on from it."""
        return self._us.copy()

    def _grow(self, areas: int) -> None:
        if areas > len(self._us):
            more = np.full(max(areas, 2 * len(self._us)) - len(self._us), BEFORE_ALL_US)
            self._us = np.concatenate((self._us, more))

    def _advance_many(self, area: CodeArray, progress: Int64Array) -> Int64Array:
        """Take the running maximum in each area at once, on ranks: rank + area * ranks cannot wrap, times might."""
        order = stable_order(area)
        sorted_area = area[order]
        before = np.maximum(progress[order], self._us[sorted_area])
        values, rank = np.unique(before, return_inverse=True)
        raised = np.maximum.accumulate(rank + sorted_area.astype(np.int64) * len(values))
        after = values[raised - sorted_area.astype(np.int64) * len(values)]
        last = np.append(group_starts(sorted_area)[1:], len(area)) - 1
        self._us[sorted_area[last]] = after[last]
        in_row_order = np.empty_like(after)
        in_row_order[order] = after
        return in_row_order
