"""The line in one process as a test runs it: a process of its own that is asked, killed and started like a `System`."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from deploy.host.machine import ROOT, free_ports
from deploy.host.patience import suspend
from deploy.local.layout import Layout, Ports
from deploy.local.supervision import Supervision
from deploy.local.system import Report, System
from tests.patience import until

#: Of processor time, until it is ready: several times what a start takes.
START_BUDGET_S = 60.0
COMPONENTS = ("ingest", "alerting", "fusion")


@dataclass(frozen=True)
class OneAddress(Layout):
    """Everything at one port: each component below its name, and the console at the root."""

    def url(self, component: str) -> str:
        base = f"http://127.0.0.1:{self.ports.console}"
        return base if component == "console" else f"{base}/components/{component}"


class OneRunner(Supervision):
    """Knows the process, so that whoever waits for it sees what it does."""

    process: psutil.Popen

    def runner(self) -> psutil.Process:
        return psutil.Process(self.process.pid)


class OneProcess(System):
    """The line in one process over a folder, on a free port, with config/ as shipped and variables of its own.

    To kill any of its components is to kill all of them. A killed one is started again at once.
    """

    processes = COMPONENTS
    supervision: OneRunner

    def __init__(self, folder: Path, **own: str) -> None:
        self.folder = folder
        super().__init__(OneAddress(folder, Ports(*free_ports(1) * 8), own))
        self.supervision = OneRunner(self.layout)

    @property
    def process(self) -> psutil.Popen:
        return self.supervision.process

    @property
    def log(self) -> Path:
        """The file of its log of records."""
        return self.folder / "log.sqlite3"

    def start(self) -> None:
        """Start it, and do not wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "services.line", "--folder", str(self.folder)]
        command += ["--port", str(self.layout.ports.console)]
        environ = {"COINCIDE_ALERTING_RECEIVERS_MAY_BE_PRIVATE": "true", **os.environ, **self.layout.overrides}
        with self._said.open("ab") as said:
            self.supervision.process = psutil.Popen(
                command, cwd=ROOT, env=environ, stdout=said, stderr=said, start_new_session=True
            )

    def up(self, report: Report = lambda *_: None, *, rebuild: bool = False) -> None:
        assert not rebuild, "it has no state that is not in its log"
        self.start()
        self.wait_ready()

    def wait_ready(self, *_names: str, report: Report = lambda *_: None, budget_s: float = START_BUDGET_S) -> None:
        """Return when all of it is ready; fails where it has ended, or has used so much processor time."""
        until(self._is_ready_or_over, budget_s, [self.process], every_s=0.02, tell=self.said)
        assert self.process.poll() is None, self.said()

    def _is_ready_or_over(self) -> bool:
        return self.process.poll() is not None or self.are_all_ready()

    def are_all_ready(self) -> bool:
        return all(map(self.is_ready, COMPONENTS))

    def why_not_ready(self, component: str) -> str:
        """Return what a component says instead of being ready; nothing where it is, or does not answer."""
        try:
            answer = httpx2.get(f"{self.layout.url(component)}/readyz", timeout=5.0)
        except httpx2.HTTPError:
            return ""
        return str(answer.json()["detail"]) if answer.status_code == httpx2.codes.SERVICE_UNAVAILABLE else ""

    def kill(self, _name: str = "") -> None:
        """End it as a power cut would, and start it again."""
        self.process.kill()
        self.process.wait()
        self.start()

    def suspend(self) -> None:
        """Hang it, until `resume`."""
        suspend(self.process)

    def resume(self) -> None:
        self.process.resume()

    def stop(self, _names: object = ()) -> None:
        """Stop it in order; fails where it has to be killed, or tells of a fault."""
        self.process.terminate()
        assert self.process.wait(30) == 0, self.said()

    def down(self) -> list[str]:
        """End it, however; what is on the disk has to do."""
        for client in self._clients:
            client.close()
        if hasattr(self.supervision, "process") and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return []

    @property
    def _said(self) -> Path:
        return self.folder / "line.log"

    def said(self, lines: int = 30) -> str:
        """Return the end of what it wrote."""
        return "\n".join(self._said.read_text(errors="replace").splitlines()[-lines:]) if self._said.exists() else ""


@contextmanager
def one_process(folder: Path, own: Mapping[str, str] | None = None) -> Iterator[OneProcess]:
    """Run one until the block ends, ready at its beginning."""
    line = OneProcess(folder, **(own or {}))
    try:
        line.up()
        yield line
    finally:
        line.down()
