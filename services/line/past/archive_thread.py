"""ArchiveThread: has the archive written now and then, where the log has what it has not."""

from __future__ import annotations

import logging
import threading

from services.common.backoff import Backoff
from services.common.log.faults import LogError
from services.common.log.log import Log
from services.line.past.archive_position import read_position
from services.line.past.second_process import SecondProcess, WorkerDiedError
from services.line.past.task import Task

log = logging.getLogger(__name__)

PAUSES_S = (5.0, 300.0)
STOP_TIMEOUT_S = 10.0


class ArchiveThread(threading.Thread):
    """Begins at once, and then looks every `interval_s`; what fails is told, and tried again."""

    def __init__(self, task: Task, detections: str, records: Log, process: SecondProcess) -> None:
        super().__init__(name="archive", daemon=True)
        self._task, self._detections, self._records, self._process = task, detections, records, process
        self._stopping = threading.Event()
        self._problem: str | None = None

    def why_not_ready(self) -> str | None:
        """Return why detections are not archived; None where they are."""
        return self._problem

    def stop(self) -> None:
        """End what is at work; blocks for a bounded time."""
        self._stopping.set()
        if self.is_alive():
            self.join(STOP_TIMEOUT_S)

    def run(self) -> None:
        """Look, and have it written, until stopped."""
        backoff = Backoff(*PAUSES_S)
        while not self._stopping.is_set():
            try:
                if self._is_behind():
                    self._process.do(self._task, self._stopping.is_set)
                self._problem = None
                backoff.start_over()
                self._stopping.wait(self._task.archiving_settings.interval_s)
            except (LogError, WorkerDiedError, OSError) as error:
                if str(error) != self._problem:
                    log.warning("the archive is not written: %s", error)
                self._problem = str(error)
                self._stopping.wait(backoff.next_s())

    def _is_behind(self) -> bool:
        position = read_position(self._task.archive_path)
        with self._records.reader() as reader:
            ends = reader.ends(reader.partitions_of(self._detections))
        written = {} if position is None else position.offsets
        return any(end > written.get(each.partition, 0) for each, end in ends.items())
