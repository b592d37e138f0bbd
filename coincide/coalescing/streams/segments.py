"""Segments: the readings of an extent in flat columns, a segment with room behind it for each group."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import merged_order_by, stable_order_by
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.columns import BEYOND_US
from coincide.coalescing.streams.extent import ReadingBatch

ROOM = 16  # free places behind each segment, and
ROOM_A_READING = 3  # so many for each reading in it: to lay out anew costs a tenth of a microsecond a reading


class Segments:
    """Readings by (group, ts, id); those of group g stand at ``head[g]`` to ``tail[g]``, the last one excluded."""

    def __init__(self) -> None:
        self.labels: LabelArray = np.empty(0, np.int64)  # the groups, ascending; their positions are their codes
        self.head = self.tail = self.limit = np.empty(0, np.int64)  # `limit` is where the room of a group ends
        self.ts = np.empty(0, np.int64)  # this and the following, as in a ReadingBatch: shape (room,)
        self.ref: LabelArray = np.empty(0, np.int64)
        self.value: npt.NDArray[Any] = np.empty(0, np.int64)
        self.kept: BoolArray = np.empty(0, np.bool_)

    @property
    def sizes(self) -> Int64Array:
        """How many readings each group has, int64 (G,)."""
        return self.tail - self.head

    def make_room(self, labels: LabelArray, more: Int64Array) -> PositionArray:
        """Lay the segments out anew, for these groups and so many readings more in each.

        `labels` are ascending and have all groups that have readings. Returns the new codes of the old groups; that
        of a group without readings, which may be gone, means nothing.
        """
        code: PositionArray = np.searchsorted(labels, self.labels)
        code[code == len(labels)] = 0
        filled = np.flatnonzero(self.sizes)
        sizes = np.zeros(len(labels), np.int64)
        sizes[code[filled]] = self.sizes[filled]
        room = (1 + ROOM_A_READING) * sizes + more + ROOM
        limit = np.cumsum(room)
        head = limit - room
        row, source = expanded_ranges(self.head[filled], self.tail[filled])
        shift = (head[code[filled]] - self.head[filled])[row]
        target = source + shift
        for name, column in self._moved(source, self.head[filled][row], shift).items():
            laid_out = np.empty(int(limit[-1]), column.dtype)
            laid_out[target] = column
            setattr(self, name, laid_out)
        self.labels, self.head, self.tail, self.limit = labels, head, head + sizes, limit
        return code

    def first_from(self, ts_us: Int64Array, groups: PositionArray) -> list[int]:
        """Return where each of some groups has its first reading at or after the time of the group; else its end."""
        bounds = (column[groups].tolist() for column in (ts_us, self.head, self.tail))
        times = self.ts.data
        return [bisect_left(times, *bound) for bound in zip(*bounds, strict=True)]

    def first_after(self, ts_us: Int64Array, since: PositionArray, groups: PositionArray) -> Int64Array:
        """Return where some groups have their first reading after a time, from a place on; else their ends."""
        bounds = (column.tolist() for column in (ts_us, since, self.tail[groups]))
        times = self.ts.data
        return np.array([bisect_right(times, *bound) for bound in zip(*bounds, strict=True)], np.int64)

    def write(self, at: PositionArray, readings: ReadingBatch, tail: Int64Array) -> None:
        """Set readings, and where each group's end then; a column is widened where it cannot take the new ones."""
        if self.sizes.any():
            self.ref, self.value = widened(self.ref, readings.ref.dtype), widened(self.value, readings.value.dtype)
        else:
            self.ref = np.empty(len(self.ref), readings.ref.dtype)
            self.value = np.empty(len(self.value), readings.value.dtype)
        self.ts[at], self.ref[at], self.value[at] = readings.ts_us, readings.ref, readings.value
        self.kept[at] = readings.kept
        self.tail = tail

    def _moved(self, source: PositionArray, oldest: Int64Array, shift: Int64Array) -> dict[str, npt.NDArray[Any]]:  # noqa: ARG002 - for places in columns
        """Return the columns of readings that go so far from their places; `oldest` are their groups' heads."""
        return {name: getattr(self, name)[source] for name in ("ts", "ref", "value", "kept")}


