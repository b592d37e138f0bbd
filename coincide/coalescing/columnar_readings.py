"""ColumnarReadings: the readings of an extent in columns, updated by whole frames."""

from __future__ import annotations

import numpy as np

from coincide.arrays import Int64Array
from coincide.changes import Changes
from coincide.coalescing.admission import Admission
from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.frame import Frame
from coincide.coalescing.places import places
from coincide.coalescing.runs import Label, Runs
from coincide.coalescing.segments import Segments, joined
from coincide.coalescing.time_scope import TimeScope
from coincide.coalescing.tuple_scope import TupleScope


class ColumnarReadings:
    """Merges a frame into the ends of its groups' segments, from its earliest reading on, and drops from the fronts.

    What lies between is not touched: the cost of a frame depends on its length, and on how far back it reaches.
    """

    def __init__(self, extent: WindowExtent) -> None:
        self._segments = Segments()
        self._scope = _scope_of(extent)
        self._code_of: dict[Label, int] = {}

    def __len__(self) -> int:
        return int(self._segments.sizes.sum())

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; say which are late."""
        admitted = self._admit(frame)
        self._segments.write(admitted.merged.at, admitted.merged.readings, admitted.merged.tail)
        self._segments.head = self._segments.head + admitted.leaving
        return Changes(Runs.of([]), Runs.of([]), admitted.late, admitted.late_by_us)

    def readings(self) -> Frame:
        """Return the readings, by (group, ts, id)."""
        segments = self._segments
        row, at = places(segments.head, segments.tail)
        return Frame(segments.ts[at], segments.labels[row], segments.value[at], segments.ref[at], segments.kept[at])

    def _admit(self, frame: Frame) -> Admission:
        """Judge a frame, and make room for it."""
        return self._scope.admit(self._segments, frame._replace(group=self._codes(frame)))

    def _codes(self, frame: Frame) -> Int64Array:
        """Return the group of each row as its position among the labels; make room for it."""
        segments, groups = self._segments, frame.group.tolist()
        try:
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        except KeyError:
            self._add_groups(frame)
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        more = np.bincount(code, minlength=len(segments.labels))
        if (segments.tail + more > segments.limit).any():
            segments.make_room(segments.labels, more)
        return code

    def _add_groups(self, frame: Frame) -> None:
        """Take the frame's groups among the labels, and forget those that have no readings left."""
        held = self._segments.labels[self._segments.sizes > 0]
        labels = np.unique(joined(held, frame.group))
        codes = self._segments.make_room(labels, np.zeros(len(labels), np.int64))
        if self._scope.expiry is not None:
            self._scope.expiry.recode(codes)
        self._code_of = {label: code for code, label in enumerate(labels.tolist())}


def _scope_of(extent: WindowExtent) -> TimeScope | TupleScope:
    if extent.duration_us is not None:
        return TimeScope(extent.duration_us, extent.per_group)
    return TupleScope(extent.size or 0, extent.per_group)
