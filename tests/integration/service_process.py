"""Runs ingest and alerting as a process runner would, speaks to them, and reads the live stream as a page does."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import httpx2
import psutil

from deploy.host.machine import ROOT, free_ports
from deploy.host.patience import suspend
from tests.patience import until

DEADLINE_S = 30.0
LIVE_DEADLINE_S = 60.0
OUTBOX = "coincide_alerting_outbox_deliveries{"


@dataclass
class ServiceProcess:
    ends_within_s: ClassVar[float] = DEADLINE_S
    port: int
    process: psutil.Popen

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return httpx2.request(method, self.url + path, timeout=30.0, verify=False, **options)  # no certificates to read

    def status_of(self, path: str) -> int:
        """Return the status of a GET, 0 while nobody listens."""
        try:
            return self.call("GET", path).status_code
        except httpx2.TransportError:
            return 0

    def wait_for(self, path: str, status: int) -> None:
        def is_told() -> bool:
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: its log says why"
            return self.status_of(path) == status

        until(is_told)

    def suspend(self) -> None:
        """Hang it."""
        suspend(self.process)

    def terminate(self) -> None:
        self.process.terminate()

    def stop(self) -> int:
        self.terminate()
        return self.wait()

    def wait(self) -> int:
        return int(self.process.wait(self.ends_within_s))

    def kill(self) -> None:
        """End it as a power cut would, if it runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.wait()


class IngestProcess(ServiceProcess):
    def post(self, items: Any) -> httpx2.Response:
        return self.call("POST", "/v1/detections", json=items)


class AlertingProcess(ServiceProcess):
    def get(self, path: str, **parameters: Any) -> Any:
        return self.call("GET", path, params=parameters).raise_for_status().json()

    def items(self, path: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return every item of a list, oldest stored first, read page by page."""
        return pages_of(lambda cursor: self.get(path, **parameters, **cursor))[::-1]

    def deliveries_waiting(self) -> int:
        """Return how many deliveries are not written down as done, so that the next alerting would try them again."""
        lines = self.call("GET", "/metrics").text.splitlines()
        told = [float(each.rpartition(" ")[2]) for each in lines if each.startswith(OUTBOX)]
        return int(sum(told)) if told else -1


def metric(url: str, sample: str, headers: Mapping[str, str] | None = None) -> float | None:
    """Return the value of one line of /metrics, e.g. ``coincide_fusion_late_total``; None where nobody says it."""
    try:
        lines = httpx2.get(f"{url}/metrics", timeout=30.0, verify=False, headers=headers).text.splitlines()
    except httpx2.TransportError:
        return None
    values = dict(line.rpartition(" ")[::2] for line in lines)
    return float(values[sample]) if sample in values else None


def archived_rows(archive: str) -> float:
    """Return how many rows the archive at this address has written; 0 while it does not answer."""
    return metric(archive, "coincide_archive_rows_total") or 0


P = TypeVar("P", bound=ServiceProcess)


def pages_of(get: Callable[[dict[str, str]], Any]) -> list[dict[str, Any]]:
    """Return every item of a list, given what gets the page after a cursor."""
    page = get({})
    items: list[dict[str, Any]] = page["items"]
    while page["next_cursor"] is not None:
        page = get({"cursor": page["next_cursor"]})
        items += page["items"]
    return items


@contextmanager
def running_ingest(bootstrap: str, folder: Path, **settings: Any) -> Iterator[IngestProcess]:
    """Run ingest on `bootstrap` with `settings`; its log goes to `folder`."""
    with _running(IngestProcess, "ingest", folder, {"kafka": {"servers": bootstrap}, **settings}) as ingest:
        yield ingest


@contextmanager
def running_alerting(bootstrap: str, folder: Path, **settings: Any) -> Iterator[AlertingProcess]:
    """Run alerting on `bootstrap`; its database and its log lie in `folder`."""
    own = {"kafka": {"servers": bootstrap}, "database_url": f"sqlite:///{folder / 'alerting.sqlite3'}", **settings}
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


class Event(NamedTuple):
    kind: str
    data: dict[str, Any]


class LiveReader:
    """What has been read so far, over however many connections; `wanted` is the query string of /v1/live."""

    def __init__(self, wanted: str, last_event_id: str | None = None) -> None:
        self.events: list[Event] = []
        self._wanted = wanted
        self._last_event_id = last_event_id
        self._kind = ""

    def read(self, service: str, until: Callable[[list[Event]], bool]) -> None:
        """Read on from alerting's URL until the events so far are as asked for; fails when they never are."""
        deadline_s = time.monotonic() + LIVE_DEADLINE_S
        headers = {"Last-Event-ID": self._last_event_id} if self._last_event_id else {}
        url = f"{service}/v1/live?{self._wanted}"
        with httpx2.stream("GET", url, headers=headers, timeout=30, trust_env=False) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                assert time.monotonic() < deadline_s, f"read {LIVE_DEADLINE_S} s in vain"
                self._take(line)
                if line == "" and until(self.events):
                    return

    def _take(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "id":
            self._last_event_id = value
        elif name == "event":
            self._kind = value
        elif name == "data":
            self.events.append(Event(self._kind, json.loads(value)))
