"""Commits: how readers of a process hear what is new in the file, and get it without reading it there."""

import threading
from collections.abc import Collection, Mapping, Sequence

from services.common.log.records import Record, size_of


class Listener:
    """Waits for commits to some topics, and keeps their records until they are taken, up to what a poll may return.

    Records that do not fit, and those that another process has written, stand in the file alone.
    """

    def __init__(self, most_records: int, most_bytes: int) -> None:
        self.topics: Collection[str] = ()
        self._most_records, self._most_bytes = most_records, most_bytes
        self._lock, self._heard = threading.Lock(), threading.Event()
        self._records: list[Record] = []
        self._bytes = 0
        self._has_all, self._has_ended = True, False

    @property
    def has_news(self) -> bool:
        """Whether something was committed since the last `take`."""
        return bool(self._records) or not self._has_all

    def hear(self, records: Sequence[Record] | None) -> None:
        """Keep records in the order of their commits; None: there are others, in the file."""
        with self._lock:
            if self._has_all and records is not None and self._have_room(records):
                self._records += records
            else:
                self._records, self._has_all = [], False

    def wake(self) -> None:
        """Wake who waits, if there is news."""
        with self._lock:
            if self.has_news:
                self._heard.set()

    def _have_room(self, records: Sequence[Record]) -> bool:
        is_first = not self._records
        self._bytes = (0 if is_first else self._bytes) + sum(map(size_of, records))
        fits = len(self._records) + len(records) <= self._most_records and self._bytes <= self._most_bytes
        return fits or (is_first and len(records) == 1)

    def take(self) -> list[Record] | None:
        """Return all records since the last time, and forget them; None: some of them stand in the file alone."""
        with self._lock:
            taken = self._records if self._has_all else None
            self._records, self._has_all = [], True
            if not self._has_ended:
                self._heard.clear()
            return taken

    def end(self) -> None:
        """Wake who waits, and let nobody wait again."""
        with self._lock:
            self._has_ended = True
            self._heard.set()

    def wait(self, wait_s: float) -> bool:
        """Return whether something was heard; waits for it up to `wait_s`, and not once this has ended."""
        return self._heard.wait(wait_s) and not self._has_ended


class Commits:
    """Tells listeners what was committed; whoever reads other topics sleeps on."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()

    def join(self, listener: Listener) -> None:
        """Tell a listener, too."""
        with self._lock:
            self._listeners += (listener,)

    def leave(self, listener: Listener) -> None:
        """Tell it nothing more."""
        with self._lock:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

    def note(self, written: Mapping[str, Sequence[Record]]) -> None:
        """Note for who listens what this process has committed, by topic; `wake` wakes them."""
        for each in self._listeners:
            if heard := [record for topic in each.topics if topic in written for record in written[topic]]:
                each.hear(heard)

    def note_others(self) -> None:
        """Note for all that another process has committed something."""
        for each in self._listeners:
            each.hear(None)

    def wake(self) -> None:
        """Wake all who wait, and for whom there is news."""
        for each in self._listeners:
            each.wake()
