"""Segments: the readings of an extent in flat columns, a segment with room behind it for each group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.coalescing.frame import Frame
from coincide.coalescing.places import places

ROOM = 16  # free places behind each segment, and
ROOM_A_READING = 3  # so many for each reading in it: to lay out anew costs a tenth of a microsecond a reading


class Segments:
    """Readings by (group, ts, id); those of group g stand at ``head[g]`` to ``tail[g]``, the last one excluded.

    Attributes
    ----------
    labels : ndarray, shape (G,)
        The groups, ascending; their positions are their codes.
    head, tail, limit : ndarray of int64, shape (G,)
        Where each group's readings begin and end, and where its room ends.
    ts, ref, value, kept : ndarray, shape (room,)
        The readings; `ref` is the id, and a reading that is not kept ends the one before it and makes no run.
    """

    def __init__(self) -> None:
        self.labels: LabelArray = np.empty(0, np.int64)
        self.head = self.tail = self.limit = np.empty(0, np.int64)
        self.ts = np.empty(0, np.int64)
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
        held = np.flatnonzero(self.sizes)
        sizes = np.zeros(len(labels), np.int64)
        sizes[code[held]] = self.sizes[held]
        room = (1 + ROOM_A_READING) * sizes + more + ROOM
        limit = np.cumsum(room)
        head = limit - room
        row, source = places(self.head[held], self.tail[held])
        shift = (head[code[held]] - self.head[held])[row]
        target = source + shift
        for name, column in self._moved(source, self.head[held][row], shift).items():
            laid_out = np.empty(int(limit[-1]), column.dtype)
            laid_out[target] = column
            setattr(self, name, laid_out)
        self.labels, self.head, self.tail, self.limit = labels, head, head + sizes, limit
        return code

    def write(self, at: PositionArray, readings: Frame, tail: Int64Array) -> None:
        """Set readings, and where each group's end then; a column is widened where it cannot take the new ones."""
        if self.sizes.any():
            self.ref, self.value = widened(self.ref, readings.ref.dtype), widened(self.value, readings.value.dtype)
        else:
            self.ref = np.empty(len(self.ref), readings.ref.dtype)
            self.value = np.empty(len(self.value), readings.value.dtype)
        self.ts[at], self.ref[at], self.value[at] = readings.ts_us, readings.ref, readings.value
        self.kept[at] = readings.kept
        self.tail = tail

    def _moved(
        self,
        source: PositionArray,
        oldest: Int64Array,  # noqa: ARG002 - for places that are kept in columns
        shift: Int64Array,  # noqa: ARG002
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of readings that go so far from their places; `oldest` are their groups' heads."""
        return {name: getattr(self, name)[source] for name in ("ts", "ref", "value", "kept")}


def widened(column: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a column that can hold values of its own and of another type.

    Examples
    --------
    >>> widened(np.array(["calm"]), np.dtype("U5")).dtype.str[1:], widened(np.array([1]), np.dtype("f8")).tolist()
    ('U5', [1.0])
    >>> widened(np.array([1]), np.dtype("U5")).dtype
    dtype('O')
    """
    if column.dtype == dtype:
        return column
    alike = column.dtype.kind == dtype.kind or {column.dtype.kind, dtype.kind} == {"i", "f"}
    return column.astype(np.result_type(column.dtype, dtype) if alike else object, copy=False)


def joined(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return one column after the other, of a type that holds both; what has no rows has no say."""
    if len(one) == 0 or len(other) == 0:
        return other if len(one) == 0 else one
    return np.concatenate([widened(one, other.dtype), widened(other, one.dtype)])
