"""RunInProcess: has a run done by the second process, and again where that was killed."""

from __future__ import annotations

import logging

from msgspec import structs

from services.history.replaying.request import AnyRequest, RunError
from services.history.replaying.run_folder import Reporter
from services.line.past.second_process import SecondProcess, WorkerDiedError
from services.line.past.task import Task

log = logging.getLogger(__name__)

ENDED = {"done", "failed"}
MOST_TRIES = 3  # whoever kills processes by hand hardly meets the same run so often


class RunInProcess:
    """Does what a `RunQueue` asks for; the process itself says how far it is, and how the run ended."""

    def __init__(self, task: Task, process: SecondProcess, missing: str | None = None) -> None:
        self._task, self._process, self._missing = task, process, missing

    def __call__(self, request: AnyRequest, reporter: Reporter) -> None:
        """Have it done; RunError if it cannot be."""
        if self._missing is not None:
            self._refuse(reporter, self._missing)
        task = structs.replace(self._task, request=request.to_json())
        for tries in range(1, MOST_TRIES + 1):
            try:
                is_done = self._process.do(task, reporter.is_cancelled)
            except WorkerDiedError as death:
                reporter.folder.sweep()
                if reporter.folder.summary()["state"] in ENDED:  # it said so before it died
                    return None
                if not death.was_killed:
                    return self._refuse(reporter, f"its process ended: {death}")
                log.warning("the process of run %s ended, try %d: %s", request.id, tries, death)
            else:
                return None if is_done else self._note_cancelled(reporter)
        return self._refuse(
            reporter, f"its process was killed {MOST_TRIES} times: it may need more memory than is free"
        )

    def _note_cancelled(self, reporter: Reporter) -> None:
        reporter.folder.sweep()
        reporter.tell("cancelled")

    def _refuse(self, reporter: Reporter, why: str) -> None:
        reporter.tell("failed", error=why)
        raise RunError(why)
