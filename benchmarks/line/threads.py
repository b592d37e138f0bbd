"""CPU time of the running line by process, and within a process by thread, as Linux names them.

A Java process names its threads, so that tasks, planning and compiler can be told apart. Of a Python process the main
thread, which runs the event loop, is told from all others. Time of threads that end while we watch counts as the rest
of their process: Spark has such threads for each batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.line.whole_line import PROCESSES
from deploy.local.system import System

INGEST, PRODUCER = "ingest: event loop", "ingest: Kafka client"
JVM, WORKER, DRIVER = "fusion: JVM", "fusion: Python worker", "fusion: driver"
FOLLOWER, LIVE = "alerting: follower", "alerting: event loop"
KAFKA = "kafka"

REST = "the rest"
JAVA_THREADS = {
    "Executor task": "tasks: read, Arrow, state store, sink",
    "stdout writer": "tasks: read, Arrow, state store, sink",
    "kafka-producer": "the sink's Kafka client",
    "stream execution": "planning, offset and commit logs",
    "kafka-admin": "newest offsets",
    "Thread-": "calls from Python",
    "C1 Compiler": "compiler",
    "C2 Compiler": "compiler",
    "VM Thread": "garbage collection",
    "GC Thread": "garbage collection",
    "data-plane-kafka": "requests: produce, fetch",
}
NAME_CHARACTERS = 15
"""Linux cuts the names of threads."""


class Part(NamedTuple):
    """A process, and what some of its threads do."""

    process: str
    what: str = REST


class Sample(NamedTuple):
    """CPU seconds so far: of each process, and of each thread that lives, by process id and thread id."""

    processes: Mapping[int, tuple[Part, float]]
    threads: Mapping[tuple[int, int], tuple[Part, float]]


def sample(system: System) -> Sample:
    """Return what the processes of the system have used so far."""
    processes: dict[int, tuple[Part, float]] = {}
    threads: dict[tuple[int, int], tuple[Part, float]] = {}
    for process, part_of in _processes(system):
        used_s = sum(process.cpu_times()[:4])  # with that of the processes that it started and saw end
        processes[process.pid] = part_of(process.pid, ""), used_s
        for thread in process.threads():
            part = part_of(thread.id, _name(process.pid, thread.id))
            threads[process.pid, thread.id] = part, thread.user_time + thread.system_time
    return Sample(processes, threads)


def spent_s(before: Sample, after: Sample) -> Mapping[Part, float]:
    """Return CPU seconds between two samples, by part."""
    spent, known = defaultdict[Part, float](float), defaultdict[int, float](float)
    for (pid, thread), (part, used_s) in after.threads.items():
        more_s = used_s - before.threads.get((pid, thread), (part, 0.0))[1]
        spent[part] += more_s
        known[pid] += more_s
    for pid, (part, used_s) in after.processes.items():
        spent[part] += used_s - before.processes.get(pid, (part, 0.0))[1] - known[pid]
    return spent


def _processes(system: System) -> list[tuple[psutil.Process, Callable[[int, str], Part]]]:
    """Return every process of the system with what tells the part of its threads, by id and name."""
    firsts = {name: psutil.Process(system.supervision.pid(name)) for name in PROCESSES}
    return [
        (process, _parts(name, first.pid, process))
        for name, first in firsts.items()
        for process in (first, *first.children(recursive=True))
    ]


def _parts(name: str, first: int, process: psutil.Process) -> Callable[[int, str], Part]:
    pid = process.pid
    if "java" in process.name():
        return lambda _, thread: Part(KAFKA if name == "kafka" else JVM, what_java_does(thread))
    if name == "ingest":
        return lambda thread, _: Part(INGEST if thread == pid else PRODUCER)
    if name == "alerting":
        return lambda thread, _: Part(LIVE if thread == pid else FOLLOWER)
    return lambda *_: Part(DRIVER if pid == first else WORKER)


def what_java_does(thread: str) -> str:
    for name, what in JAVA_THREADS.items():
        if thread.startswith(name[:NAME_CHARACTERS]):
            return what
    return REST


def _name(pid: int, thread: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/comm").read_text().strip()
    except OSError:  # it has ended
        return ""
