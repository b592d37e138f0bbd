"""Heartbeats: the frames without detections by which ingest tells a partition that time goes on."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType, json

from spark_jobs.frames import UNREADABLE, FrameError, Microseconds
from spark_jobs.records import InputRecord

MOST_BYTES = 1_024  # a record any longer is no heartbeat


class _Heartbeat(Struct, forbid_unknown_fields=True):
    v: Literal[1]
    heartbeat: bool
    received_at_us: Microseconds


class _Peek(Struct):
    heartbeat: Raw | UnsetType = UNSET


_decoder = json.Decoder(_Heartbeat)
_peek_decoder = json.Decoder(_Peek)


def heartbeat_us(record: InputRecord) -> int | None:
    """Return received_at of a heartbeat, microseconds since the epoch; None if the record is none, but perhaps a frame.

    Raises
    ------
    FrameError
        It has the member `heartbeat`, but cannot be used as one.
    """
    value = record.value
    if record.key is not None or value is None or len(value) > MOST_BYTES or not _claims_to_be_one(value):
        return None
    try:
        heartbeat = _decoder.decode(value)
    except UNREADABLE as error:
        raise FrameError(f"no heartbeat: {error}") from None
    if not heartbeat.heartbeat:
        raise FrameError("no heartbeat: `heartbeat` is false, it must be true")
    return heartbeat.received_at_us


def _claims_to_be_one(value: bytes) -> bool:
    try:
        return _peek_decoder.decode(value).heartbeat is not UNSET
    except UNREADABLE:
        return False
