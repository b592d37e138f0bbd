"""A broker and one ingest process, with a sensor in each of 64 areas, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.gateways import AREAS
from coincide import Histogram
from deploy.local.broker import Broker
from deploy.local.ports import free_ports
from services.common.kafka import create_admin
from services.common.topics import create_topics, load_topics
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Sensor

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class System:
    """A running broker and ingest."""

    bootstrap: str
    port: int
    processes: dict[str, psutil.Process]


@contextmanager
def system(folder: Path) -> Iterator[System]:
    """Run a broker with topics and sensors, and ingest."""
    kafka_port, port = free_ports(2)
    broker = Broker(folder / "kafka", kafka_port)
    broker.start()
    settings = {"KAFKA_BOOTSTRAP": broker.bootstrap, "PORT": str(port), "HEARTBEAT_S": "null"}  # it counts records
    environment = {**os.environ, **{f"COINCIDE_INGEST_{name}": value for name, value in settings.items()}}
    admin = create_admin(broker.bootstrap)
    create_topics(admin, load_topics(ROOT / "config" / "topics.yaml"))
    admin.close()
    seed(broker.bootstrap, sensors(), prune=False, dry_run=False)
    ingest = subprocess.Popen([sys.executable, "-m", "services.ingest"], cwd=ROOT, env=environment)
    try:
        wait_ready(port)
        children = {
            "broker" if "kafka.Kafka" in each.cmdline() else "ingest": each for each in psutil.Process().children()
        }
        yield System(broker.bootstrap, port, {**children, "generator": psutil.Process()})
    finally:
        ingest.terminate()
        ingest.wait(30)
        broker.stop()


def wait_ready(port: int, timeout_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("ingest did not become ready")


def sensors() -> dict[str, Sensor]:
    template = Histogram.normal(sigma_s=0.5)
    return {f"sensor-{n:03d}": Sensor(f"sensor-{n:03d}", f"area-{n:02d}", {"seismic": template}) for n in range(AREAS)}


def cpu_seconds(processes: dict[str, psutil.Process]) -> dict[str, float]:
    return {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}
