"""FollowerThread: follows topics until it is stopped; whatever fails, it says so once and begins again."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from services.common.backoff import Backoff
from services.common.log.faults import LogError
from services.common.log.reader import POLL_S, LogReader, StoppedError
from services.common.log.records import Record

PAUSES_S = (0.2, 2.0)
STEADY_S = 30.0  # whoever has followed for so long begins with the first pause again

log = logging.getLogger(__name__)

R = TypeVar("R", bound=LogReader)


class FollowerThread(threading.Thread, ABC, Generic[R]):
    """Connects, reads from where its host stands, and hands over what comes; its host fills in how.

    It follows whatever log its host reads. A topic that is deleted and made anew is a fault as any other: the host
    begins again, and compares the topic's id.
    """

    #: Errors that need no traceback to be understood.
    expected: ClassVar[tuple[type[Exception], ...]] = (LogError, OSError)
    stop_timeout_s: ClassVar[float] = 10.0

    def __init__(self, name: str, stopping: threading.Event | None = None) -> None:
        super().__init__(name=name, daemon=True)
        self.stopping = stopping or threading.Event()
        self._fault = ""
        self._reads: R | None = None

    def stop(self) -> None:
        """Finish what is in hand and end; blocks for a bounded time."""
        self.stopping.set()
        if (reader := self._reads) is not None:
            reader.stop_waiting()
        if self.is_alive():
            self.join(self.stop_timeout_s)

    def run(self) -> None:
        """Follow until stopped."""
        backoff = Backoff(*PAUSES_S)
        while not self.stopping.is_set():
            began_s = time.monotonic()
            try:
                self._follow()
            except StoppedError:
                return
            except Exception as error:  # whatever it is, the thread stays and tries again
                self._lose(error)
                if time.monotonic() - began_s > STEADY_S:
                    backoff.start_over()
                self.stopping.wait(backoff.next_s())

    def _follow(self) -> None:
        reader = self._connect()
        if reader is None:
            return
        self._reads = reader
        with reader:
            self._begin(reader)
            reader.refuse_replaced()  # which also notes who they are
            look_at_s = 0.0
            while not self.stopping.is_set() and not self._is_over():
                self._take(reader, self._poll(reader))
                if time.monotonic() >= look_at_s:
                    reader.refuse_replaced()
                    self._look(reader)
                    self._fault = ""
                    look_at_s = time.monotonic() + self._look_every_s()

    @abstractmethod
    def _connect(self) -> R | None:
        """Return a new connection; None: begin again at once, for it is not our turn."""

    @abstractmethod
    def _begin(self, reader: R) -> None:
        """Let it read from where the host stands; a host that has to read the whole first does so here."""

    def _poll(self, reader: R) -> list[Record]:
        """Return what comes next; a host that can go on without a record that was deleted says so here."""
        return reader.poll(self._wait_s())

    @abstractmethod
    def _take(self, reader: R, records: list[Record]) -> None:
        """Take what a poll brought, or nothing."""

    @abstractmethod
    def _look(self, reader: R) -> None:
        """Ask the log something now and then: of a Kafka that has gone, polls say nothing."""

    def _look_every_s(self) -> float:
        return 1.0

    def _wait_s(self) -> float:
        return POLL_S

    def _is_over(self) -> bool:
        """Whether to leave this connection, and begin again."""
        return False

    def _lose(self, error: Exception) -> None:
        """Note a fault, and say it, though not at every attempt of an outage."""
        fault = str(error) or type(error).__name__
        if fault != self._fault:
            traceback = None if isinstance(error, self.expected) else error
            said = self._words_of(error)
            log.warning("%s cannot go on: %s", self.name, said, extra={"fault": fault}, exc_info=traceback)
        self._fault = fault

    def _words_of(self, error: Exception) -> str:
        """Return what a fault says to a person: a log says a sentence, and others are called by their names."""
        return str(error) if isinstance(error, LogError) else type(error).__name__
