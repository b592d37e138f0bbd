"""An archive as the archive job leaves it: 64 areas with 16 sensors each, some minutes in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from coincide import Histogram
from services.history.archiving.file_names import merged_file
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import ROW_SCHEMA

AREAS = 64
HASHES = 16
BEGUN_US = 1_793_491_200_000_000  # a midnight
FILE_S = 960  # 32 batches of 30 s become a file
TRUE = 0.05  # so many of the detections are the second one of a pair
TEMPLATES = (Histogram.normal(sigma_s=0.003, buckets=12), Histogram.normal(sigma_s=0.002, buckets=20))
STREAMS = ("seismic", "acoustic")
QUERY: dict[str, Any] = {
    "id": "pairs",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 0.005, "threshold": 0.6}],
    "coalesce": {"gap_s": 1, "by": ["s.sensor"]},
}
WINDOW_S, LEAST = 0.005, 0.1


class Size(NamedTuple):
    """So many detections a second, for so long."""

    rate_hz: int
    seconds: int


def write_archive(path: Path, size: Size) -> Archive:
    """Write detections at random times; each second one of a pair comes about when the first one does."""
    archive, rng = Archive.opened(path, HASHES), np.random.default_rng(1987)
    archive.write_templates({each.id: each.to_json() for each in TEMPLATES})
    for nth, begun_s in enumerate(range(0, size.seconds, FILE_S)):
        rows = _rows(rng, size.rate_hz, begun_s, min(FILE_S, size.seconds - begun_s), nth)
        archive.write(rows, merged_file(32 * nth, 32 * nth + 32))
    return archive


def _rows(rng: np.random.Generator, rate_hz: int, begun_s: int, seconds: int, nth: int) -> pa.Table:
    count = rate_hz * seconds
    pairs = round(count * TRUE)
    at_us, area, stream = (
        rng.integers(0, seconds * 1_000_000, count),
        rng.integers(0, AREAS, count),
        np.arange(count) % 2,
    )
    at_us[:pairs] = np.clip(at_us[-pairs:] + rng.normal(0, 4_000, pairs), 0, seconds * 1e6 - 1).astype(np.int64)
    area[:pairs], stream[:pairs] = area[-pairs:], 1 - stream[-pairs:]
    sensor, detected_at_us = rng.integers(0, 8, count), BEGUN_US + begun_s * 1_000_000 + at_us
    numbers = np.arange(count)
    columns = {
        "area": _named(area, [f"area-{each:02d}" for each in range(AREAS)]),
        "stream": _named(stream, STREAMS),
        "sensor_id": _named(stream * 8 + sensor, [f"{name}-{each}" for name in STREAMS for each in range(8)]),
        "id": [f"{nth}-{number}" for number in range(count)],
        "detected_at_us": detected_at_us,
        "received_at_us": detected_at_us + 300_000,
        "template": _named(sensor % 2, [each.id for each in TEMPLATES]),
        "attributes": ["{}"] * count,
        "place": [None] * count,
        "partition": (area % 8).astype(np.int32),
        "offset": numbers // 20,
        "position": (numbers % 20).astype(np.int32),
    }
    return pa.table(columns, schema=ROW_SCHEMA)


def _named(codes: Any, names: Any) -> pa.Array:
    return pa.array(names).take(pa.array(codes))
