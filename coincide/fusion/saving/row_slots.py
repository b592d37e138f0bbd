"""Saved rows: each batch writes its accepted rows into slots, and sparse slots are merged."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray
from coincide.arrays.order import group_starts
from coincide.fusion.control.limits import Limits
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.saving.journal import Slot, SlotWriter

SPARSE_BELOW = 1 / 4  # of a full slot
FIRST_HELD = 3 * 2**29  # slots of areas are numbered from 2**30 up; all numbers fit int32


@dataclass
class RowSlots:
    """The slots that have rows, numbered upwards; a slot that one batch both writes and drops never leaves it."""

    writer: SlotWriter
    limits: Limits
    next: int = 0
    written: dict[int, bytes] = field(default_factory=dict)  # in this batch
    dropped: list[int] = field(default_factory=list)  # written in an earlier batch and needless now
    _row_bytes: dict[int, float] = field(default_factory=dict)  # of those that a row is in since a sweep

    @property
    def live(self) -> Collection[int]:
        """The numbers of the slots that are needed; they rise."""
        return self._row_bytes.keys()

    def write(self, new: EventColumns, slot: CodeArray) -> None:
        """Begin a batch with its accepted rows, and note in `slot` which slot has which."""
        self.written, self.dropped = {}, []
        self._write(new, slot)

    def follow_sweep(self, rows: EventColumns, is_anew: bool) -> None:
        """Drop the slots that have none of the rows which a sweep left, after it moved rows out of sparse slots.

        With `is_anew` all rows move, so that those which were dropped come back from no slot.
        """
        before = set(self._row_bytes)
        left = sorted(rows.slot[group_starts(rows.slot)].tolist())
        self._row_bytes = {slot: self._row_bytes[slot] for slot in left}
        self._move(rows, np.ones(len(rows), np.bool_) if is_anew else self._are_sparse(rows.slot))
        gone = before - self._row_bytes.keys()
        self.dropped = sorted(gone - self.written.keys())
        self.written = {number: slot for number, slot in self.written.items() if number not in gone}

    def restore(self, slots: Iterable[tuple[Slot, int]]) -> None:
        """Take the slots that were live, and how many bytes each has."""
        self._row_bytes = {slot.number: size / len(slot.ids) for slot, size in slots}

    def _are_sparse(self, slot: CodeArray) -> BoolArray:
        """Whether each row is in a sparse slot, if there are many such slots.

        Else areas in which little happens would pin many. Which slots are sparse after a sweep depends only on what
        the saved state has too. A merged slot is not sparse for a while, so a row is seldom written anew.
        """
        slots, rows_left = np.unique(slot, return_counts=True)
        bytes_left = rows_left * [self._row_bytes[number] for number in slots.tolist()]
        sparse = slots[bytes_left < SPARSE_BELOW * self.limits.max_slot_bytes]
        return np.isin(slot, sparse if len(sparse) >= self.limits.merge_slots_from else sparse[:0])

    def _move(self, rows: EventColumns, moving: BoolArray) -> None:
        """Move some rows, all of their slots, into new slots."""
        left, target = np.unique(rows.slot[moving]).tolist(), rows.slot[moving]
        self._write(rows.where(moving), target)
        rows.slot[moving] = target
        for slot in left:
            del self._row_bytes[slot]

    def _write(self, rows: EventColumns, slot: CodeArray) -> None:
        for part in self.writer.split(rows):
            content = self.written[self.next] = self.writer.encode(self.next, rows, part)
            slot[part] = self.next
            self._row_bytes[self.next] = len(content) / (part.stop - part.start)
            self.next += 1
