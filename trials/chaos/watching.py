"""Memory, handles and disk of each process, watched through a run for growth."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from deploy.host.machine import LocalError
from deploy.local.system import PROCESSES, System

EVERY_S = 5.0
#: What a process does at its start is no growth.
WARM_S = 60.0


@dataclass(frozen=True)
class Sample:
    """One look: seconds since the run began, and the figure."""

    at_s: float
    value: float


@dataclass(frozen=True)
class Growth:
    """How one figure went: first, last, and the slope of a line through all looks."""

    first: float
    last: float
    per_hour: float


@dataclass
class Watch:
    """Looks every `EVERY_S` while `running`; figures by name, such as ``fusion MB``."""

    system: System
    samples: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch while the block runs."""
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _watch(self, ended: threading.Event) -> None:
        begun_s = time.monotonic()
        while not ended.wait(EVERY_S):
            with suppress(psutil.Error, LocalError, OSError):
                for name, value in self._look().items():
                    self.samples[name].append(Sample(time.monotonic() - begun_s, value))

    def _look(self) -> dict[str, float]:
        looked: dict[str, float] = {}
        for name in PROCESSES:
            if pid := self.system.supervision.pid(name):
                family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
                looked[f"{name} MB"] = sum(each.memory_info().rss for each in family) / 1e6
                looked[f"{name} handles"] = sum(each.num_fds() for each in family)
        folders = ("kafka", "state", "database", "logs")
        return looked | {f"{name} on disk MB": _size_mb(self.system.layout.runtime / name) for name in folders}

    def growth(self) -> dict[str, Growth]:
        """Return how each figure went after `WARM_S`, where there were enough looks."""
        settled = {name: [each for each in looks if each.at_s > WARM_S] for name, looks in self.samples.items()}
        return {name: _growth(looks) for name, looks in sorted(settled.items()) if len(looks) > 2}


def _growth(looks: list[Sample]) -> Growth:
    slope, _ = np.polyfit([each.at_s for each in looks], [each.value for each in looks], 1)
    return Growth(looks[0].value, looks[-1].value, float(slope) * 3600)


def _size_mb(folder: Path) -> float:
    """Return what its files take on the disk; a file that goes away meanwhile does not count."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_blocks * 512
    return total / 1e6
