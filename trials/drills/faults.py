"""What is done to the system, how it is undone, and which alert and which panel should say so."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from signal import SIGCONT, SIGSTOP

import psutil

from deploy.local.system import System
from trials.drills.gateways import SENSORS, Gateways, put_query

GREEDY = "drill-greedy"
LOOKS_EVERY_S = 0.1


@dataclass
class Line:
    """What faults are done to."""

    system: System
    gateways: Gateways
    frozen: "FrozenWorkers" = field(init=False)

    def __post_init__(self) -> None:
        self.frozen = FrozenWorkers(self.system)


class FrozenWorkers:
    """Stops each Python worker of fusion as soon as it is there, so that a batch begins and none ends."""

    def __init__(self, system: System) -> None:
        self._system, self._over = system, threading.Event()
        self._stopper: threading.Thread | None = None

    def freeze(self) -> None:
        """Begin, with the workers of the fusion job that is started next."""
        self._over.clear()
        self._stopper = threading.Thread(target=self._stop_all, daemon=True)
        self._stopper.start()

    def thaw(self) -> None:
        """Let all of them go on."""
        self._over.set()
        if self._stopper is not None:
            self._stopper.join()
        for worker in self._workers():
            worker.send_signal(SIGCONT)

    def _stop_all(self) -> None:
        while not self._over.wait(LOOKS_EVERY_S):
            for worker in self._workers():
                with suppress(psutil.Error):
                    worker.send_signal(SIGSTOP)

    def _workers(self) -> list[psutil.Process]:
        try:
            below = psutil.Process(self._system.supervision.pid("fusion")).children(recursive=True)
            return [each for each in below if any("pyspark" in part for part in each.cmdline())]
        except psutil.Error:
            return []


@dataclass(frozen=True)
class Fault:
    """One fault: `cause` returns at once or when it is done, `cure` when it has begun to be undone."""

    name: str
    cause: Callable[[Line], object]
    cure: Callable[[Line], object]
    alert: str
    panel: str
    also: frozenset[str] = frozenset()  # alerts that say the same by another way


#: What Coincide says of the same by itself, to those who have no Prometheus.
STALLED, SUSPENDED = frozenset({"line_stalled"}), frozenset({"query_suspended"})


def _stop(name: str) -> Callable[[Line], object]:
    return lambda line: line.system.supervision.stop_process(name)


def _start(name: str) -> Callable[[Line], object]:
    return lambda line: line.system.supervision.start_process(name)


def _never_first_batch(line: Line) -> None:
    line.system.supervision.stop_process("fusion")
    line.frozen.freeze()
    line.system.supervision.start_process("fusion")


FAULTS = [
    Fault("fusion stopped", _stop("fusion"), _start("fusion"), "CoincideComponentDown", "Up", STALLED),
    Fault("Kafka stopped", _stop("kafka"), _start("kafka"), "CoincideKafkaAway", "Up"),
    Fault("alerting stopped", _stop("alerting"), _start("alerting"), "CoincideComponentDown", "Up"),
    Fault(
        "a sensor is silent",
        lambda line: line.gateways.silent.add(SENSORS[-1]),
        lambda line: line.gateways.silent.clear(),
        "sensor_silent",
        "Silent sensors",
    ),
    Fault(
        "a query is suspended",
        lambda line: put_query(line.system, GREEDY, limits={"max_matches_per_s": 1}),
        lambda line: put_query(line.system, GREEDY),
        "CoincideQuerySuspended",
        "Suspended queries",
        SUSPENDED,
    ),
    Fault(
        "fusion never ends its first batch",
        _never_first_batch,
        lambda line: line.frozen.thaw(),
        "CoincideFusionFirstBatchMissing",
        "Ready",
        STALLED,
    ),
]
