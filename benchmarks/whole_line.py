"""The whole line as the benchmarks use it: 64 areas with two sensors each, and one query over two streams.

An area's detections are further apart than the window, so nothing matches by chance; every 20th is of the other sensor
and at the same time as the one before it: that is one match, and certain, 0.05 a detection.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import msgspec
import psutil
import yaml

from deploy.local.layout import Layout
from deploy.local.system import System

AREAS = 64
DETECTIONS_PER_MATCH = 20
QUERY = {
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 0.0005, "threshold": 0.6}],
}
HALF_TEMPLATE_S = 0.0001  # at 60,000 detections a second an area has one every 1.07 ms
PACKAGES = ("pyspark", "kafka-python", "fastapi", "uvicorn", "sqlalchemy", "numpy")

_encode = msgspec.json.Encoder().encode


@contextmanager
def running(max_delay_s: float, overrides: Mapping[str, str] | None = None) -> Iterator[System]:
    """Yield a running system with the benchmark's sensors and query; afterwards it is gone, files and all."""
    folder = Path(tempfile.mkdtemp(prefix="coincide-bench-"))
    system = System(Layout.isolated(folder / "running", {**_configured(folder, max_delay_s), **(overrides or {})}))
    try:
        system.up()
        system.alerting.put("/v1/queries/pairs", json=QUERY).raise_for_status()
        yield system
    finally:
        system.down()
        system.ingest.close()
        system.alerting.close()
        shutil.rmtree(folder, ignore_errors=True)


def _configured(folder: Path, max_delay_s: float) -> dict[str, str]:
    bounds = {"max_delay_s": max_delay_s, "longest_template_s": 1}
    streams = {"seismic": bounds, "acoustic": bounds}
    sensors = [
        {"id": f"{stream}-{area:02d}", "area": area_name(area), "streams": {stream: "clock"}}
        for area in range(AREAS)
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
    """Return the name of one of the areas."""
    return f"area-{area:02d}"


def body(area: int, count: int, last_us: int, spacing_us: int, sent_us: int) -> bytes:
    """Return a POST of ``count`` detections of one area that ends at ``last_us``; ``sent_us`` goes along with them."""
    attributes = {"sent_us": sent_us}
    first_us = last_us - (count - 1) * spacing_us
    items = []
    for i in range(count):
        is_second = i % DETECTIONS_PER_MATCH == DETECTIONS_PER_MATCH - 1
        sensor = f"{'acoustic' if is_second else 'seismic'}-{area:02d}"
        detected_us = first_us + (i - is_second) * spacing_us
        items.append({"sensor": sensor, "detected_at": detected_us, "attributes": attributes})
    return _encode(items)


def cpu_by_process(system: System) -> dict[str, float]:
    """Return CPU seconds so far, by process of the system with its children, and of this one as "load"."""
    used = {name: _cpu_s(system.supervision.pid(name)) for name in ("kafka", "ingest", "fusion", "alerting")}
    own = psutil.Process().cpu_times()
    return {**used, "load": own.user + own.system}


def _cpu_s(pid: int) -> float:
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return float(sum(each.cpu_times().user + each.cpu_times().system for each in family))


def machine() -> str:
    """Return the line that says what was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = os.getloadavg()[0]
    return (
        f"{packages}; Python {platform.python_version()}; {platform.machine()}, {os.cpu_count()} cores, "
        f"load average at the end {load:.1f}"
    )
