"""A frame merged into the ends of segments: from the earliest of its readings of each group on."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.coalescing.frame import Frame
from coincide.coalescing.places import places
from coincide.coalescing.segments import Segments, joined
from coincide.stable_order import stable_order_by

BEYOND_US = 1 << 62  # after any time


class MergedFrame(NamedTuple):
    """The readings that stand at the segments' ends once a frame is merged, by (group, ts, id); k of them.

    Attributes
    ----------
    readings : Frame of k
        `group` has codes.
    at : ndarray of intp, shape (k,)
        Where each goes.
    is_new : ndarray of bool, shape (k,)
        Whether it came with the frame, and was not there.
    of_row : ndarray of bool, shape (n,)
        The same for each row of the frame.
    since, tail : ndarray of int64, shape (G,)
        From where each segment is rewritten, its old tail where nothing came, and where it ends then.
    """

    readings: Frame
    at: PositionArray
    is_new: BoolArray
    of_row: BoolArray
    since: Int64Array
    tail: Int64Array


def merged_frame(segments: Segments, frame: Frame) -> MergedFrame:
    """Return where the readings of a frame go; its groups are codes. There must be room."""
    groups = len(segments.labels)
    since, reached = _since(segments, frame)
    row, old = places(since[reached], segments.tail[reached])
    both = Frame(
        np.concatenate([segments.ts[old], frame.ts_us]), np.concatenate([reached[row], frame.group]),
        joined(segments.value[old], frame.value), joined(segments.ref[old], frame.ref),
        np.concatenate([segments.kept[old], frame.kept]),
    )  # fmt: skip
    order = _distinct_in_order(both)
    readings = both.take(order)
    sizes = np.bincount(readings.group, minlength=groups)
    at = np.arange(len(order)) + (since - np.cumsum(sizes) + sizes)[readings.group]
    is_new = order >= len(old)
    of_row = np.zeros(len(frame.ts_us), np.bool_)
    of_row[order[is_new] - len(old)] = True
    return MergedFrame(readings, at, is_new, of_row, since, since + sizes)


def _since(segments: Segments, frame: Frame) -> tuple[Int64Array, PositionArray]:
    """Return from where each segment changes, and which groups have readings from there on."""
    earliest = np.full(len(segments.labels), BEYOND_US)
    np.minimum.at(earliest, frame.group, frame.ts_us)
    since = segments.tail.copy()
    held = np.flatnonzero(segments.tail > segments.head)
    reached = held[segments.ts[segments.tail[held] - 1] >= earliest[held]]
    times = segments.ts.data
    bounds = (column[reached].tolist() for column in (earliest, segments.head, segments.tail))
    since[reached] = [bisect_left(times, *bound) for bound in zip(*bounds, strict=True)]
    return since, reached


def _distinct_in_order(readings: Frame) -> PositionArray:
    """Return the order by (group, ts, id); of the same reading again the first is left."""
    order = stable_order_by(readings.group, readings.ts_us)
    group, ts = readings.group[order], readings.ts_us[order]
    tied = (group[1:] == group[:-1]) & (ts[1:] == ts[:-1])
    if not tied.any():
        return order
    order = np.lexsort((readings.ref, readings.ts_us, readings.group))
    ref = readings.ref[order]
    again = tied & (ref[1:] == ref[:-1])
    return np.compress(np.append(True, ~again), order)
