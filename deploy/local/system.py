"""The whole system on this machine, started and stopped in order; ``make up``, ``make demo`` and the tests are this."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from ssl import SSLContext

import httpx2
import psutil
from prometheus_client.parser import text_string_to_metric_families

from deploy.host.machine import LocalError, is_free, wait_until
from deploy.host.patience import Patience
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from deploy.local.broker import answers
from deploy.local.command import run_command
from deploy.local.environment import keep
from deploy.local.layout import Layout
from deploy.local.supervision import Start, Supervision, owner_of
from services.common.http.problem_document import MEDIA_TYPE
from spark_jobs.job.restarts import HALTED

#: What runs, in the order of starting. All but the last need the first, and its topics; the console needs nobody.
PROCESSES = ("kafka", "alerting", "fusion", "ingest", "console")
#: What runs only where an archive is configured: one keeps all detections in Parquet, the other asks them.
OF_ARCHIVE = ("archive", "history")
#: What only the demo starts: it posts what the microphones of a harbour hear now (`services.demo.harbour`).
HARBOUR = "harbour"
#: What the others do without: where it does not come up, they stay.
OPTIONAL = frozenset({"console", *OF_ARCHIVE, HARBOUR})

#: Called with a process name and what it does now: ``starting``, ``starting, 42 s of processor time``, ``ready``.
Report = Callable[[str, str], None]

STRAGGLERS_TIMEOUT_S = 20.0
WAIT_BUDGET_S = 120.0  # of processor time of the whole system
_HTTP_TIMEOUT_S = 30.0
_POLL_S = 0.2


class PartlyUpError(LocalError):
    """What is needed is up, and something else is not."""


class HaltedError(PartlyUpError):
    """All run, and one waits for a person to put something right."""


def _silent(name: str, state: str) -> None:
    """Report nothing."""


class System:
    """One system on ``layout``: its process runner, and HTTP clients of its two services, until `down`."""

    #: What the demo says to a person who is stuck.
    afresh, logs = "`make clean` starts afresh", "see `make logs`"

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.supervision = Supervision(layout)
        self._clients: list[httpx2.Client] = []

    @cached_property
    def ingest(self) -> httpx2.Client:
        """A client of ingest."""
        return self._client("ingest")

    @cached_property
    def alerting(self) -> httpx2.Client:
        """A client of alerting."""
        return self._client("alerting")

    def wait(self, is_so: Callable[[], bool]) -> str | None:
        """Return None as soon as ``is_so()`` holds; else what the system did, once it is in vain."""
        return Patience(lambda: [self.supervision.runner()], WAIT_BUDGET_S).wait(is_so)

    def _client(self, name: str) -> httpx2.Client:
        client = httpx2.Client(base_url=self.layout.url(name), timeout=_HTTP_TIMEOUT_S, verify=self._trust)
        self._clients.append(client)
        return client

    @cached_property
    def _trust(self) -> SSLContext:  # not before it is used: `down` needs none
        return self.layout.trust()

    @property
    def processes(self) -> tuple[str, ...]:
        """What runs, in the order of starting."""
        return (*PROCESSES, *OF_ARCHIVE) if self.layout.archives else PROCESSES

    def up(self, report: Report = _silent, *, rebuild: bool = False) -> None:
        """Start what does not run and return when all is ready; changes nothing where all is.

        What is started goes by the variables of this process, also where the system runs already.

        With ``rebuild`` fusion begins anew from the topics, whether it runs or not. Where starting fails, or Ctrl-C
        comes, what was started is stopped again. All that is ready stays up where something `OPTIONAL` does not come
        up, which a `PartlyUpError` says, and where fusion waits for a person, which a `HaltedError` says.
        """
        was_running = self.supervision.is_running
        try:
            self._start_all(report, rebuild=rebuild)
        except PartlyUpError:
            raise
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
        else:
            keep(self.layout.runtime, self.layout.environ(java.home), adds=True)  # for what is started again
        self._start("kafka", report)
        self.wait_ready("kafka", report=report)
        environ = self.layout.environ(java.home)
        names = ["--kafka", self.layout.bootstrap, "--prefix", self.layout.topic_names.prefix]
        _run("topics", ["services.common.topics", *names], environ, report)
        if rebuild:
            self.rebuild(report)
        for name in self.processes[1:]:
            self._start(name, report)
        # while the others start: ingest follows their topic
        _run("sensors", ["services.ingest.registry.seed", "--first"], environ, report)
        self.wait_ready(*self.processes[1:], report=report)

    def rebuild(self, report: Report = _silent) -> None:
        """Have fusion begin anew from the topics, and return when it has been started; the others stay up."""
        self.supervision.stop_process("fusion")  # what is asked for counts from its next start on
        environ = self.layout.environ(find_java().home)
        _run("rebuild", ["spark_jobs.fusion", "--ask-for-rebuild"], environ, report)
        self._start("fusion", report)

    def waiting_detections(self) -> int | None:
        """Return how many records of detections fusion has not read yet; None while nobody knows.

        A `LocalError` where fusion has ended or is halted, so that waiting would be in vain.
        """
        if self.supervision.state("fusion") in {"FATAL", "EXITED"}:
            raise LocalError(f"fusion has ended{self._last_words('fusion')}")
        if halt := self._halt_of("fusion"):
            raise HaltedError(f"fusion is {halt}")
        try:
            told = httpx2.get(f"{self.layout.url('fusion')}/metrics", timeout=2.0, verify=self._trust).text
        except httpx2.HTTPError:
            return None
        for sample in (each for family in text_string_to_metric_families(told) for each in family.samples):
            if sample.name == "coincide_fusion_lag_records" and sample.labels["topic"].endswith("detections"):
                return round(sample.value)
        return None

    def stop(self, names: Sequence[str]) -> None:
        """Stop these processes in order, and leave the others up; `up` starts them again."""
        unknown = sorted(set(names) - set(self.processes))
        if unknown or not names:
            such = f"there is no process {', '.join(unknown)}" if unknown else "say which processes"
            raise LocalError(f'{such}: make stop NAMES="...", of {", ".join(self.processes)}')
        for name in names:
            self.supervision.stop_process(name)

    def down(self) -> list[str]:
        """Stop every process in order and return what had to be killed, a line each; harmless where none runs."""
        for client in self._clients:
            client.close()
        self.supervision.shut_down(4 * self.layout.java_stop_s)  # three with a Java, one by one, and all the others
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

    def is_ready(self, name: str) -> bool:
        """Return whether process ``name`` says that it can do its work.

        A `LocalError` where it shows a certificate that is not believed: waiting helps nobody then.
        """
        if name == "kafka":
            return answers(self.layout.bootstrap)
        answer = self._readiness(name)
        return answer is not None and answer.status_code == httpx2.codes.OK

    def _readiness(self, name: str) -> httpx2.Response | None:
        try:
            return httpx2.get(f"{self.layout.url(name)}/readyz", timeout=2.0, verify=self._trust)
        except httpx2.HTTPError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise LocalError(f"the certificate of {name} is not believed: {error}") from error
            return None

    def _halt_of(self, name: str) -> str | None:
        """Return what ``name`` says while it waits for a person, else None."""
        answer = None if name == "kafka" else self._readiness(name)
        if answer is None or answer.headers.get("content-type") != MEDIA_TYPE:
            return None
        said = str(answer.json()["detail"])
        return said if said.startswith(HALTED) else None

    def wait_ready(self, *names: str, report: Report = _silent) -> None:
        """Return when ``names``, or all processes, are ready; a start is waited for as long as it makes progress.

        A `LocalError` ends with the last lines of a log. A `PartlyUpError` comes once the others are ready: it says
        what does not come up and is `OPTIONAL`, or, as a `HaltedError`, who waits for a person.
        """
        starts = {name: Start(self.supervision, name) for name in names or self.processes}
        halted: dict[str, str] = {}
        missing: dict[str, str] = {}
        while starts:
            for name, start in list(starts.items()):
                state = self.supervision.state(name)
                outcome = ""
                if state == "RUNNING" and self.is_ready(name):
                    outcome = "ready"
                elif why := start.why_over(state):
                    if name not in OPTIONAL:
                        raise LocalError(f"{name} {why}{self._last_words(name)}")
                    outcome, missing[name] = f"NOT ready, {why}", why
                elif halt := self._halt_of(name):
                    outcome, halted[name] = "halted", halt
                report(name, outcome or start.progress)
                if outcome:
                    del starts[name]
            time.sleep(_POLL_S if starts else 0)
        self._tell(halted, missing)

    def _tell(self, halted: Mapping[str, str], missing: Mapping[str, str]) -> None:
        said = [*(f"{name} is {halt}" for name, halt in halted.items()), *map(" ".join, missing.items())]
        if said:
            kind, page = (HaltedError, " (docs/how-to/rebuild.md)") if halted else (PartlyUpError, "")
            words = "".join(self._last_words(name) for name in missing)
            raise kind(f"{'; '.join(said)}. The others are up{page}{words}")

    def _last_words(self, name: str, lines: int = 12) -> str:
        """Return the end of the log of ``name``, as the end of a sentence."""
        log = self.layout.logs / f"{name}.log"
        if not log.exists():
            return f" (it left no log in {log})"
        with log.open(encoding="utf-8", errors="replace") as text:
            return f"; {log} ends with:\n{''.join(deque(text, lines)).rstrip()}"

    def stop_broker(self) -> None:
        """Stop Kafka in order; it stays away until `start_broker`."""
        self.supervision.stop_process("kafka")

    def start_broker(self) -> None:
        """Start Kafka and return when it answers."""
        self.supervision.start_process("kafka")
        self.wait_ready("kafka")

    def status(self) -> dict[str, str]:
        """Return what each process does, by name; the demo's harbour is there once it was started."""
        states = self.supervision.states()
        running = [name for name in OF_ARCHIVE if not states.get(name, "STOPPED").startswith("STOPPED")]
        names = (*PROCESSES, *running)
        status = {name: f"{states[name]}, {self._readiness_word(name)}" for name in names}
        harbour = states.get(HARBOUR, "STOPPED")
        return status if harbour.startswith("STOPPED") else {**status, HARBOUR: harbour}

    def _readiness_word(self, name: str) -> str:
        return "ready" if self.is_ready(name) else self._halt_of(name) or "NOT ready"

    def _start(self, name: str, report: Report) -> None:
        report(name, "starting")
        self.supervision.start_process(name)

    def _refuse_taken_ports(self) -> None:
        for name, port in asdict(self.layout.ports).items():
            if (name not in OF_ARCHIVE or self.layout.archives) and not is_free(port):
                raise LocalError(
                    f"port {port}, wanted by {name}, is in use by {owner_of(port)}: stop that, or choose another port "
                    "(docs/how-to/run-it.md)"
                )

    def _processes(self) -> list[psutil.Process]:
        """Return every process that was started for this layout, orphans of a killed runner included."""
        mine = str(self.layout.runtime)
        return [each for each in psutil.process_iter() if _runtime_of(each) == mine and each.pid != os.getpid()]


def _run(name: str, module: list[str], environ: dict[str, str], report: Report) -> None:
    report(name, "starting")
    run_command(module, environ)
    report(name, "ready")


def _runtime_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("COINCIDE_LOCAL_RUNTIME")
    except (psutil.Error, OSError):
        return None
