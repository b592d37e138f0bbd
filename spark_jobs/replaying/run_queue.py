"""RunQueue: runs that wait, the one at work, and those that are kept; what is asked twice is done once."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spark_jobs.replaying.request import RunError, RunRequest
from spark_jobs.replaying.results import Reporter, RunFolder

logger = logging.getLogger(__name__)

MOST_WAITING = 20
SETTLED_US = 600_000_000  # after its end a range has all that was late, and the archive has it
UNFINISHED = ("queued", "running")

Execute = Callable[[RunRequest, Reporter], object]


class QueueFullError(Exception):
    """Too many runs wait."""


class RunQueue:
    """Does one run at a time, in the order of asking, in a thread of its own; safe for many threads.

    Every run has a folder below `path`. Beyond `most_kept` runs that have ended the oldest are deleted. Runs that were
    not done when the process ended are done by the next one.
    """

    def __init__(self, path: Path, execute: Execute, most_kept: int) -> None:
        self._path, self._execute, self._most_kept = path, execute, most_kept
        self._lock = threading.Condition()
        self._waiting: dict[str, RunRequest] = {}
        self._cancelled: set[str] = set()
        self._at_work: str | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="runs", daemon=True)

    def start(self) -> None:
        """Begin with the runs that were not done."""
        for summary in reversed(list(self.summaries())):
            if summary["state"] in UNFINISHED:
                self._waiting[summary["run"]] = RunRequest.from_json(summary["request"])
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """End the run at work; it stays unfinished, for the next process."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        self._thread.join(timeout_s)

    def submit(self, request: RunRequest) -> tuple[dict[str, Any], bool]:
        """Return what is known of the run, and whether it is new.

        One that failed or was cancelled is done again, and so is one that began less than `SETTLED_US` after its range.
        """
        with self._lock:
            known = self.summary(request.id)
            if known is not None and (known["state"] in UNFINISHED or _is_final(known)):
                return known, False
            if len(self._waiting) >= MOST_WAITING:
                raise QueueFullError(f"{MOST_WAITING} runs wait already")
            self._waiting[request.id] = request
            summary = Reporter(self.folder(request.id), request, lambda: False).tell("queued", progress=0.0)
            self._lock.notify_all()
            return summary, True

    def folder(self, run: str) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder(self._path / run)

    def summary(self, run: str) -> dict[str, Any] | None:
        """Return what is known of a run; None if there is none."""
        try:
            return self.folder(run).summary()
        except RunError:
            return None

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
            if run == self._at_work:
                self._cancelled.add(run)  # deleted once it has ended
            else:
                self._forget(run)
            return True

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._waiting and not self._stopping:
                    self._lock.wait()
                if self._stopping:
                    return
                self._at_work, request = next(iter(self._waiting.items()))
                del self._waiting[self._at_work]
            self._do(request)
            with self._lock:
                if request.id in self._cancelled:
                    self._cancelled.discard(request.id)
                    self._forget(request.id)
                self._at_work = None
                if not self._stopping:
                    self._forget_oldest()

    def _do(self, request: RunRequest) -> None:
        reporter = Reporter(self.folder(request.id), request, lambda: request.id in self._cancelled or self._stopping)
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
        for run in ended[self._most_kept :]:
            self._forget(run)

    def _forget(self, run: str) -> None:
        shutil.rmtree(self.folder(run).path, ignore_errors=True)


def _is_final(summary: dict[str, Any]) -> bool:
    """Whether the answer to the same request would be the same: all that it asks of was there by then."""
    return bool(summary["state"] == "done" and summary["started_at_us"] >= summary["request"]["to_us"] + SETTLED_US)
