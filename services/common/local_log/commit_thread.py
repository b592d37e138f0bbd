"""CommitThread: writes what waits, in one transaction as much as there is, and tidies up between two of them.

What comes while the disk is waited for shares the next wait. So an append that comes alone does not wait for others,
and a thousand that come at once cost little more than one.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing

from services.common.clock import Clock
from services.common.local_log.commits import Commits
from services.common.local_log.log_file import LogFile
from services.common.local_log.tidying import tidy
from services.common.local_log.writer import Writer
from services.common.log.append_queue import Append, AppendQueue

#: How soon readers hear of what another process has written; to look costs some microseconds.
LOOK_EVERY_S = 0.02

log = logging.getLogger(__name__)


class CommitThread(threading.Thread):
    """The one thread of a process that writes the file."""

    def __init__(
        self, file: LogFile, queue: AppendQueue, commits: Commits, clock_us: Clock, tidied_every_s: float
    ) -> None:
        super().__init__(name="log-commit", daemon=True)
        self._file, self._queue, self._commits = file, queue, commits
        self._clock_us, self._tidied_every_s = clock_us, tidied_every_s
        self._tidies_at_s = time.monotonic() + tidied_every_s
        self._tidying: Iterator[int] | None = None
        self._fault = self._refusal = ""
        self.transactions = 0  # that have appended something
        with file.telling():
            self._connection = file.connect()
        self._writer = Writer(file, self._connection, clock_us)

    def run(self) -> None:
        """Write until the queue is closed and empty."""
        with closing(self._connection):
            while not self._queue.is_over:
                if appends := self._queue.take(LOOK_EVERY_S):
                    self._write(appends)  # which looks, too
                self._look_after(looks=not appends)

    def _write(self, appends: list[Append]) -> None:
        try:
            outcomes = self._writer.write(appends)
            self.transactions += 1
            self._commits.note({each.topic for append in appends for each in append.records})
            self._refusal = ""
        except Exception as error:  # whatever it is, somebody waits for it
            outcomes = [error] * len(appends)
            self._say_refusal(str(error))
        for append, outcome in zip(appends, outcomes, strict=True):
            append.settle(outcome)

    def _say_refusal(self, refusal: str) -> None:
        """Say why nothing is appended, once: whoever waits tells others less, or tries again without a word."""
        if refusal != self._refusal:
            log.warning("nothing is appended: %s", refusal)
        self._refusal = refusal

    def _look_after(self, *, looks: bool) -> None:
        """Tell readers what others have written, and do a step of tidying; whatever fails, the thread stays."""
        try:
            with self._file.telling():
                if looks:
                    self._writer.look()
                self._tell_of_others()
                self._tidy()
        except Exception as error:  # nobody waits for it, so it is said, once
            if str(error) != self._fault:
                log.warning("the log cannot be looked after: %s", error)
            self._fault = str(error)
            self._rest()

    def _tell_of_others(self) -> None:
        if self._writer.has_news:
            self._writer.has_news = False
            self._commits.note()

    def _tidy(self) -> None:
        """Do one step, if one is due."""
        if time.monotonic() < self._tidies_at_s:
            return
        self._tidying = self._tidying or tidy(self._connection, self._clock_us() // 1_000)
        if next(self._tidying, None) is None:
            self._rest()
            self._fault = ""

    def _rest(self) -> None:
        self._tidying, self._tidies_at_s = None, time.monotonic() + self._tidied_every_s
