"""Frames: records of coincide.detections, with detections in columns or with none, as a heartbeat."""

from dataclasses import dataclass

from msgspec import json

from coincide.wire.detection_record import FRAME_VERSION, HeartbeatRecord


@dataclass(frozen=True, slots=True)
class Frame:
    """One record ready to be sent, and the positions in the POST of the detections in it."""

    key: bytes
    value: bytes
    indices: list[int]


def heartbeat(received_at_us: int) -> bytes:
    """Return an empty frame for every partition: by it fusion knows silence from standing still.

    It says what time it is, and with that, that ingest has been listening: POSTs that were answered have landed before
    it, or land within the publisher's bounded time after it. Several replicas may all send heartbeats.
    """
    return json.encode(HeartbeatRecord(FRAME_VERSION, heartbeat=True, received_at_us=received_at_us))
