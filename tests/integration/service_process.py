"""Runs ingest and alerting as a process runner would, and speaks to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from deploy.local.machine import ROOT, free_ports

DEADLINE_S = 30.0


@dataclass
class ServiceProcess:
    """A running service."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        return httpx.request(method, self.url + path, timeout=30.0, **options)

    def status_of(self, path: str) -> int:
        """Return the status of a GET, 0 while nobody listens."""
        try:
            return self.call("GET", path).status_code
        except httpx.TransportError:
            return 0

    def wait_for(self, path: str, status: int, timeout_s: float = DEADLINE_S) -> None:
        until(lambda: self.status_of(path) == status, timeout_s)

    def terminate(self) -> None:
        """Ask it to stop."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Return the exit status once it has ended."""
        return self.process.wait(DEADLINE_S)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.wait()


class IngestProcess(ServiceProcess):
    """A running ingest."""

    def post(self, items: Any) -> httpx.Response:
        return self.call("POST", "/v1/detections", json=items)


class AlertingProcess(ServiceProcess):
    """A running alerting."""

    def get(self, path: str) -> Any:
        return self.call("GET", path).raise_for_status().json()

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return every item of a list, oldest stored first, read page by page; ``path`` has a query string."""
        items: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.get(path + cursor)
            items += page["items"]
            if page["next_cursor"] is None:
                return items[::-1]
            cursor = f"&cursor={page['next_cursor']}"


P = TypeVar("P", bound=ServiceProcess)


def until(condition: Callable[[], bool], timeout_s: float = DEADLINE_S) -> None:
    """Poll `condition`; fails when it does not hold within `timeout_s`."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {timeout_s} s in vain"
        time.sleep(0.05)


@contextmanager
def running_ingest(bootstrap: str, folder: Path, **settings: Any) -> Iterator[IngestProcess]:
    """Run ingest on `bootstrap` with `settings`; its log goes to `folder`."""
    with _running(IngestProcess, "ingest", folder, {"kafka_bootstrap": bootstrap, **settings}) as ingest:
        yield ingest


@contextmanager
def running_alerting(bootstrap: str, folder: Path, **settings: Any) -> Iterator[AlertingProcess]:
    """Run alerting on `bootstrap`; its database and its log lie in `folder`."""
    named = {"kafka_bootstrap": bootstrap, "database_url": f"sqlite:///{folder / 'alerting.sqlite3'}", **settings}
    with _running(AlertingProcess, "alerting", folder, named) as alerting:
        alerting.wait_for("/livez", 200)
        yield alerting


@contextmanager
def _running(kind: type[P], name: str, folder: Path, settings: dict[str, Any]) -> Iterator[P]:
    (port,) = free_ports(1)
    named = {f"COINCIDE_{name.upper()}_{field.upper()}": str(value) for field, value in settings.items()}
    environment = {**os.environ, f"COINCIDE_{name.upper()}_PORT": str(port), **named}
    with (folder / f"{name}.log").open("ab") as log:
        command = [sys.executable, "-m", f"services.{name}"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    running = kind(port, process)
    try:
        yield running
    finally:
        running.kill()
