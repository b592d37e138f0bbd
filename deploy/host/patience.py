"""Waiting for processes as long as they make progress: by their processor time, not by the clock on the wall.

A busy machine is slow, and that is no failure.  So a wait ends in vain only where a process that is waited for ended,
where the family of processes has used its budget of processor time, or where it has done nothing for a while.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from deploy.host.machine import LocalError

#: The family does nothing below this share of a core: an idle JVM, or an idle server, takes less.
IDLE_SHARE = 0.02
#: Nor does it below so many bytes read from disks and written to them: one that swaps or reads jars moves more.
IDLE_BYTES = 1 << 20
#: Of processor time, until a process that is suspended stands still.
STOP_BUDGET_S = 60.0
#: A look costs some milliseconds.
LOOK_EVERY_S = 1.0


class Reading(NamedTuple):
    """What one process has used since it began."""

    pid: int
    parent_pid: int
    cpu_s: float  # by itself
    children_s: float  # by its children that ended, and theirs, once it has waited for them
    disk_bytes: int
    is_over: bool = False  # it has ended, and its parent has not noticed yet
    gave_way_s: float = 0.0  # how long those of its threads that give way to all others have waited for a core

    @property
    def all_s(self) -> float:
        """What its parent is given when it ends."""
        return self.cpu_s + self.children_s


_NOTHING = Reading(0, 0, 0.0, 0.0, 0)


def readings(roots: Iterable[psutil.Process]) -> dict[psutil.Process, Reading]:
    """Return a reading of each of ``roots`` and of all their descendants; those that are gone are left out."""
    found: dict[psutil.Process, Reading] = {}
    for root in roots:
        with suppress(psutil.Error):
            for process in () if root in found else (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    found[process] = _reading(process)
    return found


def _reading(process: psutil.Process) -> Reading:
    with process.oneshot():
        times = process.cpu_times()
        disk_bytes = 0
        with suppress(psutil.Error, AttributeError):  # not ours to see, or not known here (macOS)
            disk = process.io_counters()
            disk_bytes = disk.read_bytes + disk.write_bytes
        return Reading(
            process.pid,
            process.ppid(),
            times.user + times.system,
            times.children_user + times.children_system,
            disk_bytes,
            process.status() == psutil.STATUS_ZOMBIE,
            _gave_way_s(process.pid),
        )


def _gave_way_s(pid: int) -> float:
    """Return 0 where the system does not tell: only Linux says how long a thread was ready and got no core."""
    waited_ns = 0
    with suppress(OSError, AttributeError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if os.sched_getscheduler(int(thread.name)) == os.SCHED_IDLE:
                waited_ns += int((thread / "schedstat").read_text(encoding="ascii").split()[1])
    return waited_ns / 1e9


class Spent(NamedTuple):
    """What a family used between two looks."""

    cpu_s: float
    disk_bytes: int
    gave_way_s: float  # a run over history works for hours like this on a machine whose cores others keep busy


def spent(before: Mapping[Any, Reading], after: Mapping[Any, Reading]) -> Spent:
    """Return what a family used.

    What a process had used until it ended is not counted again where its parent is given it.
    """
    by_pid = {reading.pid: (process, reading) for process, reading in before.items()}
    given_s: dict[int, float] = {}  # by pid of the nearest ancestor that lives
    for process in before.keys() - after.keys():
        heir = before[process].parent_pid
        while heir in by_pid and by_pid[heir][0] not in after:
            heir = by_pid[heir][1].parent_pid
        given_s[heir] = given_s.get(heir, 0.0) + before[process].all_s
    cpu_s, disk_bytes, gave_way_s = 0.0, 0, 0.0
    for process, now in after.items():
        then = before.get(process, _NOTHING)
        cpu_s += max(0.0, now.cpu_s - then.cpu_s)
        cpu_s += max(0.0, now.children_s - then.children_s - given_s.get(now.pid, 0.0))
        disk_bytes += max(0, now.disk_bytes - then.disk_bytes)
        gave_way_s += max(0.0, now.gave_way_s - then.gave_way_s)
    return Spent(cpu_s, disk_bytes, gave_way_s)


def crowding() -> float:
    """Return how many want each core of this machine, at least 1; so slow is one that works as fast as it may."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Patience:
    """One wait at a time for processes; ``families`` names those waited for, anew for each look.

    All their descendants count too.  `why_over` says why there is no point in waiting any longer.
    """

    def __init__(
        self,
        families: Callable[[], Iterable[psutil.Process]],
        budget_s: float,
        idle_s: float = 30.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        look: Callable[[Iterable[psutil.Process]], Mapping[Any, Reading]] = readings,
        crowded: Callable[[], float] = crowding,
    ) -> None:
        self._families, self._budget_s, self._idle_s = families, budget_s, idle_s
        self._clock, self._sleep, self._look, self._crowded = clock, sleep, look, crowded

    def begin(self) -> None:
        """Count from now on."""
        self.used_s = 0.0
        self._why: str | None = None
        self._dead: set[Any] = set()
        self._seen = self._look(list(self._families()))
        self._looked_at_s = self._alive_at_s = self._clock()
        self._since_alive_s, self._since_alive_bytes = 0.0, 0

    def wait(self, condition: Callable[[], bool], every_s: float = 0.1) -> str | None:
        """Begin, and return None as soon as ``condition()`` holds; else what the processes did, once it is in vain."""
        if condition():
            return None
        self.begin()
        while not condition():
            if why := self.why_over():
                return None if condition() else why
            self._sleep(every_s)
        return None

    def why_over(self) -> str | None:
        """Return what the processes did that ends the wait, as the end of a sentence; None while it may go on."""
        now_s = self._clock()
        if self._why is None and now_s - self._looked_at_s >= LOOK_EVERY_S:
            self._looked_at_s = now_s
            self._why = self._what_ends_it(now_s)
        return self._why

    def _what_ends_it(self, now_s: float) -> str | None:
        ended = self._take()
        if self._is_alive():
            self._alive_at_s, self._since_alive_s, self._since_alive_bytes = now_s, 0.0, 0
        if ended:
            return "ended"
        if self.used_s >= self._budget_s:
            return f"used {self.used_s:.0f} s of processor time"
        idle_s = now_s - self._alive_at_s
        return f"did nothing for {idle_s:.0f} s" if idle_s >= self._idle_s else None

    def _take(self) -> bool:
        """Take a look, and return whether a process has ended, and is named still at the look after that."""
        roots = set(self._families())
        seen = self._look([*roots, *self._seen])  # those too whose parent ended
        used = spent(self._seen, seen)
        dead = {root for root in roots if root not in seen or seen[root].is_over}
        ended = dead & self._dead
        self._dead, self._seen = dead, seen
        self.used_s += used.cpu_s
        self._since_alive_s += used.cpu_s + used.gave_way_s
        self._since_alive_bytes += used.disk_bytes
        return bool(ended)

    def _is_alive(self) -> bool:
        share_s = IDLE_SHARE * self._idle_s / self._crowded()
        return self._since_alive_s >= share_s or self._since_alive_bytes >= IDLE_BYTES


def suspend(process: psutil.Process) -> None:
    """Hang it, and return when none of its threads moves any more: the signal takes a while on a busy machine."""
    process.suspend()
    threads = Path(f"/proc/{process.pid}/task")
    if why := Patience(lambda: [process], STOP_BUDGET_S).wait(lambda: all(map(_stands_still, threads.iterdir()))):
        raise LocalError(f"process {process.pid} was to stand still, and {why}")


def _stands_still(thread: Path) -> bool:
    try:
        return "\tT (stopped)" in (thread / "status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return True
