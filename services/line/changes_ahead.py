"""ChangesAhead: the changes of queries that a batch brings, and those that come while it is at work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from coincide.wire.declarations.query_record import QueryRecord, decode_query
from coincide.wire.fields import UNREADABLE
from services.common.log.reader import LogReader
from services.common.log.records import Record

LOOK_EVERY_S = 0.5


class ChangesAhead:
    """Reads the queries topic by a reader of its own, and keeps what it reads for the next batch."""

    def __init__(self, reader: LogReader, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._reader, self._clock_s = reader, clock_s
        self._waiting: list[Record] = []
        self._stopped: dict[str, int] = {}
        self._looks_at_s = -float("inf")

    def take(self) -> list[Record]:
        """Return all changes that are in the log and were not taken."""
        self._look()
        taken, self._waiting, self._stopped = self._waiting, [], {}
        self._looks_at_s = self._clock_s() + LOOK_EVERY_S
        return taken

    def stopped(self) -> Mapping[str, int]:
        """Return the versions to come that pause or remove a query, by its id; looks now and then."""
        if self._clock_s() >= self._looks_at_s:
            self._look()
            self._looks_at_s = self._clock_s() + LOOK_EVERY_S
        return self._stopped

    def _look(self) -> None:
        while records := self._reader.poll(0):
            self._waiting += records
            self._note(records)

    def _note(self, records: Iterable[Record]) -> None:
        """Note of each query whether its newest change stops it."""
        for each in records:
            try:
                change: QueryRecord = decode_query(each.value or b"")
            except UNREADABLE:
                continue
            self._stopped.pop(change.id, None)
            if change.paused or change.removed:
                self._stopped[change.id] = change.version
