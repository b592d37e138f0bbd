"""Runs ingest as a process runner would, and speaks to it and to its topics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from kafka import TopicPartition

from deploy.local.machine import ROOT, free_ports
from services.common.kafka import create_consumer

READY_TIMEOUT_S = 30.0


@dataclass
class IngestProcess:
    """A running ingest."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, items: Any, timeout_s: float = 30.0) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/detections", json=items, timeout=timeout_s)

    def status_of(self, path: str) -> int:
        """Return the status of a GET, 0 while nobody listens."""
        try:
            return httpx.get(self.url + path, timeout=5).status_code
        except httpx.TransportError:
            return 0

    def wait_for(self, path: str, status: int, timeout_s: float = READY_TIMEOUT_S) -> None:
        until(lambda: self.status_of(path) == status, timeout_s)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)


def until(condition: Callable[[], bool], timeout_s: float = READY_TIMEOUT_S) -> None:
    """Poll `condition`; fails when it does not hold within `timeout_s`."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {timeout_s} s in vain"
        time.sleep(0.05)


@contextmanager
def running_ingest(bootstrap: str, folder: Path, **settings: Any) -> Iterator[IngestProcess]:
    """Run ingest on `bootstrap` with `settings`; its log goes to `folder`."""
    (port,) = free_ports(1)
    named = {"kafka_bootstrap": bootstrap, "port": port, **settings}
    environment = {**os.environ, **{f"COINCIDE_INGEST_{name.upper()}": str(value) for name, value in named.items()}}
    command = [sys.executable, "-m", "services.ingest"]
    with (folder / "ingest.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield IngestProcess(port, process)
    finally:
        process.kill()
        process.wait(10)


def records_of(bootstrap: str, topic: str) -> list[Any]:
    """Return every record now on `topic`, values read as JSON."""
    consumer = create_consumer(bootstrap)
    try:
        partitions = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        records: list[Any] = []
        while any(consumer.position(each) < end for each, end in ends.items()):
            records += [record for polled in consumer.poll(200).values() for record in polled]
    finally:
        consumer.close()
    return [record._replace(value=json.loads(record.value)) if record.value else record for record in records]


def detection_ids(bootstrap: str) -> list[str]:
    """Return the id of every detection now on coincide.detections."""
    frames = records_of(bootstrap, "coincide.detections")
    return [each["id"] for frame in frames if not frame.value.get("heartbeat") for each in frame.value["detections"]]
