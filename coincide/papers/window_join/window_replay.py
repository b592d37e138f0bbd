"""Recorded streams as the window join paper sees them, one tuple after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections

Label = int | str | None


@dataclass(frozen=True, slots=True)
class Point:
    """One detection as it arrives: the paper's tuple.

    Attributes
    ----------
    stream : str
    row : int
        Its row in the stream's frame.
    time_us : int
        When it occurred, exactly.
    key : int, str or None
        What must be equal for all members of a result; None where there are no keys.
    now_us : int
        When it arrives: the greatest time that had arrived, its own included.
    """

    stream: str
    row: int
    time_us: int
    key: Label
    now_us: int


class Arrivals:
    """Detections at exact times of several streams, of one area, in an order of arrival.

    The paper knows neither areas nor sensors: any tuples of different streams may join. Its streams may be delayed
    against each other; here a stream may be out of order in itself, too.

    Parameters
    ----------
    frames : mapping of str to Detections
        By stream. All rows are of one area (or none has an area), and all templates are single atoms. A frame given to
        two streams is two streams: an event joins itself.
    order : array_like of int, shape (n,), optional
        All rows, counted through the streams one after the other, in the order in which they arrive. Left out: by
        time, the streams in their order at ties.
    key : mapping of str to array_like, optional
        A label for each row of each stream: the paper's equality predicate.

    Attributes
    ----------
    points : tuple of Point
        In the order of arrival.
    disorder_us : dict of str to int
        How far a tuple lies behind the greatest time of its stream when it arrives, at most; measured. 0 is what the
        paper assumes: every stream by itself is in order.

    Raises
    ------
    DetectionsError
        Uncertain times, rows of several areas, keys that do not fit, or an order that does not name every row once.

    Examples
    --------
    >>> exact = [Histogram.point()]
    >>> arrivals = Arrivals({"a": Detections([9, 12], exact), "b": Detections([7], exact)}, order=[1, 0, 2])
    >>> [(point.stream, point.row, point.time_us) for point in arrivals]
    [('a', 1, 12), ('a', 0, 9), ('b', 0, 7)]
    >>> arrivals.disorder_us
    {'a': 3, 'b': 0}
    """

    def __init__(
        self,
        frames: Mapping[str, Detections],
        order: npt.ArrayLike | None = None,
        key: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        self.frames = dict(frames)
        _refuse_several_areas(self.frames)
        self.streams = tuple(self.frames)
        self.has_keys = key is not None
        self._times_us = [_exact_times_us(stream, frame) for stream, frame in self.frames.items()]
        self._keys = [_labels(stream, frame, key) for stream, frame in self.frames.items()]
        every_us = np.concatenate([*self._times_us, np.empty(0, np.int64)])
        self._order = np.argsort(every_us, kind="stable") if order is None else _checked_order(order, len(every_us))

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self._order)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All tuples in the order of arrival."""
        rows = list(self._in_frames())
        arrived = [rows[at] for at in self._order.tolist()]
        now_us = accumulate((point.time_us for point in arrived), max)
        return tuple(replace(point, now_us=now) for point, now in zip(arrived, now_us, strict=True))

    @cached_property
    def disorder_us(self) -> dict[str, int]:
        """How late tuples of each stream come, measured against the stream itself."""
        return {stream: self._disorder_us(stream) for stream in self.streams}

    def _in_frames(self) -> Iterator[Point]:
        for stream, times_us, keys in zip(self.streams, self._times_us, self._keys, strict=True):
            for row, (time_us, key) in enumerate(zip(times_us.tolist(), keys, strict=True)):
                yield Point(stream, row, time_us, key, now_us=time_us)

    def _disorder_us(self, stream: str) -> int:
        times_us = np.array([point.time_us for point in self.points if point.stream == stream], np.int64)
        return int((np.maximum.accumulate(times_us) - times_us).max(initial=0))


def _exact_times_us(stream: str, frame: Detections) -> Int64Array:
    uncertain = [each for each in frame.templates if each.length_s > 0 or each.earliest_us != each.latest_us]
    if uncertain:
        allowed = "one atom at a whole microsecond: the window join paper's algorithms assume exact times"
        raise DetectionsError("templates", f"{uncertain[0]!r} in stream {stream!r}", allowed)
    return frame.earliest_us


def _labels(stream: str, frame: Detections, key: Mapping[str, npt.ArrayLike] | None) -> list[Label]:
    if key is None:
        return [None] * len(frame)
    if stream not in key:
        raise DetectionsError("key", sorted(key), f"labels for every stream: {stream!r} has none")
    labels = np.asarray(key[stream])
    if labels.shape != (len(frame),) or (labels.size and labels.dtype.kind not in "iuU"):
        what = f"an array of {labels.dtype} with shape {labels.shape} for stream {stream!r}"
        raise DetectionsError("key", what, f"an integer or a string for each of its {len(frame)} rows")
    listed: list[Label] = labels.tolist()
    return listed


def _checked_order(order: npt.ArrayLike, rows: int) -> Int64Array:
    given = np.asarray(order, dtype=np.int64) if np.size(order) else np.empty(0, np.int64)
    if given.shape != (rows,) or not np.array_equal(np.sort(given), np.arange(rows)):
        raise DetectionsError("order", order, f"each row once: a permutation of 0 to {rows - 1}")
    return given


def _refuse_several_areas(frames: Mapping[str, Detections]) -> None:
    areas = {label for frame in frames.values() if frame.area is not None for label in frame.area.tolist()}
    with_areas = {frame.area is not None for frame in frames.values()}
    if len(areas) > 1 or len(with_areas) > 1:
        raise DetectionsError("area", sorted(areas), "one area for all rows of all streams, or none")
