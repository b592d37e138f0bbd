"""Runs the fusion job as a person or a process runner would: as a process of its own, with its own topics."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from coincide import Histogram
from coincide.fusion.records.kafka_records import InputRecord
from deploy.host.machine import free_ports
from deploy.jvm.class_archives import class_archives
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from spark_jobs.job.restarts import HALTED
from tests.coincide.fusion.inputs import Row, frame, put
from tests.integration.service_process import ServiceProcess, metric, run_module
from tests.integration.topics import create_declared_topics, read_all, send
from tests.patience import BUDGET_S, until

READY_BUDGET_S = 240.0
TEMPLATE = Histogram.uniform(-1, 1)
START_S = 1_700_000_000
QUERY = {
    "id": "intruder",
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}
PUT_QUERY = put(0, QUERY)


class FusionProcess(ServiceProcess):
    """The job on ``bootstrap``, the topics that begin with ``prefix``, and a checkpoint in ``folder``."""

    ends_within_s = 60.0

    def __init__(self, bootstrap: str, prefix: str, folder: Path, settings: Mapping[str, Any]) -> None:
        [self.port] = free_ports(1)
        self.bootstrap, self.prefix, self.folder, self.settings = bootstrap, prefix, folder, settings
        self.log = folder / "fusion.log"
        self.checkpoint = folder / "checkpoint"
        self.java = find_java()

    def start(self, *arguments: str, **settings: Any) -> None:
        archive = class_archives(self.java.home).spark
        own = {
            "kafka": {"servers": self.bootstrap},
            "topic_prefix": self.prefix,
            "checkpoint_path": str(self.checkpoint),
            "jars_path": str(ensure_jars(self.java).spark),
            **({"class_archive_path": str(archive)} if archive.is_file() else {}),
            "port": self.port,
            "lag_interval_s": 0.5,
            **self.settings,
            **settings,
        }
        home = str(self.java.home)
        self.process = run_module("spark_jobs.fusion", self.log, "fusion", own, arguments, JAVA_HOME=home)

    def start_and_wait(self, *arguments: str) -> None:
        self.start(*arguments)
        self.wait_ready()

    def wait_ready(self) -> None:
        self.until(lambda: self.is_ready() or not self.is_running(), READY_BUDGET_S)
        assert self.is_ready(), self.tail()

    def until(self, condition: Callable[[], bool], budget_s: float = BUDGET_S) -> None:
        """Poll `condition`; fails with the end of the log where waiting is in vain."""
        until(condition, budget_s, every_s=0.3, tell=self.tail)

    def is_running(self) -> bool:
        return self.process.poll() is None

    def is_ready(self) -> bool:
        return self.status_of("/readyz") == 200

    def is_halted(self) -> bool:
        return self.why_not_ready().startswith(HALTED)

    def halted(self) -> str:
        """Wait until it cannot go on alone, and return what it says then; it names no path."""
        self.until(self.is_halted, READY_BUDGET_S)
        said = self.why_not_ready()
        assert self.status_of("/readyz") == 503
        assert self.status_of("/livez") == 200
        assert str(self.folder) not in said
        return said.removeprefix(HALTED)

    def why_not_ready(self) -> str:
        """Return what /readyz says; nothing where it is ready, or does not answer."""
        if self.status_of("/readyz") != 503:
            return ""
        said: str = self.call("GET", "/readyz").json().get("detail", "")
        return said

    def metric(self, sample: str) -> float | None:
        return metric(self.url, sample)

    def family(self) -> list[psutil.Process]:
        """Return the process and all that it started: Java and Python workers."""
        return [self.process, *self.process.children(recursive=True)]

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def send(self, topic: str, records: Iterable[InputRecord]) -> None:
        send(self.bootstrap, self.prefix + topic, [(record.key or b"", record.value or b"") for record in records])

    def read_all(self, topic: str) -> list[dict[str, Any]]:
        return read_all(self.bootstrap, self.prefix + topic)

    def matched(self) -> list[str]:
        """Return what matched, by the seismic member's id, with every repetition, sorted by number."""
        members = [match["members"][0]["id"] for match in self.read_all("matches")]
        return sorted(members, key=lambda name: int(name.split("-")[1]))


@contextmanager
def fusion_job(bootstrap: str, prefix: str, folder: Path, **settings: Any) -> Iterator[FusionProcess]:
    """Create its topics and yield the job, not started yet; leave nothing behind, whatever state it is in."""
    create_declared_topics(bootstrap, prefix)
    job = FusionProcess(bootstrap, prefix, folder, settings)
    try:
        yield job
    finally:
        end(job.family() if hasattr(job, "process") and job.is_running() else [])


def end(family: list[psutil.Process]) -> None:
    for member in family:
        if member.is_running():
            member.kill()
    psutil.wait_procs(family, 30)


def seismic(numbers: Iterable[int], areas: int = 16) -> list[InputRecord]:
    """Return frames of one seismic detection each, a second apart, certain to a second either way."""
    return [_frame("seismic", number, 0.0, areas) for number in numbers]


def acoustic(numbers: Iterable[int], areas: int = 16) -> list[InputRecord]:
    """Return the frames that give one match with each of `seismic`'s: half a second later."""
    return [_frame("acoustic", number, 0.5, areas) for number in numbers]


def _frame(stream: str, number: int, later_s: float, areas: int) -> InputRecord:
    row = Row(f"{stream}-{number}", START_S + number + later_s, TEMPLATE, stream, f"sensor-{stream}")
    return frame(number, [row], f"area-{number % areas}", received_at_s=row.at_s + 0.001)
