"""Files as the archive has them: two streams, sorted by area and time, in folders by hash of the area."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from coincide import Histogram

AREAS = 64
AREA_HASHES = 4
SENSORS = 200
SPACING_US = 1_000_000  # of one stream's detections in one area
PARTNERS = 10
TEMPLATE = Histogram.uniform(-0.001, 0.001)
STREAMS = ("knock", "noise")
GROUP_ROWS = 1 << 17


class Size(NamedTuple):
    """So many detections of each stream; this share of them in one area, the others evenly in 63."""

    detections: int
    in_one_area: float = 1 / AREAS


def write_archive(folder: Path, size: Size) -> list[Path]:
    """Write the files, area by area, so that memory does not limit how many detections there are."""
    files, rng = [], np.random.default_rng(1987)
    for hash_ in range(AREA_HASHES):
        path = folder / f"day=2026-11-01/area_hash={hash_}" / "rows.parquet"
        path.parent.mkdir(parents=True)
        writer = None
        for table in _areas(rng, size, hash_):
            writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=REPEATED)
            writer.write_table(table, row_group_size=GROUP_ROWS)
        if writer is not None:
            writer.close()
            files.append(path)
    return files


REPEATED = ["area", "stream", "sensor_id", "template"]


def _areas(rng: np.random.Generator, size: Size, hash_: int) -> Iterator[pa.Table]:
    """Yield the rows of a folder in order, some areas together."""
    waiting: list[pa.Table] = []
    for area in range(hash_, AREAS, AREA_HASHES):
        share = size.in_one_area if area == 0 else (1 - size.in_one_area) / (AREAS - 1)
        waiting.append(_area(rng, area, round(size.detections * share)))
        if sum(map(len, waiting)) >= GROUP_ROWS * 4:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _area(rng: np.random.Generator, area: int, of_stream: int) -> pa.Table:
    """Return one area's rows; the more there are, the longer they last, so that all have as many partners."""
    rows = 2 * of_stream
    at_us = np.sort(rng.integers(0, max(of_stream, 1) * SPACING_US, rows)) + 1_793_491_200_000_000
    return pa.table(
        {
            "area": _repeated(np.zeros(rows, np.int32), [f"area-{area:02}"]),
            "stream": _repeated(rng.permutation(np.repeat(np.array([0, 1], np.int32), of_stream)), list(STREAMS)),
            "sensor_id": _repeated(rng.integers(0, SENSORS, rows, np.int32), [f"s-{each}" for each in range(SENSORS)]),
            "id": pa.array(rng.integers(0, 1 << 40, rows) * AREAS + area),
            "detected_at_us": pa.array(at_us),
            "template": _repeated(np.zeros(rows, np.int32), [TEMPLATE.id]),
        }
    )


def _repeated(codes: np.ndarray[tuple[int], np.dtype[np.int32]], words: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words)).cast(pa.string())
