"""What the fusion core is fed in tests: frames and query records, as ingest and alerting write them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.places import form_of_place
from coincide.places.place import Place

MICROSECONDS = 1_000_000

STREAMS = {
    "p": Stream("p", max_delay_s=20, longest_template_s=8),
    "s": Stream("s", max_delay_s=10, longest_template_s=8),
}


@dataclass(frozen=True)
class Row:
    """One detection before it is put into a frame; `at_s` is its reported time."""

    id: str
    at_s: float
    template: Histogram = field(default_factory=Histogram.point)
    stream: str = "p"
    sensor: str = "north"
    attributes: tuple[tuple[str, Any], ...] = ()
    place: Place | None = None

    @property
    def at_us(self) -> int:
        return round(self.at_s * MICROSECONDS)

    @property
    def stamp(self) -> dict[str, Any]:
        place = {} if self.place is None else {"place": form_of_place(self.place)}
        return {"sensor": self.sensor, "stream": self.stream, "template": self.template.id, **place}


# the first events of SN 1987A by the clocks of three detectors
SN1987A = (
    Row("k1", 0.0, Histogram.uniform(-60, 60), "neutrino", "kamiokande-ii"),
    Row("i1", 6.374, Histogram.uniform(-0.05, 0.05), "neutrino", "imb"),
    Row("b1", 36.818, Histogram.uniform(-54, 2), "neutrino", "baksan"),
)


def frame_json(rows: Sequence[Row], area: str = "bay", received_at_s: float = 1e9) -> dict[str, Any]:
    stamps: list[dict[str, Any]] = []
    for row in rows:
        if row.stamp not in stamps:
            stamps.append(row.stamp)
    columns: dict[str, list[Any]] = {
        "stamp": [stamps.index(row.stamp) for row in rows],
        "detected_at_us": [row.at_us for row in rows],
        "id": [row.id for row in rows],
    }
    if any(row.attributes for row in rows):
        columns["attributes"] = [dict(row.attributes) for row in rows]
    return {
        "v": 2,
        "area": area,
        "received_at_us": round(received_at_s * MICROSECONDS),
        "templates": {row.template.id: row.template.to_json() for row in rows},
        "stamps": stamps,
        "detections": columns,
    }


def record(offset: int, frame: object, area: str = "bay", partition: int = 0) -> InputRecord:
    value = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    return InputRecord("detections", partition, offset, area.encode(), value)


def frame(
    offset: int, rows: Sequence[Row], area: str = "bay", partition: int = 0, received_at_s: float = 1e9
) -> InputRecord:
    return record(offset, frame_json(rows, area, received_at_s), area, partition)


def poisson_frames(
    rng: np.random.Generator, sensors: list[tuple[str, str, Histogram, float]], seconds: float
) -> list[InputRecord]:
    """Frames of 20 independent detections in order of time; sensors are (name, stream, template, rate)."""
    rows = [
        Row(f"{stream}{n}", 1e6 + at_s, template, stream, sensor)
        for sensor, stream, template, rate_hz in sensors
        for n, at_s in enumerate(rng.uniform(0, seconds, rng.poisson(rate_hz * seconds)))
    ]
    rows.sort(key=lambda row: row.at_s)
    return [frame(n, rows[n : n + 20], received_at_s=1e9) for n in range(0, len(rows), 20)]


def heartbeat(offset: int, received_at_s: float, partition: int = 0) -> InputRecord:
    content = {"v": 2, "heartbeat": True, "received_at_us": round(received_at_s * MICROSECONDS)}
    return InputRecord("detections", partition, offset, None, json.dumps(content).encode())


def query_json(
    window_s: float | tuple[float, float] = 2.0,
    threshold: float = 0.6,
    streams: tuple[str, str] = ("p", "s"),
    sensors: str = "any",
    name: str = "near",
) -> dict[str, Any]:
    within = [{"between": ["a", "b"], **edge(window_s, threshold)}]
    return {"id": name, "from": {"a": streams[0], "b": streams[1]}, "within": within, "sensors": sensors}


def edge(window_s: float | tuple[float, float], threshold: float) -> dict[str, float]:
    window = {"lo_s": window_s[0], "hi_s": window_s[1]} if isinstance(window_s, tuple) else {"window_s": window_s}
    return {**window, "threshold": threshold}


def control(offset: int, change: dict[str, Any]) -> InputRecord:
    return InputRecord("queries", 0, offset, str(change["id"]).encode(), json.dumps(change).encode())


def put(offset: int, query: dict[str, Any], version: int = 1, *, paused: bool = False) -> InputRecord:
    change = {"v": 1, "id": query["id"], "version": version, "paused": paused, "changed_at_us": 0, "query": query}
    return control(offset, change)


def removal(offset: int, name: str = "near", version: int = 2) -> InputRecord:
    return control(offset, {"v": 1, "id": name, "version": version, "removed": True, "changed_at_us": 0})


def declaration(
    offset: int,
    name: str,
    max_delay_s: float,
    longest_template_s: float = 8,
    version: int = 1,
    echo_s: float | None = None,
) -> InputRecord:
    """A stream that is declared, or declared otherwise."""
    declared = {"max_delay_s": max_delay_s, "longest_template_s": longest_template_s}
    return _of_stream(offset, name, version, declared if echo_s is None else {**declared, "echo_s": echo_s})


def stream_removal(offset: int, name: str, version: int = 1) -> InputRecord:
    return _of_stream(offset, name, version, {"removed": True})


def _of_stream(offset: int, name: str, version: int, rest: dict[str, Any]) -> InputRecord:
    content = {"v": 1, "stream": name, "version": version, "changed_at_us": 0, **rest}
    return InputRecord("queries", 0, offset, f"stream/{name}".encode(), json.dumps(content).encode())


def started(*records: InputRecord, streams: Mapping[str, Stream] = STREAMS, limits: Limits | None = None) -> FusionCore:
    """Return a core that has taken these records, if any, as one batch."""
    core = FusionCore(streams, limits or Limits(), 0)
    if records:
        core.push(records)
    return core
