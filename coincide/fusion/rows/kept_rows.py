"""KeptRows: the accepted rows that are still needed, how many there are of each stream, and when to sweep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import BoolArray
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.rows.event_table import EventColumns, EventTable, RowFields

SWEEP_SHARE = 4  # sweep once the rows accepted since are a quarter of those kept: a bounded cost for each row
ROOM_SHARE = 16  # beyond the cap this share of it is evicted too, so that not every batch has to evict


@dataclass
class KeptRows:
    """Rows by sequence number."""

    limits: Limits
    buffered: list[int]  # rows kept, by stream code: those that the last sweep left and those accepted since
    table: EventTable = field(default_factory=EventTable)
    next_seq: int = 0
    first_seq: int = 0  # rows before it have been evicted by the cap
    swept_rows: int = 0  # how many the last sweep left
    swept_areas: int = 0

    @property
    def columns(self) -> EventColumns:
        """The rows, as `EventTable.columns`."""
        return self.table.columns

    def append(self, new: EventColumns) -> None:
        """Take accepted rows, numbered from `next_seq` on."""
        self.table.append(new)
        self._count(new)

    def add(self, rows: Sequence[RowFields]) -> EventColumns:
        """Take a few accepted rows, numbered from `next_seq` on, and return them as `EventTable.add` does."""
        new = self.table.add(rows)
        self._count(new)
        return new

    def _count(self, new: EventColumns) -> None:
        self.next_seq += len(new)
        came = np.bincount(new.stream, minlength=len(self.buffered)).tolist()
        self.buffered = [before + more for before, more in zip(self.buffered, came, strict=True)]

    def widen(self, streams: int) -> None:
        """Make room for the counts of so many streams."""
        self.buffered = self.buffered + [0] * (streams - len(self.buffered))

    def buffered_by_stream(self, streams: KnownStreams) -> dict[str, int]:
        """Return how many rows are kept of each stream that is declared."""
        of_all = zip(streams.names, self.buffered, strict=True)
        return {name: rows for name, rows in of_all if streams.get(name) is not None}

    def is_sweep_due(self, areas: int) -> bool:
        """Whether enough has come since the last sweep, now that there are so many areas.

        It depends only on what the saved state has, too.
        """
        kept, fewest = sum(self.buffered), self.limits.sweep_after
        return (
            kept > self.limits.max_buffered
            or kept - self.swept_rows >= max(fewest, self.swept_rows // SWEEP_SHARE)
            or areas - self.swept_areas >= max(fewest, self.swept_areas // SWEEP_SHARE)
        )

    def note_sweep(self, areas: int) -> None:
        """Count what a sweep has left, in so many areas."""
        rows = self.columns
        self.buffered = np.bincount(rows.stream, minlength=len(self.buffered)).tolist()
        self.swept_rows, self.swept_areas = len(rows), areas

    def evict(self, keep: BoolArray) -> int:
        """Take the oldest rows beyond the cap out of those to keep; return how many these are."""
        beyond = int(np.count_nonzero(keep)) - self.limits.max_buffered
        if beyond <= 0:
            return 0
        beyond += self.limits.max_buffered // ROOM_SHARE
        oldest = np.flatnonzero(keep)[:beyond]
        keep[oldest] = False
        self.first_seq = int(self.columns.seq[oldest[-1]]) + 1
        return beyond
