"""LinkedSegments: segments that say of each reading to which run it belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array, PositionArray
from coincide.coalescing.segments import Segments


class LinkedSegments(Segments):
    """Segments with the runs of their readings.

    Attributes
    ----------
    rank, start : ndarray of int64, shape (room,)
        Number of those in the group that count at their instant up to this one, and where its run started: before
        `head`, if the readings there have left. One that does not count has both from the one that does.
    last, end : ndarray of int64, shape (room,)
        Only where a run starts: where its last reading stands, and until when that one holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rank = self.start = self.last = self.end = np.empty(0, np.int64)

    def drop(self, head: Int64Array, since: Int64Array) -> None:
        """Let each group begin later, in the middle of a run maybe; from `since` on links are decided anew."""
        cut = np.flatnonzero((self.head < head) & (head < since))
        first = head[cut]
        start = np.maximum(self.start[first], self.head[cut])
        self.last[first], self.end[first] = self.last[start], self.end[start]
        self.head = head

    def _moved(self, source: PositionArray, oldest: Int64Array, shift: Int64Array) -> dict[str, npt.NDArray[Any]]:
        return super()._moved(source, oldest, shift) | {
            "rank": self.rank[source],
            "start": np.maximum(self.start[source], oldest) + shift,
            "last": self.last[source] + shift,
            "end": self.end[source],
        }
