"""What came out of an engine, when, and what the engine's processes used meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import psutil

from benchmarks.harness.rounds import cpu_seconds
from benchmarks.peers_line.load import Integers, pair_numbers
from services.common.kafka.clients import create_consumer
from services.common.kafka.connection import KafkaConnection

EVERY_S = 0.1


@dataclass
class Arrivals:
    """The values that came on a topic, and when; read in the background until `stop`."""

    bootstrap: str
    topic: str
    values: list[bytes] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> Arrivals:
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def _read(self) -> None:
        consumer = create_consumer(KafkaConnection(servers=self.bootstrap), self.topic, fetch_max_wait_ms=100)
        while not self._ended.is_set():
            records = [each.value for of in consumer.poll(100).values() for each in of]
            self.at_s += [time.time()] * len(records)
            self.values += records
        consumer.close()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


class Used(NamedTuple):
    """CPU seconds so far and the most resident memory so far, of an engine's processes together."""

    cpu_s: float
    peak_bytes: int


class Meter:
    """Looks at processes and their children ten times a second, until `stop`; `cpu_s` at these times, `at_s`."""

    def __init__(self, pids: list[int]) -> None:
        self.used = Used(0.0, 0)
        self._pids = pids
        self.at_s, self.cpu_s = list[float](), list[float]()
        self._of_each_s: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Take a reading; what a process used before it ended is kept."""
        resident = 0
        for process in family(self._pids):
            with suppress(psutil.NoSuchProcess):
                self._of_each_s[process.pid] = cpu_seconds(process)
                resident += process.memory_info().rss
        self.used = Used(sum(self._of_each_s.values()), max(self.used.peak_bytes, resident))
        self.at_s.append(time.time())
        self.cpu_s.append(self.used.cpu_s)

    def stop(self) -> Used:
        self._ended.set()
        self._thread.join()
        return self.used


def family(pids: list[int]) -> list[psutil.Process]:
    """Return these processes and all that they started."""
    found: dict[int, psutil.Process] = {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            found |= {each.pid: each for each in (process, *process.children(recursive=True))}
    return list(found.values())


class Answer(NamedTuple):
    """How many pairs came once, are missing, came more than once, and are none."""

    right: int
    missing: int
    again: int
    wrong: int

    @property
    def words(self) -> str:
        """Say "all", or how many are right and what is wrong with the others."""
        faults = {"missing": self.missing, "twice": self.again, "wrong": self.wrong}
        told = [f"{number:,} {fault}" for fault, number in faults.items() if number]
        return ", ".join([f"{self.right:,}", *told]) if told else "all"


def judged(found: Integers, expected: Integers) -> Answer:
    """Compare pairs with those that there are."""
    once = np.unique(found)
    right = int(np.isin(once, expected, assume_unique=True).sum())
    return Answer(right, len(expected) - right, len(found) - len(once), len(once) - right)


def plain_pair(result: Any) -> tuple[int, int, int]:
    """Return both ids and the time of sending of a peer's result."""
    return result["seismic"], result["acoustic"], result["sent"]


def match_pair(match: Any) -> tuple[int, int, int]:
    """Return the same of a match record."""
    ids = {member["role"]: int(member["id"]) for member in match["members"]}
    return ids["seismic"], ids["acoustic"], max(member["attributes"]["sent_us"] for member in match["members"])


def numbers(pairs: Iterable[Sequence[int]]) -> Integers:
    """Return the numbers of pairs that begin with both ids."""
    columns = np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2).T
    return pair_numbers(*columns)


class Steady(NamedTuple):
    """The time from the first tenth of the results to the last one, and the detections of it."""

    from_s: float
    to_s: float
    detections: float

    @classmethod
    def of(cls, at_s: Sequence[float], detections: int) -> Steady:
        """Take the times of all results; as many detections are behind the first tenth as results are."""
        if not at_s:
            return cls(0.0, 0.0, 0.0)
        from_s = at_s[len(at_s) // 10]
        return cls(from_s, at_s[-1], detections * sum(each > from_s for each in at_s) / len(at_s))

    @property
    def per_s(self) -> float:
        """Detections a second; 0 where all came at once."""
        return self.detections / (self.to_s - self.from_s) if self.detections else 0.0

    def cpu_us(self, meter: Meter) -> float:
        """Return the CPU time of one detection."""
        before_s, after_s = np.interp([self.from_s, self.to_s], meter.at_s, meter.cpu_s)
        return float(after_s - before_s) / self.detections * 1e6 if self.detections else 0.0
