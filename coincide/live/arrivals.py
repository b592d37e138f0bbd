"""FrameIntake: batches of a streaming join checked, numbered and judged: what of them is on time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.constraints.conditions import SensorRule
from coincide.errors import DetectionsError, SensorRuleError
from coincide.joins.detections import Detections, checked_frame
from coincide.joins.events import Events
from coincide.joins.retention import ROUNDING_US
from coincide.joins.row_labels import FrameLabels
from coincide.joins.watermark import BEFORE_ALL_US, Watermark
from coincide.stream import Stream
from coincide.templates.histogram import Histogram

EVICT_EVERY = 8  # evict once an eighth of what is buffered has come in anew


@dataclass(frozen=True, eq=False)
class Accepted:
    """What is on time of a frame, and what is not.

    Attributes
    ----------
    batch : Events
        Rows on time, numbered through over all frames; templates as the frame numbers them.
    late : ndarray of int64, shape (l,)
        Rows of the frame that came too late.
    late_by_us : ndarray of int64, shape (l,)
    """

    batch: Events
    late: Int64Array
    late_by_us: Int64Array


class FrameIntake:
    """Takes the frames of a join's streams in.

    Parameters
    ----------
    streams : mapping of str to Stream
        By name.
    sensors : SensorRule
    orders_ties : bool
        Whether events reported at the same time are to be ordered by (sensor, id).

    Attributes
    ----------
    labels : FrameLabels
    watermark : Watermark
    rows : int
        How many have come in so far, late ones among them.
    """

    def __init__(self, streams: Mapping[str, Stream], sensors: SensorRule, *, orders_ties: bool) -> None:
        self._streams, self._sensors = streams, sensors
        self._checked: dict[str, Sequence[Histogram]] = {}
        self._rows_at_eviction = 0
        self.labels = FrameLabels(orders_ties=orders_ties)
        self.watermark = Watermark()
        self.rows = 0

    def take(self, stream: str, frame: Detections) -> Accepted:
        """Take a frame in; if it raises a CoincideError, nothing of it has been."""
        declared = self._declared(stream)
        self._check(declared, checked_frame("frame", frame))
        area, sensor = self.labels.append(frame)
        refs = np.arange(self.rows, self.rows + len(frame))
        self.rows += len(frame)
        late_by_us = self.watermark.advance(area, frame.latest_us, frame.received_at_us)
        late_by_us -= declared.max_delay_us + frame.latest_us
        late = np.flatnonzero(late_by_us > 0)
        batch = Events(area, frame.detected_at_us, frame.template_index, sensor, refs)
        if len(late):
            batch = batch.take(np.flatnonzero(late_by_us <= 0))
        return Accepted(batch, late, late_by_us[late])

    def watermark_us(self, area: int | str | None = None) -> int:
        """How far an area has come (without areas: everything); BEFORE_ALL_US if nothing has been seen of it."""
        code = self.labels.area_code(area)
        return BEFORE_ALL_US if code is None else self.watermark.us(code)

    def is_eviction_due(self, held: int) -> bool:
        """Whether so much has come in anew, beside what is held, that looking for what can go costs little."""
        if EVICT_EVERY * (self.rows - self._rows_at_eviction) < held:
            return False
        self._rows_at_eviction = self.rows
        return True

    def forget_areas_and_sensors(self, areas: CodeArray, sensors: CodeArray) -> None:
        """Keep only these codes; an area that is forgotten has no watermark any more."""
        for code in self.labels.keep_only(areas, sensors):
            self.watermark.put(code, BEFORE_ALL_US)

    def _declared(self, stream: str) -> Stream:
        if stream not in self._streams:
            raise DetectionsError("stream", stream, f"one of {sorted(self._streams)}")
        return self._streams[stream]

    def _check(self, stream: Stream, frame: Detections) -> None:
        if frame.sensor is None and len(frame) and self._sensors == "same":
            raise SensorRuleError("sensors", "same", "'different' or 'any' for detections without a sensor")
        self.labels.check(frame)
        if self._checked.get(stream.name) is frame.templates:
            return
        for template in frame.templates:
            if template.latest_us - template.earliest_us > stream.longest_template_us + ROUNDING_US:
                allowed = f"at most {stream.longest_template_s} s long, as stream {stream.name!r} declares"
                raise DetectionsError("templates", template, allowed)
        self._checked[stream.name] = frame.templates
