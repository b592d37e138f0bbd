"""Runs the fusion job as a person or a process runner would: as a process of its own, with its own topics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from coincide import Histogram
from deploy.local.jars import ensure_jars
from deploy.local.java import find_java
from deploy.local.machine import ROOT, free_ports, wait_until

READY_TIMEOUT_S = 240.0
TEMPLATE = Histogram.uniform(-1, 1)
START_US = 1_700_000_000_000_000
QUERY = {
    "id": "intruder",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}


@dataclass
class FusionProcess:
    """The job on ``bootstrap``, the topics that begin with ``prefix``, and a checkpoint in ``folder``."""

    bootstrap: str
    prefix: str
    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        [self.port] = free_ports(1)
        self.log = self.folder / "fusion.log"
        self.checkpoint = self.folder / "checkpoint"
        self.process: psutil.Popen | None = None

    def start(self, *arguments: str, **settings: Any) -> None:
        """Start it and return at once."""
        with self.log.open("ab") as log:
            self.process = psutil.Popen(
                [sys.executable, "-m", "spark_jobs.fusion", *arguments],
                cwd=ROOT,
                env=self._environment(settings),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _environment(self, settings: Mapping[str, Any]) -> dict[str, str]:
        own = {
            "kafka_bootstrap": self.bootstrap,
            "topic_prefix": self.prefix,
            "checkpoint_path": str(self.checkpoint),
            "jars_path": str(ensure_jars(find_java()).spark),
            "port": self.port,
            "lag_interval_s": 0.5,
            **self.settings,
            **settings,
        }
        named = {f"COINCIDE_FUSION_{name.upper()}": json.dumps(value) for name, value in own.items()}
        return {**os.environ, "JAVA_HOME": str(find_java().home), **named}

    def start_and_wait(self, *arguments: str, **settings: Any) -> None:
        """Start it and return when it is ready."""
        self.start(*arguments, **settings)
        assert wait_until(lambda: self.is_ready() or not self.is_running(), READY_TIMEOUT_S), self.tail()
        assert self.is_ready(), self.tail()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def is_ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body, (0, "") if nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, sample: str) -> float | None:
        """Return the value of one line of /metrics, e.g. ``coincide_fusion_late_total``."""
        for line in self.get("/metrics")[1].splitlines():
            name, _, value = line.rpartition(" ")
            if name == sample:
                return float(value)
        return None

    def family(self) -> list[psutil.Process]:
        """Return the process and all that it started: Java and Python workers."""
        assert self.process is not None
        return [self.process, *self.process.children(recursive=True)]

    def kill(self) -> list[psutil.Process]:
        """Kill it as a power cut would; return what it had started, which must end by itself."""
        family = self.family()
        self._signal(signal.SIGKILL)
        return family

    def stop(self, timeout_s: float = 60) -> int:
        """Ask it to end, and return its exit status."""
        self._signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def wait(self, timeout_s: float = 60) -> int:
        assert self.process is not None
        return int(self.process.wait(timeout_s))

    def end(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        if self.process is None or not self.is_running():
            return
        family = self.family()
        for member in family:
            if member.is_running():
                member.kill()
        psutil.wait_procs(family, 30)

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait(30)

    def topic(self, name: str) -> str:
        return self.prefix + name


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
