"""Frames as ingest writes them, for benchmarks that leave ingest out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from coincide import Histogram

Stamp = tuple[str, str, Histogram]
"""Sensor, stream and template."""


def frame_json(area: str, received_at_us: int, stamps: Sequence[Stamp], columns: Mapping[str, Any]) -> bytes:
    """Return the frame of one area whose detections have these stamps and columns."""
    frame = {
        "v": 2,
        "area": area,
        "received_at_us": received_at_us,
        "templates": {template.id: template.to_json() for _, _, template in stamps},
        "stamps": [{"sensor": sensor, "stream": stream, "template": each.id} for sensor, stream, each in stamps],
        "detections": columns,
    }
    return msgspec.json.encode(frame)
