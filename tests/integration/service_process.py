"""Runs ingest and alerting as a process runner would, and speaks to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

from deploy.local.machine import ROOT, free_ports, wait_until

DEADLINE_S = 30.0


@dataclass
class ServiceProcess:
    port: int
    process: psutil.Popen

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
        self.process.terminate()

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        return int(self.process.wait(timeout_s))

    def kill(self) -> None:
        """End it as a power cut would, if it runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.wait()


class IngestProcess(ServiceProcess):
    def post(self, items: Any) -> httpx.Response:
        return self.call("POST", "/v1/detections", json=items)


class AlertingProcess(ServiceProcess):
    def get(self, path: str) -> Any:
        return self.call("GET", path).raise_for_status().json()

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return every item of a list, oldest stored first, read page by page; ``path`` has a query string."""
        return items_of(lambda cursor: self.call("GET", path + (f"&cursor={cursor}" if cursor else "")))[::-1]


P = TypeVar("P", bound=ServiceProcess)


def items_of(page_after: Callable[[str | None], httpx.Response]) -> list[dict[str, Any]]:
    """Return every item of a list page by page, given what answers with the page after a cursor."""
    page = page_after(None).raise_for_status().json()
    items: list[dict[str, Any]] = page["items"]
    while page["next_cursor"] is not None:
        page = page_after(page["next_cursor"]).raise_for_status().json()
        items += page["items"]
    return items


def until(condition: Callable[[], bool], timeout_s: float = DEADLINE_S) -> None:
    """Poll `condition`; fails when it does not hold within `timeout_s`."""
    assert wait_until(condition, timeout_s, every_s=0.05), f"waited {timeout_s} s in vain"


@contextmanager
def running_ingest(bootstrap: str, folder: Path, **settings: Any) -> Iterator[IngestProcess]:
    """Run ingest on `bootstrap` with `settings`; its log goes to `folder`."""
    with _running(IngestProcess, "ingest", folder, {"kafka_bootstrap": bootstrap, **settings}) as ingest:
        yield ingest


@contextmanager
def running_alerting(bootstrap: str, folder: Path, **settings: Any) -> Iterator[AlertingProcess]:
    """Run alerting on `bootstrap`; its database and its log lie in `folder`."""
    own = {"kafka_bootstrap": bootstrap, "database_url": f"sqlite:///{folder / 'alerting.sqlite3'}", **settings}
    with _running(AlertingProcess, "alerting", folder, own) as alerting:
        alerting.wait_for("/livez", 200)
        yield alerting


@contextmanager
def _running(kind: type[P], name: str, folder: Path, settings: dict[str, Any]) -> Iterator[P]:
    [port] = free_ports(1)
    process = run_module(f"services.{name}", folder / f"{name}.log", name, {"port": port, **settings})
    running = kind(port, process)
    try:
        yield running
    finally:
        running.kill()


def run_module(
    module: str, log: Path, component: str, settings: Mapping[str, Any], arguments: tuple[str, ...] = (), **own: str
) -> psutil.Popen:
    """Start a module whose settings and `own` variables stand in its environment; it writes to the end of `log`."""
    named = {f"COINCIDE_{component.upper()}_{name.upper()}": json.dumps(value) for name, value in settings.items()}
    command, environment = [sys.executable, "-m", module, *arguments], {**os.environ, **named, **own}
    with log.open("ab") as file:
        return psutil.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
