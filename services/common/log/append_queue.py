"""Appends that wait for the one thread that writes them: any thread puts them in, and what waits is bounded."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from services.common.log.faults import LogError, UnusableRecordError
from services.common.log.records import NewRecord, RecordPosition, size_of

#: How much waits or is under way at most; one append alone always has room.
MOST_WAITING_BYTES = 64 * 2**20
#: How much is taken at once; more, if a single append has more.
MOST_AT_ONCE_BYTES = 8 * 2**20


class Append(NamedTuple):
    """Records that are written together, and the future of whoever waits for them."""

    records: Sequence[NewRecord]
    size: int
    settled: Future[list[RecordPosition]]

    def settle(self, outcome: list[RecordPosition] | Exception) -> None:
        """Tell who waits where the records stand, or why they may not be there."""
        if isinstance(outcome, Exception):
            self.settled.set_exception(outcome)
        else:
            self.settled.set_result(outcome)


class AppendQueue:
    """Takes appends in their order. One whose future is cancelled while it waits is not written."""

    def __init__(self, most_waiting_bytes: int = MOST_WAITING_BYTES) -> None:
        self._most_waiting_bytes = most_waiting_bytes
        self._waiting: deque[Append] = deque()
        self._bytes = 0
        self._is_closed = False
        self._room, self._changed = threading.Lock(), threading.Condition()

    @property
    def is_over(self) -> bool:
        """Whether it is closed, and nothing waits any more."""
        return self._is_closed and not self._waiting

    def put(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Have records written, and return the future of their positions; never blocks and never raises."""
        with self._changed:
            append = self.admit(records)
            if not append.settled.done():
                self._waiting.append(append)
                self._changed.notify()
        return append.settled

    def admit(self, records: Sequence[NewRecord]) -> Append:
        """Return an append that counts among what waits until it is settled, as one that is refused is already."""
        append = Append(records, sum(map(size_of, records)), Future())
        with self._room:
            refusal = self._refusal_of(append)
            if refusal is None:
                self._bytes += append.size
        if refusal is None:
            append.settled.add_done_callback(lambda _settled: self._release(append.size))
        else:
            append.settle(refusal)
        return append

    def take(self, wait_s: float) -> list[Append]:
        """Return what waits, as much as is taken at once; waits for the first up to `wait_s`."""
        with self._changed:
            if not self._waiting and not self._is_closed:
                self._changed.wait(wait_s)
            taken: list[Append] = []
            size = 0
            while self._waiting and size < MOST_AT_ONCE_BYTES:
                append = self._waiting.popleft()
                if append.settled.set_running_or_notify_cancel():
                    taken.append(append)
                    size += append.size
            return taken

    def close(self) -> None:
        """Take nothing more in."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _release(self, size: int) -> None:
        with self._room:
            self._bytes -= size

    def _refusal_of(self, append: Append) -> LogError | None:
        if self._is_closed:
            return LogError("the log is closed")
        for each in append.records:
            if each.key is None and each.value is None:
                return UnusableRecordError("a record has neither a key nor a value: one of them is needed")
        if self._bytes and self._bytes + append.size > self._most_waiting_bytes:
            return LogError("too many bytes wait for the log", is_retriable=True)
        return None
