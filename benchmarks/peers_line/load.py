"""Detections of two streams in 64 areas, the records that carry them, and every pair that a point window holds.

Times are whole milliseconds, because that is all that a peer's event time has. A pair is one detection of each stream,
in one area, at most `WINDOW_MS` apart. The pairs are found by comparing neighbours in time, without Coincide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.harness.frames import frame_json
from coincide import Histogram

AREAS = 64
STREAMS = ("seismic", "acoustic")
WINDOW_MS = 1
START_MS = 1_760_000_000_000
TEMPLATE = Histogram.uniform(-0.0001, 0.0001)  # too short to matter beside the millisecond between two times

Integers = npt.NDArray[np.int64]


class Detections(NamedTuple):
    """Columns, in the order of time; ids are the positions in a whole load, `streams` positions in `STREAMS`."""

    ids: Integers
    areas: Integers
    streams: Integers
    times_ms: Integers

    def take(self, chosen: npt.NDArray[np.intp]) -> Detections:
        return Detections(*(column[chosen] for column in self))


class Record(NamedTuple):
    """What goes to Kafka: the topic's last name, the area, the newest time in it and the value."""

    topic: str
    area: str
    newest_ms: int
    value: bytes


def detections(count: int, rate: float, first_id: int = 0, start_ms: int = START_MS) -> Detections:
    """Return detections at random times, areas and streams, so many a second of event time."""
    rng = np.random.default_rng(first_id + 1)
    times = start_ms + np.sort(rng.integers(0, max(1, round(count / rate * 1e3)), count))
    areas, streams = rng.integers(0, AREAS, count), rng.integers(0, len(STREAMS), count)
    return Detections(np.arange(first_id, first_id + count), areas, streams, times)


def pairs(of: Detections) -> Integers:
    """Return every pair's number, sorted: neighbours in time are compared until they are too far apart."""
    order = np.lexsort((of.times_ms, of.areas))
    ids, areas, streams, times = of.take(order)
    found, step = [np.empty(0, np.int64)], 1
    while True:
        near = (areas[step:] == areas[:-step]) & (times[step:] - times[:-step] <= WINDOW_MS)
        if not near.any():
            return np.sort(np.concatenate(found))
        one, other = np.flatnonzero(near & (streams[step:] != streams[:-step])) + np.array([[0], [step]])
        swap = streams[one] == 1
        found.append(pair_numbers(ids[np.where(swap, other, one)], ids[np.where(swap, one, other)]))
        step += 1


def pair_numbers(seismic: Integers, acoustic: Integers) -> Integers:
    """Return one integer for each pair of ids."""
    return seismic << 32 | acoustic


def area_name(area: int) -> str:
    return f"area-{area:02d}"


def chunks(of: Detections, size: int) -> Iterator[Detections]:
    """Yield up to ``size`` detections of one area that follow each other, in the order in which they are complete."""
    by_area = [np.flatnonzero(of.areas == area) for area in range(AREAS)]
    cut = [area[first : first + size] for area in by_area for first in range(0, len(area), size)]
    yield from (of.take(chunk) for chunk in sorted(cut, key=lambda chunk: int(chunk[-1])))


def plain_records(chunk: Detections, sent_us: int, *, is_batched: bool) -> Iterator[Record]:
    """Yield what the peers read: an object for each detection, or an array of those of each stream."""
    if not is_batched:
        for number, area, stream, time_ms in zip(*(column.tolist() for column in chunk), strict=True):
            value = {"area": area_name(area), "id": number, "t": time_ms, "sent": sent_us}
            yield Record(STREAMS[stream], area_name(area), time_ms, msgspec.json.encode(value))
        return
    for number, stream in enumerate(STREAMS):
        if (chunk.streams == number).any():
            yield _array(chunk.take(np.flatnonzero(chunk.streams == number)), stream, sent_us)


def _array(of: Detections, stream: str, sent_us: int) -> Record:
    area, both = area_name(int(of.areas[0])), zip(of.ids.tolist(), of.times_ms.tolist(), strict=True)
    items = [{"id": number, "t": time_ms, "sent": sent_us} for number, time_ms in both]
    value = {"area": area, "first": items[0]["t"], "detections": items}
    return Record(stream, area, items[-1]["t"], msgspec.json.encode(value))


def frames(chunk: Detections, sent_us: int) -> Iterator[Record]:
    """Yield what the fusion job reads: one frame, of both streams."""
    area, newest_ms = area_name(int(chunk.areas[0])), int(chunk.times_ms[-1])
    yield Record("detections", area, newest_ms, _frame(area, chunk, newest_ms * 1000, {"sent_us": sent_us}))


def _frame(area: str, of: Detections, received_at_us: int, attributes: dict[str, int]) -> bytes:
    """Return a frame in which every stamp is used."""
    used, stamp = np.unique(of.streams, return_inverse=True)
    stamps = [(f"{STREAMS[each]}-{area}", STREAMS[each], TEMPLATE) for each in used.tolist()]
    columns = {
        "stamp": stamp.tolist(),
        "detected_at_us": (of.times_ms * 1000).tolist(),
        "id": [*map(str, of.ids.tolist())],
        "attributes": [attributes] * len(of.ids),
    }
    return frame_json(area, received_at_us, stamps, columns)
