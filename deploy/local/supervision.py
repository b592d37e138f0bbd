"""Command the process runner (supervisor) of one system over its socket, and judge the starts of its processes."""

import http.client
import os
import signal
import subprocess
import sys
import xmlrpc.client
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import SupervisorTransport

from deploy.host.machine import LocalError
from deploy.host.patience import Patience
from deploy.local.broker import START_BUDGET_S as BROKER_BUDGET_S
from deploy.local.environment import keep
from deploy.local.layout import HERE, Layout

#: The processor time that a start may take, several times what it does: a Spark job takes some 25 s, a service 3 s.
START_BUDGETS_S = {"kafka": BROKER_BUDGET_S, "fusion": 300.0, "archive": 300.0}
START_BUDGET_S = 120.0
#: One that ends so many times before it is ready is waited for no longer; its runner goes on trying.
MOST_ENDS = 4


PRIVATE, PRIVATE_FOLDER = 0o077, 0o700


class Supervision:
    """The process runner of ``layout``; process names are those of supervisord.conf."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._runner: subprocess.Popen[bytes] | None = None  # where it was started from here: a child, to be reaped

    @property
    def is_running(self) -> bool:
        """Whether it answers."""
        try:
            self._call("getState")
        except LocalError:
            return False
        return True

    def start(self, java_home: Path) -> None:
        """Start the runner, with no process in it yet; what it and its processes write is for this user alone.

        Databases, topics and logs hold receivers' secrets and the hashes of keys.
        """
        self._layout.logs.mkdir(parents=True, exist_ok=True)
        keep(self._layout.runtime, self._layout.environ(java_home), adds=False)
        self._layout.runtime.chmod(PRIVATE_FOLDER)  # what was written before we took care of that is in it, too
        command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(HERE / "supervisord.conf")]
        said = self._layout.logs / "supervisord.out"
        said.touch(0o600)
        with said.open("wb") as output:
            runner = subprocess.Popen(
                command,
                cwd=self._layout.runtime,  # its logs are relative to it: it cannot read a path with a % in it
                env=self._layout.environ(java_home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                umask=PRIVATE,
                start_new_session=True,  # Ctrl-C at our terminal must not reach it: we stop it, in order
            )
        self._runner = runner
        started = psutil.Process(runner.pid)
        patience = Patience(lambda: [started], START_BUDGET_S)
        if why := patience.wait(lambda: self.is_running or runner.poll() is not None):
            runner.kill()
            raise LocalError(f"the process runner did not start: it {why}")
        if runner.poll() is not None:
            raise LocalError(f"the process runner did not start: {said.read_text(errors='replace').strip()}")

    def start_process(self, name: str) -> None:
        """Ask for ``name`` to be started; does not wait, and does nothing where it already runs."""
        if self.state(name) == "BACKOFF":
            self.stop_process(name)  # else it is not tried again before its runner has waited
        if self.state(name) not in {"RUNNING", "STARTING"}:
            self._call("startProcess", name, False)

    def stop_process(self, name: str) -> None:
        """Stop ``name`` in order and return when it is gone; it is not started again by itself."""
        if self.state(name) in {"RUNNING", "STARTING", "BACKOFF"}:
            self._call("stopProcess", name, True)

    def state(self, name: str) -> str:
        """Return supervisor's word: STOPPED, STARTING, RUNNING, BACKOFF, STOPPING, EXITED or FATAL."""
        return str(self._call("getProcessInfo", name)["statename"])

    def states(self) -> dict[str, str]:
        """Return a line of description for each process, by name."""
        return {
            each["name"]: f"{each['statename']:<9} {each['description']}" for each in self._call("getAllProcessInfo")
        }

    def pid(self, name: str) -> int:
        """Return the process id of ``name``; 0 while it does not run."""
        return int(self._call("getProcessInfo", name)["pid"])

    def family(self, name: str) -> list[psutil.Process]:
        """Return the process of ``name`` where it runs; what it started belongs to it."""
        pid = self.pid(name)
        with suppress(psutil.NoSuchProcess):
            return [psutil.Process(pid)] if pid else []
        return []

    def runner(self) -> psutil.Process:
        """Return the runner itself, from which all others descend."""
        return psutil.Process(int(self._call("getPID")))

    def send_signal(self, name: str, number: signal.Signals) -> None:
        """Send ``number`` to the process itself, not to its children; a `LocalError` where it does not run."""
        pid = self.pid(name)
        if pid == 0:
            raise LocalError(f"{name} does not run, so it cannot be sent {number.name}")
        os.kill(pid, number)

    def shut_down(self, timeout_s: float) -> None:
        """Have the runner, if there is one, stop every process in order and itself, within ``timeout_s``."""
        if self.is_running:
            runner = self.runner()
            self._call("shutdown")
            with suppress(psutil.TimeoutExpired):
                runner.wait(timeout_s)
        if self._runner is not None:
            self._runner.poll()  # our own child, to be reaped

    def _call(self, method: str, *arguments: Any) -> Any:
        transport = SupervisorTransport(serverurl=f"unix://{self._layout.socket}")
        try:
            with xmlrpc.client.ServerProxy("http://127.0.0.1", transport) as proxy:
                return getattr(proxy.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException) as error:
            raise LocalError("the system does not run: start it with `make up`") from error
        except xmlrpc.client.Fault as error:
            raise LocalError(
                f"the process runner refused {method} {' '.join(map(str, arguments))}: {error.faultString}"
            ) from error


class Start:
    """A process that is being started: how far it is, and why it is not waited for any longer."""

    def __init__(self, supervision: Supervision, name: str) -> None:
        budget_s = START_BUDGETS_S.get(name, START_BUDGET_S)
        self._patience = Patience(lambda: supervision.family(name), budget_s)
        self._patience.begin()
        self._state, self._ends = "", 0

    def why_over(self, state: str) -> str | None:
        """Return why it is given up, given supervisor's word for it now; None while it is not."""
        self._ends += state == "BACKOFF" != self._state
        self._state = state
        if state in {"FATAL", "EXITED"} or self._ends >= MOST_ENDS:
            return "could not be started"
        why = self._patience.why_over()
        return why and f"is not ready: it {why}"

    @property
    def progress(self) -> str:
        """What it does, for a person."""
        return f"{'starting again' if self._ends else 'starting'}, {self._patience.used_s:.0f} s of processor time"


def owner_of(port: int) -> str:
    """Return who listens on ``port``, for a sentence: ``process 4711 (python)``, or ``another process``."""
    with suppress(psutil.Error):  # not ours to see
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another process"
