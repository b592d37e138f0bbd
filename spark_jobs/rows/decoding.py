"""Frames and heartbeats: what ingest wrote on the detections topic, decoded strictly and not trusted blindly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, json, structs

from coincide.joins.keys import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.queries.checks import ATTRIBUTES
from spark_jobs.core.limits import Limits
from spark_jobs.records.kafka_records import InputRecord, Refusal, as_record

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Microseconds = Annotated[int, Meta(ge=EARLIEST_TIME_US, le=LATEST_TIME_US)]

Scalar = str | int | float | bool

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class DetectionRow(Struct, gc=False):
    """One row of a frame; times in microseconds since the epoch, `attributes` a JSON object as it was written."""

    id: Name
    sensor: Name
    stream: Name
    detected_at_us: Microseconds
    template: Name
    earliest_us: Microseconds
    latest_us: Microseconds
    attributes: Raw = Raw(b"{}")


class _Envelope(Struct):
    v: Literal[1]
    area: Name
    received_at_us: Microseconds
    templates: dict[Name, Raw]


class _Frame(_Envelope):
    detections: list[DetectionRow]


class _RawFrame(_Envelope):
    detections: list[Raw]


@dataclass
class DecodedFrame:
    """The usable part of one record, its templates by claimed id, not verified; letters for the rest."""

    area: str
    received_at_us: int
    templates: dict[str, Raw]
    detections: list[DetectionRow]
    refused: list[Refusal] = field(default_factory=list)


class FrameError(ValueError):
    """A record of which no row can be used."""


_frame_decoder = json.Decoder(_Frame)
_raw_frame_decoder = json.Decoder(_RawFrame)
_detection_decoder = json.Decoder(DetectionRow)
_object_decoder = json.Decoder(dict[str, object])
_attributes_decoder = json.Decoder(dict[str, Raw])


def decode_frame(record: InputRecord, limits: Limits) -> DecodedFrame:
    """Decode one record and refuse unusable rows alone; FrameError: too large, no frame, or keyed by another area."""
    value = record.value
    if value is None:
        raise FrameError("the record has no value")
    if len(value) > limits.max_frame_bytes:
        raise FrameError(f"the record has {len(value)} bytes: at most {limits.max_frame_bytes}")
    frame = _decode(value)
    if record.key is not None and record.key != frame.area.encode():
        raise FrameError(f"the record's key is {record.key[:200]!r}: it must be the area {frame.area!r}")
    rows = len(frame.detections) + len(frame.refused)
    if rows > limits.max_frame_detections:
        raise FrameError(f"the frame has {rows} detections: at most {limits.max_frame_detections}")
    return _refuse_bad_attributes(frame, limits)


def malformed_frame(record: InputRecord, error: FrameError) -> Refusal:
    """Return the letter for a record of which no row can be used."""
    return Refusal(reason="malformed_frame", detail=str(error), record=as_record(record.value))


def refused_row(
    reason: str, detail: str, area: str, received_at_us: int, row: DetectionRow, late_by_us: int | None = None
) -> Refusal:
    """Return the letter for one row of an area's frame."""
    return Refusal(
        reason=reason,
        detail=detail,
        received_at_us=received_at_us,
        area=area,
        stream=row.stream,
        sensor=row.sensor,
        id=row.id,
        late_by_us=late_by_us,
        record=Raw(json.encode(row)),
    )


def _decode(value: bytes) -> DecodedFrame:
    try:
        value.decode()  # msgspec does not look into the bytes that it passes on raw
        frame = _frame_decoder.decode(value)
    except msgspec.ValidationError:
        return _decode_row_by_row(value)
    except UNREADABLE as error:
        raise FrameError(f"no JSON: {error}") from None
    return DecodedFrame(frame.area, frame.received_at_us, frame.templates, frame.detections)


def _decode_row_by_row(value: bytes) -> DecodedFrame:
    try:
        raw = _raw_frame_decoder.decode(value)
    except UNREADABLE as error:
        raise FrameError(f"no frame: {error}") from None
    frame = DecodedFrame(raw.area, raw.received_at_us, raw.templates, [])
    for row in raw.detections:
        try:
            frame.detections.append(_detection_decoder.decode(row))
        except UNREADABLE as error:
            letter = Refusal(reason="malformed_detection", detail=str(error), record=as_record(bytes(row)))
            frame.refused.append(structs.replace(letter, received_at_us=frame.received_at_us, area=frame.area))
    return frame


def _refuse_bad_attributes(frame: DecodedFrame, limits: Limits) -> DecodedFrame:
    wrong = [_attributes_fault(bytes(row.attributes), limits) for row in frame.detections]
    if not any(wrong):
        return frame
    for row, fault in zip(frame.detections, wrong, strict=True):
        if fault:
            shown = structs.replace(row, attributes=Raw(b"{}"))
            frame.refused.append(refused_row("malformed_detection", fault, frame.area, frame.received_at_us, shown))
    frame.detections = [row for row, fault in zip(frame.detections, wrong, strict=True) if not fault]
    return frame


def _attributes_fault(attributes: bytes, limits: Limits) -> str:
    if attributes == b"{}":
        return ""
    if len(attributes) > limits.max_attributes_bytes:
        return f"attributes have {len(attributes)} bytes: at most {limits.max_attributes_bytes}"
    try:
        _object_decoder.decode(attributes)
    except UNREADABLE as error:
        return f"attributes: {error}"
    return ""


def attributes_of(attributes: bytes) -> Mapping[str, Raw]:
    """Return the attributes of a detection by name, each as it was written."""
    return {} if attributes == b"{}" else _attributes_decoder.decode(attributes)


def attribute(attributes: Mapping[str, Raw], name: str) -> Any:
    """Return an attribute, named with or without "attributes."; None where there is none, or a number that is none."""
    value = attributes.get(name.removeprefix(ATTRIBUTES))
    try:
        return None if value is None else json.decode(value)
    except UNREADABLE:
        return None


def as_read(value: Scalar) -> Scalar:
    """Return a whole number as an int, so that 7 and 7.0 are written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


LONGEST_HEARTBEAT_BYTES = 1_024


class _Heartbeat(Struct, forbid_unknown_fields=True):
    v: Literal[1]
    heartbeat: bool
    received_at_us: Microseconds


class _Peek(Struct):
    heartbeat: Raw | UnsetType = UNSET


_heartbeat_decoder = json.Decoder(_Heartbeat)
_peek_decoder = json.Decoder(_Peek)


def heartbeat_us(record: InputRecord) -> int | None:
    """Return received_at of a heartbeat; None if it is none; FrameError if it is one that cannot be used."""
    value = record.value
    if record.key is not None or value is None or len(value) > LONGEST_HEARTBEAT_BYTES:
        return None
    try:
        if _peek_decoder.decode(value).heartbeat is UNSET:
            return None
    except UNREADABLE:
        return None
    try:
        heartbeat = _heartbeat_decoder.decode(value)
    except UNREADABLE as error:
        raise FrameError(f"no heartbeat: {error}") from None
    if not heartbeat.heartbeat:
        raise FrameError("no heartbeat: `heartbeat` is false, it must be true")
    return heartbeat.received_at_us
