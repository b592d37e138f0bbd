"""The whole system on this machine, started and stopped in order; ``make up``, ``make demo`` and the tests are this."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

import httpx
import psutil

from deploy.local.failure import LocalError
from deploy.local.jars import ensure_jars
from deploy.local.java import find_java
from deploy.local.layout import Layout
from deploy.local.paths import ROOT
from deploy.local.ports import is_free, owner_of
from deploy.local.readiness import READY_TIMEOUT_S, Report, is_ready, last_words, silent, wait_ready
from deploy.local.supervision import Supervision
from deploy.local.waiting import wait_until

#: What runs, in the order of starting; each of the last three needs the first, and its topics.
PROCESSES = ("kafka", "alerting", "fusion", "ingest")

DOWN_TIMEOUT_S = 120.0
STRAGGLERS_TIMEOUT_S = 20.0
_HTTP_TIMEOUT_S = 30.0


class System:
    """One system on ``layout``.

    Attributes
    ----------
    supervision
        Its process runner: starts, stops and signals one process.
    ingest, alerting
        HTTP clients of the two services, until `down`.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.supervision = Supervision(layout)
        self.ingest = httpx.Client(base_url=layout.url("ingest"), timeout=_HTTP_TIMEOUT_S)
        self.alerting = httpx.Client(base_url=layout.url("alerting"), timeout=_HTTP_TIMEOUT_S)

    def up(self, report: Report = silent, *, rebuild: bool = False) -> None:
        """Start what does not run and return when all is ready; changes nothing where all is.

        With ``rebuild`` fusion, if it does not run, begins anew from the topics.

        Where that fails, or Ctrl-C comes, what was started is stopped again.

        Raises
        ------
        LocalError
            A port is taken, there is no Java, or a process could not be started.
        """
        was_running = self.supervision.is_running
        try:
            self._start_all(report, rebuild=rebuild)
        except (LocalError, KeyboardInterrupt):
            if not was_running:
                self.down()
            raise

    def _start_all(self, report: Report, *, rebuild: bool) -> None:
        java = find_java()
        ensure_jars(java)
        if not self.supervision.is_running:
            self._refuse_taken_ports()
            self.supervision.start(java.home)
        self._start("kafka", report)
        wait_ready(self.layout, ["kafka"], report)
        environ = self.layout.environ(java.home)
        report("topics", "starting")
        run_once(["services.common.topics", "--kafka", self.layout.bootstrap], environ)
        report("topics", "ready")
        if rebuild:
            self._rebuild(environ, report)
        for name in PROCESSES[1:]:
            self._start(name, report)
        report("sensors", "starting")  # while the others start: ingest follows their topic
        run_once(["services.ingest.registry.seed"], environ)
        report("sensors", "ready")
        wait_ready(self.layout, PROCESSES[1:], report)

    def _rebuild(self, environ: dict[str, str], report: Report) -> None:
        """Run fusion once with ``--rebuild``, outside the runner, which would rebuild again at every restart."""
        report("rebuild", "starting")
        command = [sys.executable, "-m", "spark_jobs.fusion", "--rebuild"]
        with (self.layout.logs / "rebuild.log").open("wb") as log:
            fusion = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        wait_until(lambda: is_ready(self.layout, "fusion") or fusion.poll() is not None, READY_TIMEOUT_S)
        fusion.terminate()
        if fusion.wait(STRAGGLERS_TIMEOUT_S) != 0:
            raise LocalError(f"the rebuild failed{last_words(self.layout.logs / 'rebuild.log')}")
        report("rebuild", "ready")

    def down(self) -> list[str]:
        """Stop every process in order and return what had to be killed, a line each; harmless where none runs."""
        self.ingest.close()
        self.alerting.close()
        self.supervision.shut_down(DOWN_TIMEOUT_S)
        stragglers = self._processes()
        for process in stragglers:  # of a runner that was killed itself, say
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, stubborn = psutil.wait_procs(stragglers, timeout=STRAGGLERS_TIMEOUT_S)
        for process in stubborn:
            process.kill()
        psutil.wait_procs(stubborn, timeout=STRAGGLERS_TIMEOUT_S)
        return [f"process {process.pid}" for process in stubborn]

    def kill(self, name: str) -> None:
        """Kill ``name`` as a crash would (SIGKILL) and return when its runner has noticed; it starts it again."""
        before = self.supervision.pid(name)
        self.supervision.send_signal(name, signal.SIGKILL)
        wait_until(lambda: self.supervision.pid(name) != before, timeout_s=30)

    def wait_ready(self, *names: str) -> None:
        """Return when ``names``, or all processes, are ready; see `readiness.wait_ready`."""
        wait_ready(self.layout, names or PROCESSES)

    def stop_broker(self) -> None:
        """Stop Kafka in order; it stays away until `start_broker`."""
        self.supervision.stop_process("kafka")

    def start_broker(self) -> None:
        """Start Kafka and return when it answers."""
        self.supervision.start_process("kafka")
        wait_ready(self.layout, ["kafka"])

    def suspend_broker(self) -> None:
        """Hang Kafka: connections stay open, nothing is answered (SIGSTOP)."""
        self.supervision.send_signal("kafka", signal.SIGSTOP)

    def resume_broker(self) -> None:
        """Let a suspended Kafka go on (SIGCONT) and return when it answers."""
        self.supervision.send_signal("kafka", signal.SIGCONT)
        wait_ready(self.layout, ["kafka"])

    def status(self) -> dict[str, str]:
        """Return what each process does, by name; a `LocalError` where the system does not run."""
        states = self.supervision.states()
        return {name: f"{states[name]}{self._readiness(name)}" for name in PROCESSES}

    def _readiness(self, name: str) -> str:
        return ", ready" if is_ready(self.layout, name) else ", NOT ready"

    def _start(self, name: str, report: Report) -> None:
        report(name, "starting")
        self.supervision.start_process(name)

    def _refuse_taken_ports(self) -> None:
        for name, port in asdict(self.layout.ports).items():
            if not is_free(port):
                raise LocalError(
                    f"port {port}, wanted by {name}, is in use by {owner_of(port)}: stop that, or choose another port "
                    "(docs/operations.md)"
                )

    def _processes(self) -> list[psutil.Process]:
        """Return every process that was started for this layout, orphans of a killed runner included."""
        mine = str(self.layout.runtime)
        return [each for each in psutil.process_iter() if _runtime_of(each) == mine and each.pid != os.getpid()]


def run_once(module: list[str], environ: dict[str, str]) -> None:
    """Run ``python -m module...`` from the checkout to its end; what it said on stderr is the error's sentence."""
    command = [sys.executable, "-m", *module]
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode != 0:
        raise LocalError(f"{module[0]} failed: {ended.stderr.strip()}")


def _runtime_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("COINCIDE_LOCAL_RUNTIME")
    except (psutil.Error, OSError):
        return None
