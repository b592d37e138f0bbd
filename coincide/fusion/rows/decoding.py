"""Frames and heartbeats: what ingest wrote on the detections topic, decoded strictly and not trusted blindly."""

from dataclasses import dataclass, field

import numpy as np
from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError, json, structs

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.elements import Element, refused_row
from coincide.fusion.rows.stamps import NO_STAMP, StampTable, StampTables
from coincide.wire.detection_record import FRAME_VERSION, DetectionColumns, FrameHead, FrameRecord, HeartbeatRecord
from coincide.wire.fields import UNREADABLE, FrameError, shown
from coincide.wire.payload import RawPayloadColumns, packed
from coincide.wire.results.dead_letter import DeadLetter, as_record


class _Version(Struct):
    v: Raw = Raw(b"null")


class _RawColumns(RawPayloadColumns):
    """Columns of which some element may be unusable."""

    stamp: list[Raw]
    detected_at_us: list[Raw]
    id: list[Raw]


class _RawFrame(FrameHead):
    detections: _RawColumns


@dataclass
class DecodedFrame:
    """The usable rows of one record in columns, each of shape (n,), and letters for the others."""

    area: str
    received_at_us: int
    stamps: StampTable
    stamp: CodeArray  # position of each row's stamp
    detected_at_us: Int64Array
    ids: list[str]
    payload: list[bytes]
    refused: list[DeadLetter] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


_version_decoder = json.Decoder(_Version)
_frame_decoder = json.Decoder(FrameRecord)
_raw_frame_decoder = json.Decoder(_RawFrame)


def decode_frame(record: InputRecord, limits: Limits, tables: StampTables) -> DecodedFrame:
    """Decode one record and refuse unusable rows alone; FrameError: too large, no frame, or keyed by another area."""
    value = record.value
    if value is None:
        raise FrameError("the record has no value")
    if len(value) > limits.max_frame_bytes:
        raise FrameError(f"the record has {len(value)} bytes: at most {limits.max_frame_bytes}")
    frame = _decode(value)
    if record.key is not None and record.key != frame.area.encode():
        raise FrameError(f"the record's key is {record.key[:200]!r}: it must be the area {frame.area!r}")
    _check_length(frame.detections, limits)
    stamps = tables.table(frame.area, bytes(frame.templates), bytes(frame.stamps))
    if isinstance(frame, _RawFrame):
        return _row_by_row(frame, stamps, limits)
    decoded = _whole(frame, stamps, limits)
    return _row_by_row(_raw_frame_decoder.decode(value), stamps, limits) if decoded is None else decoded


def malformed_frame(record: InputRecord, error: FrameError) -> DeadLetter:
    """Return the letter for a record of which no row can be used."""
    return DeadLetter(reason="malformed_frame", detail=str(error), record=as_record(record.value))


def _decode(value: bytes) -> FrameRecord | _RawFrame:
    """Decode a frame, or where an element of a column is none of its type, leave the elements as they are."""
    try:
        if not value.isascii():
            value.decode()  # msgspec does not look into the bytes that it passes on raw
        return _frame_decoder.decode(value)
    except ValidationError:
        pass
    except UNREADABLE as error:
        raise FrameError(f"no JSON: {error}") from None
    try:
        version = _version_decoder.decode(value).v
        if bytes(version) != b"%d" % FRAME_VERSION:
            raise FrameError(f"the frame has version {shown(version)}: this job reads version {FRAME_VERSION}")
        return _raw_frame_decoder.decode(value)
    except UNREADABLE as error:
        raise FrameError(f"no frame: {error}") from None


def _check_length(columns: DetectionColumns | _RawColumns, limits: Limits) -> None:
    rows, attributes = len(columns.id), columns.attributes
    given = rows if attributes is UNSET else len(attributes)
    if not len(columns.stamp) == len(columns.detected_at_us) == rows == given:
        named = structs.asdict(columns).items()
        said = ", ".join(f"{name} {len(column)}" for name, column in named if column is not UNSET)
        raise FrameError(f"the columns must have one length: {said}")
    if rows > limits.max_frame_detections:
        raise FrameError(f"the frame has {rows} detections: at most {limits.max_frame_detections}")


def _whole(frame: FrameRecord, stamps: StampTable, limits: Limits) -> DecodedFrame | None:
    """Return all rows of a frame; None if some cannot be used."""
    columns = frame.detections
    if max(columns.stamp, default=-1) >= len(stamps):
        return None
    payload = packed(columns, len(columns.id), limits.max_attributes_bytes)
    if payload is None:
        return None
    detected_at_us = np.array(columns.detected_at_us, np.int64)
    stamp = np.array(columns.stamp, np.int32)
    return DecodedFrame(frame.area, frame.received_at_us, stamps, stamp, detected_at_us, columns.id, payload)


def _row_by_row(frame: _RawFrame, stamps: StampTable, limits: Limits) -> DecodedFrame:
    """Return the rows that can be used, and letters for the others."""
    columns = frame.detections
    payload = columns.by_row(len(columns.id))
    elements = [
        Element(*values) for values in zip(columns.stamp, columns.detected_at_us, columns.id, payload, strict=True)
    ]
    faults = [element.fault(len(stamps), limits) for element in elements]
    usable = [element.read() for element, fault in zip(elements, faults, strict=True) if not fault]
    stamp, detected_at_us, ids, payloads = map(list, zip(*usable, strict=True)) if usable else ([], [], [], [])
    decoded = DecodedFrame(
        frame.area,
        frame.received_at_us,
        stamps,
        np.array(stamp, np.int32),
        np.array(detected_at_us, np.int64),
        ids,
        payloads,
    )
    for element, fault in zip(elements, faults, strict=True):
        if fault:
            named = stamps.stamps[json.decode(element.stamp)] if element.has_stamp(len(stamps)) else NO_STAMP
            letter = refused_row("malformed_detection", fault, frame.area, frame.received_at_us, named, element.shown)
            decoded.refused.append(letter)
    return decoded


LONGEST_HEARTBEAT_BYTES = 1_024


class _Peek(Struct):
    heartbeat: Raw | UnsetType = UNSET


_heartbeat_decoder = json.Decoder(HeartbeatRecord)
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
