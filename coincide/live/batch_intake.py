"""BatchIntake: how rows come into an engine, numbered and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.errors import DetectionsError, SensorRuleError
from coincide.joins.detections import Detections, checked_batch, checked_labels
from coincide.joins.events import Events
from coincide.joins.lateness import BEFORE_ALL_US, Watermark, late_by_us
from coincide.joins.retention import ROUNDING_US
from coincide.joins.stream_buffers import StreamBuffers
from coincide.live.row_labels import LabelsState, RowLabels
from coincide.stream import Stream
from coincide.templates.histogram import Histogram

EVICT_EVERY = 8  # evict once an eighth of what is buffered has come in anew


@dataclass(frozen=True, eq=False)
class AcceptedRows:
    """The rows of a batch that are on time, by stream and numbered through over all batches, and those that are not.

    The batch begins with row `first`. `late` are positions in it, `late_by_us` says by how much; both of shape (l,).
    """

    first: int
    on_time: Mapping[str, Events]
    late: Int64Array
    late_by_us: Int64Array


@dataclass(frozen=True, eq=False)
class IntakeState:
    """What a `BatchIntake` saves; watermarks are by code of area."""

    labels: LabelsState
    watermark_us: Int64Array
    rows: int
    rows_at_eviction: int


class BatchIntake:
    """Takes in the batches of an engine's streams, by name; `labels` says what their rows are called.

    `rows` counts the rows so far, late ones among them.
    """

    def __init__(self, streams: Mapping[str, Stream], labels: RowLabels) -> None:
        self._streams = streams
        self._checked: dict[str, Sequence[Histogram]] = {}
        self._allowed = {
            name: frozenset(each.templates) for name, each in streams.items() if each.templates is not None
        }
        self._rows_at_eviction = 0
        self.labels = labels
        self.watermark = Watermark()
        self.rows = 0

    @property
    def state(self) -> IntakeState:
        """All there is to save."""
        return IntakeState(self.labels.state, self.watermark.state_us, self.rows, self._rows_at_eviction)

    @classmethod
    def restore(cls, streams: Mapping[str, Stream], state: IntakeState) -> BatchIntake:
        """Return an intake that goes on from a state."""
        intake = cls(streams, RowLabels.restore(state.labels))
        intake.watermark = Watermark(state.watermark_us)
        intake.rows, intake._rows_at_eviction = state.rows, state.rows_at_eviction
        return intake

    def take(
        self, stream: str | npt.ArrayLike, detections: Detections, key: npt.ArrayLike | None, *, needs_sensors: bool
    ) -> AcceptedRows:
        """Take a batch of one stream in, or of a stream for each row; if it raises a CoincideError, nothing of it."""
        by_stream = _rows_by_stream(stream, checked_batch("detections", detections))
        declared = {name: self._declared(name) for name in by_stream}
        for each in declared.values():
            self._check(each, detections, needs_sensors=needs_sensors)
        keys = self.labels.checked_keys(", ".join(declared), detections, key)
        area, sensor = self.labels.append(detections, keys)
        first, self.rows = self.rows, self.rows + len(detections)
        watermark_us = self.watermark.advance(area, detections.latest_us, detections.received_at_us)
        delay_us = np.empty(len(detections), np.int64)
        for name, at in by_stream.items():
            delay_us[at] = declared[name].max_delay_us
        behind_us = late_by_us(watermark_us, detections.latest_us, delay_us)
        late = np.flatnonzero(behind_us > 0)
        refs = np.arange(first, self.rows)
        rows = Events(area, detections.detected_at_us, detections.template_index, sensor, refs)
        if len(late):
            by_stream = {name: refs[at][behind_us[at] <= 0] - first for name, at in by_stream.items()}
        return AcceptedRows(first, {name: rows.take(at) for name, at in by_stream.items()}, late, behind_us[late])

    def is_eviction_due(self, buffered: int) -> bool:
        """Whether so many rows are new, beside the buffered ones, that looking for what can go costs little."""
        if EVICT_EVERY * (self.rows - self._rows_at_eviction) < buffered:
            return False
        self._rows_at_eviction = self.rows
        return True

    def forget_labels(self, buffers: StreamBuffers) -> None:
        """Forget labels that no buffered event has, once they are many; a forgotten area has no watermark."""
        if self.labels.is_log_long(len(buffers)):
            self.labels.forget_before(buffers.least_ref(default=self.rows))
        if self.labels.are_many:
            for code in self.labels.keep_only(*buffers.codes_in_use()):
                self.watermark.put(code, BEFORE_ALL_US)

    def _declared(self, stream: str) -> Stream:
        if stream not in self._streams:
            raise DetectionsError("stream", stream, f"one of {sorted(self._streams)}")
        return self._streams[stream]

    def _check(self, stream: Stream, detections: Detections, *, needs_sensors: bool) -> None:
        if detections.sensor is None and len(detections) and needs_sensors:
            raise SensorRuleError("sensors", "same", "'different' or 'any' for detections without a sensor")
        self.labels.check(detections)
        if self._checked.get(stream.name) is detections.templates:
            return
        declared = self._allowed.get(stream.name)
        for template in detections.templates:
            if declared is not None and template not in declared:
                allowed = f"one of the {len(declared)} templates that stream {stream.name!r} declares"
                raise DetectionsError("templates", template, allowed)
            if template.latest_us - template.earliest_us > stream.longest_template_us + ROUNDING_US:
                allowed = f"at most {stream.longest_template_s} s long, as stream {stream.name!r} declares"
                raise DetectionsError("templates", template, allowed)
        self._checked[stream.name] = detections.templates


def _rows_by_stream(stream: str | npt.ArrayLike, detections: Detections) -> dict[str, PositionArray | slice]:
    """Return which rows are of each stream that has some; those of a single stream are not copied."""
    if isinstance(stream, str):
        return {stream: slice(None)}
    labels = checked_labels("stream", stream, len(detections))
    names, code = np.unique(labels, return_inverse=True)
    if len(names) == 1:
        return {str(names[0]): slice(None)}
    return {str(name): np.flatnonzero(code == nth) for nth, name in enumerate(names)}
