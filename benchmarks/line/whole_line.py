"""The whole line as the benchmarks use it: 64 areas with two sensors each, and one query over two streams.

An area's detections are further apart than the window, so nothing matches by chance; every 20th is of the other sensor
and at the same time as the one before it: that is one match, and certain, 0.05 a detection.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import yaml

from benchmarks.harness.rounds import cpu_seconds
from deploy.local.layout import Layout
from deploy.local.system import System

AREAS = 64
DETECTIONS_PER_MATCH = 20
QUERY = {
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 0.0005, "threshold": 0.6}],
}
HALF_TEMPLATE_S = 0.0001  # at 60,000 detections a second an area has one every 1.07 ms
PROCESSES = ("kafka", "ingest", "fusion", "alerting")


@contextmanager
def running(max_delay_s: float, **own: str) -> Iterator[System]:
    """Yield a running system with the benchmark's sensors and query; afterwards it is gone, files and all.

    `own` are further variables of its environment.
    """
    folder = Path(tempfile.mkdtemp(prefix="coincide-bench-"))
    system = System(Layout.isolated(folder / "running", configured(folder, max_delay_s) | own))
    try:
        system.up()
        system.alerting.put("/v1/queries/pairs", json=QUERY).raise_for_status()
        yield system
    finally:
        system.down()
        system.ingest.close()
        system.alerting.close()
        shutil.rmtree(folder, ignore_errors=True)


def configured(folder: Path, max_delay_s: float, areas: int = AREAS) -> dict[str, str]:
    """Write the files of streams and of the sensors of so many areas; return the variables that name them."""
    bounds = {"max_delay_s": max_delay_s, "longest_template_s": 1}
    streams = {"seismic": bounds, "acoustic": bounds}
    sensors = [
        {"id": f"{stream}-{area:02d}", "area": area_name(area), "streams": {stream: "clock"}}
        for area in range(areas)
        for stream in streams
    ]
    clock = {"uniform": [-HALF_TEMPLATE_S, HALF_TEMPLATE_S]}
    (folder / "streams.yaml").write_text(yaml.safe_dump({"streams": streams}), encoding="utf-8")
    declared = {"templates": {"clock": clock}, "sensors": sensors}
    (folder / "sensors.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    paths = {f"COINCIDE_{each}_STREAMS_PATH": folder / "streams.yaml" for each in ("INGEST", "FUSION", "ALERTING")}
    paths["COINCIDE_INGEST_SENSORS_PATH"] = folder / "sensors.yaml"
    quoted = {name: json.dumps(str(path)) for name, path in paths.items()}
    return {**quoted, "COINCIDE_ALERTING_QUERIES_PATH": "null"}


def area_name(area: int) -> str:
    return f"area-{area:02d}"


def body_now(number: int, rate: float, count: int) -> bytes:
    """Return the POST of this number: ``count`` detections of one area that end now; areas take turns."""
    return body_at(time.time_ns() // 1000, number, rate, count)


def body_at(sent_us: int, number: int, rate: float, count: int) -> bytes:
    """Return the POST of this number as it is sent at that time."""
    area, spacing_us = number % AREAS, round(1e6 * AREAS / rate)
    attributes, first_us = {"sent_us": sent_us}, sent_us - (count - 1) * spacing_us
    items = []
    for i in range(count):
        is_second = i % DETECTIONS_PER_MATCH == DETECTIONS_PER_MATCH - 1
        sensor = f"{'acoustic' if is_second else 'seismic'}-{area:02d}"
        detected_us = first_us + (i - is_second) * spacing_us
        items.append({"sensor": sensor, "detected_at": detected_us, "attributes": attributes})
    return msgspec.json.encode(items)


def cpu_by_process(system: System) -> dict[str, float]:
    """Return CPU seconds so far, by process of the system with its children, and of this one as "load"."""
    pids = {name: system.supervision.pid(name) for name in PROCESSES}
    processes = {name: psutil.Process(pid) for name, pid in pids.items()}
    used_s = {name: cpu_seconds(each, *each.children(recursive=True)) for name, each in processes.items()}
    return {**used_s, "load": cpu_seconds(psutil.Process())}
