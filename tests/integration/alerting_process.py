"""Runs alerting as a process runner would, and speaks to it."""

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
from typing import Any

import httpx

from deploy.local.machine import ROOT, free_ports

DEADLINE_S = 30.0


@dataclass
class AlertingProcess:
    """A running alerting."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        return httpx.request(method, self.url + path, timeout=30.0, **options)

    def get(self, path: str) -> Any:
        return self.call("GET", path).raise_for_status().json()

    def status_of(self, path: str) -> int:
        """Return the status of a GET, 0 while nobody listens."""
        try:
            return self.call("GET", path).status_code
        except httpx.TransportError:
            return 0

    def wait_for(self, path: str, status: int, timeout_s: float = DEADLINE_S) -> None:
        until(lambda: self.status_of(path) == status, timeout_s)

    def match_ids(self) -> list[str]:
        """Return the id of every match, oldest stored first, read page by page."""
        ids: list[str] = []
        cursor = ""
        while True:
            page = self.get(f"/v1/matches?limit=1000{cursor}")
            ids += [item["id"] for item in page["items"]]
            if page["next_cursor"] is None:
                return ids[::-1]
            cursor = f"&cursor={page['next_cursor']}"

    def terminate(self) -> int:
        """Ask it to stop and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(DEADLINE_S)


def until(condition: Callable[[], bool], timeout_s: float = DEADLINE_S) -> None:
    """Poll `condition`; fails when it does not hold within `timeout_s`."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {timeout_s} s in vain"
        time.sleep(0.05)


@contextmanager
def running_alerting(bootstrap: str, folder: Path, **settings: Any) -> Iterator[AlertingProcess]:
    """Run alerting on `bootstrap`; its database and its log lie in `folder`."""
    (port,) = free_ports(1)
    database_url = f"sqlite:///{folder / 'alerting.sqlite3'}"
    named = {"kafka_bootstrap": bootstrap, "port": port, "database_url": database_url, **settings}
    environment = {**os.environ, **{f"COINCIDE_ALERTING_{name.upper()}": str(value) for name, value in named.items()}}
    with (folder / "alerting.log").open("ab") as log:
        command = [sys.executable, "-m", "services.alerting"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    running = AlertingProcess(port, process)
    try:
        running.wait_for("/livez", 200)
        yield running
    finally:
        running.kill()
