"""RunQueue: runs that wait, the one at work, and those that are kept; what is asked twice is done once."""

from __future__ import annotations

import logging
import math
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from services.common.clock import Clock, system_clock_us
from services.history.replaying.request import AnyRequest, RunError, request_in
from services.history.replaying.run_folder import Reporter, RunFolder

logger = logging.getLogger(__name__)

MOST_WAITING = 20
MOST_WAITING_OF_ONE = MOST_WAITING // 2
SETTLED_US = 600_000_000  # after its end a range has all that was late, and the archive has it
FRESH_US = 60_000_000  # so long an answer over a range that is not settled serves whoever asks the same again
UNFINISHED = ("queued", "running")
STATES = (*UNFINISHED, "done", "cancelled", "failed")

Execute = Callable[[AnyRequest, Reporter], object]
ArchiveState = Callable[[AnyRequest], str | None]
"""A name for what the archive has of a request's range; None where the run does not read it."""


class QueueFullError(Exception):
    """Too many runs wait."""


class Kept(NamedTuple):
    """How many runs that have ended are kept, and how many bytes their folders have together; the newest one stays."""

    runs: int
    bytes: float = math.inf


class RunQueue:
    """Does one run at a time in a thread of its own: in the order of asking, but those that count only go first.

    Every run has a folder below `path`. Beyond what is `kept` the oldest runs that have ended are deleted. Runs that
    were not done when the process ended are done by the next one. Safe for many threads.
    """

    def __init__(
        self,
        path: Path,
        execute: Execute,
        kept: Kept,
        archive_state: ArchiveState = lambda _request: None,
        clock_us: Clock = system_clock_us,
    ) -> None:
        self._path, self._execute, self._kept, self._clock_us = path, execute, kept, clock_us
        self._archive_state = archive_state
        self._lock = threading.Condition()
        self._waiting: dict[str, AnyRequest] = {}
        self._asked_by: dict[str, str] = {}  # of those that wait; a restart forgets it
        self._askers: dict[str, int] = {}  # how often each was asked for, less those that left; a restart forgets it
        self._cancelled: set[str] = set()  # the one at work, if somebody has cancelled it
        self._anew: dict[str, dict[str, Any]] = {}  # what is said of it where it was asked for again meanwhile
        self._at_work: str | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="runs", daemon=True)

    def start(self) -> None:
        """Begin with the runs that were not done."""
        for summary in reversed(list(self.summaries())):
            if summary["state"] in UNFINISHED:
                self._take_up(summary)
        self._thread.start()

    def _take_up(self, summary: Mapping[str, Any]) -> None:
        """Let a run wait again that a process left, unless somebody cancelled it, or nobody can read what it asks."""
        folder = self.folder(summary["run"])
        if folder.is_cancelled:
            self._forget(summary["run"])
            return
        folder.sweep()
        try:
            self._waiting[summary["run"]] = request_in(summary["request"])
        except RunError as error:
            logger.warning("run %s cannot be begun anew: %s", summary["run"], error)
            folder.tell({**summary, "state": "failed", "error": f"the run cannot be begun anew: {error}"})

    def stop(self, timeout_s: float) -> bool:
        """End the run at work, and return whether it ended in time; it stays unfinished, for the next process."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def submit(self, request: AnyRequest, key: str | None = None) -> tuple[dict[str, Any], bool]:
        """Return what is known of the run, and whether it is new; of those that wait, at most half are of one `key`.

        One that failed or was cancelled is done again, even before the one that is cancelled has ended. So is one whose
        answer is no longer fresh, and may have become another: the archive has more of its range by now, or the run
        read the topic and began less than `SETTLED_US` after its range, or before all evidence was told.
        """
        with self._lock:
            is_dying = request.id in self._cancelled
            known = None if is_dying and request.id not in self._anew else self.summary(request.id)
            if known is not None and (known["state"] in UNFINISHED or self._still_serves(request, known)):
                self._note_asker(request.id, known)
                return known, False
            if len(self._waiting) >= MOST_WAITING:
                raise QueueFullError(f"{MOST_WAITING} runs wait already")
            if key is not None:
                self._note_asked_by(request, key)
            self._note_asker(request.id, known)
            self._waiting[request.id] = request
            reporter = Reporter(self.folder(request.id), request, lambda: False)
            summary = (reporter.summary if is_dying else reporter.tell)("queued", progress=0.0)
            self._anew |= {request.id: summary} if is_dying else {}
            self._lock.notify_all()
            return self._with_ahead(summary), True

    def _note_asker(self, run: str, known: Mapping[str, Any] | None) -> None:
        """Count who asks for a run; who asked for a known one before this process began counts as one."""
        self._askers[run] = self._askers.get(run, 0 if known is None else 1) + 1

    def _note_asked_by(self, request: AnyRequest, key: str) -> None:
        self._asked_by = {run: each for run, each in self._asked_by.items() if run in self._waiting}
        if list(self._asked_by.values()).count(key) >= MOST_WAITING_OF_ONE:
            raise QueueFullError(f"{MOST_WAITING_OF_ONE} of the runs that wait are of this key, the most it may have")
        self._asked_by[request.id] = key

    def _still_serves(self, request: AnyRequest, summary: Mapping[str, Any]) -> bool:
        """Whether the answer is the one that the same request would get now, or would have got a moment ago."""
        if summary["state"] != "done":
            return False
        if self._clock_us() - summary["told_at_us"] < FRESH_US:
            return True
        state = self._archive_state(request)
        if state is None:
            is_settled = summary["started_at_us"] >= request.to_us + SETTLED_US
            return bool(is_settled and not summary.get("evidence_to_come"))
        return bool(summary.get("archive_state") == state)

    def folder(self, run: str) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder(self._path / run)

    def summary(self, run: str) -> dict[str, Any] | None:
        """Return what is known of a run, and of one that waits how many go first; None if there is none."""
        try:
            return self._with_ahead(self._anew.get(run) or self.folder(run).summary())
        except RunError:
            return None

    def _with_ahead(self, summary: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            turns = self._turns()
            if summary["run"] not in turns:
                return summary
            return {**summary, "ahead": turns.index(summary["run"]) + (self._at_work is not None)}

    def _turns(self) -> list[str]:
        """Return the runs that wait, in the order in which they are done."""
        return sorted(self._waiting, key=lambda run: self._waiting[run].keeps_matches)

    def summaries(self) -> Iterator[dict[str, Any]]:
        """Yield what is known of all runs, those that began last first."""
        found = [said for path in self._path.glob("r-*") if (said := self.summary(path.name)) is not None]
        yield from sorted(found, key=lambda said: (-said["started_at_us"], said["run"]))

    def delete(self, run: str) -> bool:
        """Cancel a run and delete its results; return whether there was such a run."""
        with self._lock:
            if self.summary(run) is None:
                return False
            self._waiting.pop(run, None)
            self._anew.pop(run, None)
            self._askers.pop(run, None)
            if run == self._at_work and self.folder(run).summary()["state"] in UNFINISHED:
                self.folder(run).note_cancelled()
                self._cancelled.add(run)  # deleted once it has ended
            else:
                self._forget(run)
            return True

    def leave(self, run: str) -> bool:
        """Take back one asking for a run, and delete it with the last one; return whether it was deleted.

        One that was asked for before this process began stays, since nobody knows by how many.
        """
        with self._lock:
            left = self._askers.get(run, 2) - 1
            if run in self._askers:
                self._askers[run] = left
            return left == 0 and self.delete(run)

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._waiting and not self._stopping:
                    self._lock.wait()
                if self._stopping:
                    return
                self._at_work = self._turns()[0]
                request = self._waiting.pop(self._at_work)
            self._do(request)
            with self._lock:
                if request.id in self._cancelled:
                    self._cancelled.discard(request.id)
                    self._forget(request.id)
                    if (anew := self._anew.pop(request.id, None)) is not None:
                        self.folder(request.id).tell(anew)
                self._at_work = None
                if not self._stopping:
                    self._forget_oldest()

    def _do(self, request: AnyRequest) -> None:
        reporter = Reporter(self.folder(request.id), request, lambda: request.id in self._cancelled or self._stopping)
        reporter.archive_state = self._archive_state(request)
        try:
            self._execute(request, reporter)
        except RunError as error:
            logger.info("run %s failed: %s", request.id, error)
        except Exception:
            logger.exception("run %s failed", request.id)
            reporter.tell("failed", error="an error that nobody expected; the log of the process has it")
        if self._stopping and request.id not in self._cancelled:
            reporter.tell("queued", progress=0.0)

    def _forget_oldest(self) -> None:
        ended = [said["run"] for said in self.summaries() if said["state"] not in UNFINISHED]
        size = 0
        for nth, run in enumerate(ended):
            size += self.folder(run).size
            if nth > 0 and (nth >= self._kept.runs or size > self._kept.bytes):
                self._forget(run)

    def _forget(self, run: str) -> None:
        if run not in self._anew:
            self._askers.pop(run, None)
        shutil.rmtree(self.folder(run).path, ignore_errors=True)


class RunStates(Collector):
    """Runs by state, as a metric; they are counted when Prometheus asks."""

    def __init__(self, queue: RunQueue) -> None:
        self._queue = queue

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield how many runs there are in each state."""
        runs = GaugeMetricFamily("coincide_history_runs", "Runs that are kept, by state.", labels=["state"])
        states = Counter(said["state"] for said in self._queue.summaries())
        for state in STATES:
            runs.add_metric([state], states[state])
        yield runs
