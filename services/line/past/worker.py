"""The second process: writes the archive, does a run if it was told of one, and ends; or it ends with the line."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import json

from coincide.wire.declarations.template_proposal import PROPOSALS, TemplateProposal
from services.common.local_log.local_log import LocalLog
from services.common.log.faults import LogError
from services.common.log.records import NewRecord
from services.common.operations import configure_logs
from services.common.program.skeleton import exit_status
from services.common.settings import SettingsError, load_streams
from services.common.topics.topic_names import TopicNames
from services.history.archiving.folders import Archive
from services.history.idle_work import yield_to_live_work
from services.history.replaying.past import Past
from services.history.replaying.request import AnyRequest, RunError, request_in
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.replaying.staff import Processes
from services.history.rows.topic_records import TopicRecords
from services.history.runs.doing import do_run
from services.line.past.archive_writer import ArchiveWriter
from services.line.past.task import Task

PATIENCE_S = 30.0  # for a record that is there
APPEND_TIMEOUT_S = 30.0
STDIN, READ_BYTES = 0, 65_536
TIDIED_EVERY_S = 86_400.0  # the line itself tidies


def main() -> int:
    """Do the task of standard input; return the exit status, after one sentence if something was wrong."""
    task = json.decode(_line_of_input(), type=Task)
    threading.Thread(target=_end_with_line, daemon=True).start()
    yield_to_live_work()
    configure_logs()
    return exit_status("past", partial(_do, task), LogError, RunError)


def _end_with_line() -> None:
    """End at once where whoever gave the task is gone, or wants it no more."""
    while os.read(STDIN, READ_BYTES):
        pass
    os._exit(1)


def _line_of_input() -> bytes:
    """Return the only line; a buffered stream would be locked by the thread that goes on reading, also at the end."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(STDIN, READ_BYTES)):
        line += more
    return line


def _do(task: Task) -> None:
    log = LocalLog(Path(task.log_path), tidied_every_s=TIDIED_EVERY_S)
    try:
        work = _Work(task, log)
        if task.request is None:
            work.archived()
        else:
            work.run(request_in(task.request))
    finally:
        log.close()


class _Work:
    """What a task means over a log."""

    def __init__(self, task: Task, log: LocalLog) -> None:
        self._task, self._log, self._names = task, log, TopicNames(task.topic_prefix)

    def archived(self) -> Archive:
        """Bring the archive to where the log is now, and return it."""
        settings = self._task.archiving_settings
        archive = Archive.opened(self._task.archive_path, settings.area_hashes)
        with self._opened("detections") as detections:
            ArchiveWriter(archive, detections, allow_data_loss=settings.allow_data_loss).catch_up()
        return archive

    def run(self, request: AnyRequest) -> None:
        """Do a run; what it reads of the archive is all that the log had when it began."""
        settings = self._task.run_settings
        reporter = Reporter(RunFolder(settings.runs_path / request.id), request, lambda: False)
        if request.source == "archive":
            archive = self.archived()
            with suppress(SettingsError, OverflowError):  # the run says what is wrong
                reporter.archive_state = archive.state_of(request.from_us, request.to_us)
        others = partial(_processes, settings.processes) if settings.processes > 1 else None
        past = Past(settings, self._opened, lambda: self._task.limits, others)
        do_run(request, past, load_streams(Path(self._task.streams_path)), reporter, self._propose)

    def _opened(self, name: str) -> TopicRecords:
        return TopicRecords(self._log.reader(), self._names.full(name), PATIENCE_S)

    def _propose(self, proposals: Sequence[TemplateProposal]) -> None:
        topic = self._names.full(PROPOSALS)
        records = [NewRecord(topic, each.key, each.to_record()) for each in proposals]
        self._log.append(records).result(APPEND_TIMEOUT_S)


def _processes(count: int, _parts: Path) -> Processes:
    return Processes(count)


if __name__ == "__main__":
    sys.exit(main())