def widened(column: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a column that can hold values of its own and of another type."""
    if column.dtype == dtype:
        return column
    alike = column.dtype.kind == dtype.kind or {column.dtype.kind, dtype.kind} == {"i", "f"}
    return column.astype(np.result_type(column.dtype, dtype) if alike else object, copy=False)


def joined(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one column after the other, of a type that holds both; what has no rows has no say."""
    if len(one) == 0 or len(other) == 0:
        return other if len(one) == 0 else one
    return np.concatenate([widened(one, other.dtype), widened(other, one.dtype)])


class LinkedSegments(Segments):
    """Segments with the runs of their readings, in columns of shape (room,).

    `rank` numbers the readings of a group that count at their instant, and `start` is where the reading's run started:
    before `head`, if the readings there have left. A reading that does not count has both from the one that does.
    Where a run starts, `last` is where its last reading stands, and `end` until when that one holds.
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
        start, last = np.maximum(self.start[source], oldest) + shift, self.last[source] + shift
        links = {"rank": self.rank[source], "start": start, "last": last, "end": self.end[source]}
        return super()._moved(source, oldest, shift) | links


class MergedBatch(NamedTuple):
    """The readings that stand at the segments' ends once a batch of n is merged, by (group, ts, id); k of them."""

    readings: ReadingBatch  # k of them; `group` has codes
    at: PositionArray  # where each goes, shape (k,)
    is_new: BoolArray  # whether it came with the batch and was not there, shape (k,)
    of_row: BoolArray  # the same for each row of the batch, shape (n,)
    since: Int64Array  # from where each segment is rewritten; its old tail where nothing came, shape (G,)
    tail: Int64Array  # where each segment ends then, shape (G,)


def merged_batch(segments: Segments, batch: ReadingBatch) -> MergedBatch:
    """Return where the readings of a batch go; its groups are codes. There must be room."""
    groups = len(segments.labels)
    since, reached = _since(segments, batch)
    row, old = expanded_ranges(since[reached], segments.tail[reached])
    of_batch, new = np.arange(len(batch.ts_us)), batch
    if len(old):  # then the two pieces are merged, in linear time
        of_batch = stable_order_by(batch.group, batch.ts_us)
        new = batch.take(of_batch)
    both = ReadingBatch(
        np.concatenate([segments.ts[old], new.ts_us]),
        np.concatenate([reached[row], new.group]),
        joined(segments.value[old], new.value),
        joined(segments.ref[old], new.ref),
        np.concatenate([segments.kept[old], new.kept]),
    )
    order_by = merged_order_by if len(old) else stable_order_by
    order = _distinct(both, order_by(both.group, both.ts_us))
    readings = both.take(order)
    sizes = np.bincount(readings.group, minlength=groups)
    at = np.arange(len(order)) + (since - np.cumsum(sizes) + sizes)[readings.group]
    is_new = order >= len(old)
    of_row = np.zeros(len(batch.ts_us), np.bool_)
    of_row[of_batch[order[is_new] - len(old)]] = True
    return MergedBatch(readings, at, is_new, of_row, since, since + sizes)


def _since(segments: Segments, batch: ReadingBatch) -> tuple[Int64Array, PositionArray]:
    """Return from where each segment changes, and which groups have readings from there on."""
    earliest = np.full(len(segments.labels), BEYOND_US)
    np.minimum.at(earliest, batch.group, batch.ts_us)
    since = segments.tail.copy()
    filled = np.flatnonzero(segments.tail > segments.head)
    reached = filled[segments.ts[segments.tail[filled] - 1] >= earliest[filled]]
    since[reached] = segments.first_from(earliest, reached)
    return since, reached


def _distinct(readings: ReadingBatch, order: PositionArray) -> PositionArray:
    """Return the order by (group, ts, id), given that by (group, ts); of the same reading again the first is left."""
    group, ts = readings.group[order], readings.ts_us[order]
    tied = (group[1:] == group[:-1]) & (ts[1:] == ts[:-1])
    if not tied.any():
        return order
    order = np.lexsort((readings.ref, readings.ts_us, readings.group))
    ref = readings.ref[order]
    again = tied & (ref[1:] == ref[:-1])
    return np.compress(np.append(True, ~again), order)
