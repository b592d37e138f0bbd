"""Runs the fusion job as a person or a process runner would: as a process of its own, with its own topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from coincide import Histogram
from deploy.local.jars import ensure_jars
from deploy.local.java import find_java
from deploy.local.machine import free_ports, wait_until
from tests.integration.service_process import ServiceProcess, run_module
from tests.integration.topics import create_declared_topics, read_all, send

READY_TIMEOUT_S = 240.0
TEMPLATE = Histogram.uniform(-1, 1)
START_US = 1_700_000_000_000_000
QUERY = {
    "id": "intruder",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}


class FusionProcess(ServiceProcess):
    """The job on ``bootstrap``, the topics that begin with ``prefix``, and a checkpoint in ``folder``."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path, settings: Mapping[str, Any]) -> None:
        [self.port] = free_ports(1)
        self.bootstrap, self.prefix, self.folder, self.settings = bootstrap, prefix, folder, settings
        self.log = folder / "fusion.log"
        self.checkpoint = folder / "checkpoint"
        self.java = find_java()

    def start(self, *arguments: str, **settings: Any) -> None:
        own = {
            "kafka_bootstrap": self.bootstrap,
            "topic_prefix": self.prefix,
            "checkpoint_path": str(self.checkpoint),
            "jars_path": str(ensure_jars(self.java).spark),
            "port": self.port,
            "lag_interval_s": 0.5,
            **self.settings,
            **settings,
        }
        home = str(self.java.home)
        self.process = run_module("spark_jobs.fusion", self.log, "fusion", own, arguments, JAVA_HOME=home)

    def start_and_wait(self, *arguments: str, **settings: Any) -> None:
        self.start(*arguments, **settings)
        self.until(lambda: self.is_ready() or not self.is_running(), READY_TIMEOUT_S)
        assert self.is_ready(), self.tail()

    def until(self, condition: Callable[[], bool], timeout_s: float = 60) -> None:
        """Poll `condition`; fails with the end of the log when it does not hold within `timeout_s`."""
        assert wait_until(condition, timeout_s, every_s=0.5), self.tail()

    def is_running(self) -> bool:
        return self.process.poll() is None

    def is_ready(self) -> bool:
        return self.status_of("/readyz") == 200

    def metric(self, sample: str) -> float | None:
        """Return the value of one line of /metrics, e.g. ``coincide_fusion_late_total``."""
        try:
            lines = self.call("GET", "/metrics").text.splitlines()
        except httpx.TransportError:
            return None
        values = dict(line.rpartition(" ")[::2] for line in lines)
        return float(values[sample]) if sample in values else None

    def family(self) -> list[psutil.Process]:
        """Return the process and all that it started: Java and Python workers."""
        return [self.process, *self.process.children(recursive=True)]

    def stop(self) -> int:
        self.terminate()
        return self.wait()

    def wait(self, timeout_s: float = 60) -> int:
        return super().wait(timeout_s)

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def send(self, topic: str, records: Iterable[tuple[bytes, Any]]) -> None:
        send(self.bootstrap, self.prefix + topic, records)

    def read_all(self, topic: str) -> list[dict[str, Any]]:
        return read_all(self.bootstrap, self.prefix + topic)

    def matched(self) -> list[str]:
        """Return what matched, by the seismic member's id, with every repetition, sorted by number."""
        members = [match["members"][0]["id"] for match in self.read_all("matches")]
        return sorted(members, key=lambda name: int(name.split("-")[1]))


@contextmanager
def fusion_job(bootstrap: str, prefix: str, folder: Path, **settings: Any) -> Iterator[FusionProcess]:
    """Create its topics and yield the job, not started yet; leave nothing behind, whatever state it is in."""
    create_declared_topics(bootstrap, prefix)
    job = FusionProcess(bootstrap, prefix, folder, settings)
    try:
        yield job
    finally:
        end(job.family() if hasattr(job, "process") and job.is_running() else [])


def end(family: list[psutil.Process]) -> None:
    for member in family:
        if member.is_running():
            member.kill()
    psutil.wait_procs(family, 30)


def detection(stream: str, number: int, at_us: int) -> dict[str, Any]:
    """Return one detection of the sensor that watches ``stream``, certain to a second either way."""
    return {
        "id": f"{stream}-{number}",
        "sensor": f"sensor-{stream}",
        "stream": stream,
        "detected_at_us": at_us,
        "template": TEMPLATE.id,
        "earliest_us": at_us + TEMPLATE.earliest_us,
        "latest_us": at_us + TEMPLATE.latest_us,
        "attributes": {},
    }


def frame(area: str, *detections: dict[str, Any]) -> bytes:
    received_at_us = max(each["detected_at_us"] for each in detections) + 1_000
    content = {"v": 1, "area": area, "received_at_us": received_at_us, "templates": {TEMPLATE.id: TEMPLATE.to_json()}}
    return json.dumps({**content, "detections": list(detections)}).encode()


def seismic(numbers: Iterable[int], areas: int = 16) -> list[tuple[bytes, bytes]]:
    """Return frames of one seismic detection each, a second apart, keyed by area."""
    return [_one("seismic", number, 0, areas) for number in numbers]


def acoustic(numbers: Iterable[int], areas: int = 16) -> list[tuple[bytes, bytes]]:
    """Return the frames that give one match with each of `seismic`'s: half a second later."""
    return [_one("acoustic", number, 500_000, areas) for number in numbers]


def _one(stream: str, number: int, later_us: int, areas: int) -> tuple[bytes, bytes]:
    area = f"area-{number % areas}"
    return area.encode(), frame(area, detection(stream, number, START_US + number * 1_000_000 + later_us))


def query_record(version: int, **changes: Any) -> bytes:
    record = {"v": 1, "id": "intruder", "version": version, "paused": False, "changed_at_us": START_US, "query": QUERY}
    return json.dumps({**record, **changes}).encode()
