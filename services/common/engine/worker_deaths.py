"""WorkerDeaths: at which query of a batch workers died; what tells it outlives them."""

from __future__ import annotations

import json
import mmap
import os
from collections import Counter
from collections.abc import Set
from pathlib import Path

MOST_DEATHS = 2  # of one query in one batch; whoever kills workers by hand hardly meets the same one twice

_SIZE = 4_096
_BATCH, _DEATHS, _QUERY = slice(0, 8), slice(8, 3_000), slice(3_000, _SIZE)


class WorkerDeaths:
    """A page of memory that a file keeps: a worker that is killed leaves there what it was at.

    A process for which its machine has no memory left is killed without a word, and another one gets its batch, for
    ever. On a cluster only those of one machine know of each other.
    """

    def __init__(self, file: Path) -> None:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(descriptor, _SIZE)
            self._page = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)

    def begin(self, batch: int) -> Set[str]:
        """Begin a batch, or begin it again; return the queries at which too many workers died in it."""
        deaths = list[str]()
        if self._page[_BATCH] == batch.to_bytes(8):
            deaths = [*self._deaths(), *filter(None, [self._text(_QUERY)])]
        self._page[_BATCH] = batch.to_bytes(8)
        self._write(_DEATHS, json.dumps(deaths[-2 * MOST_DEATHS :]))
        self.at_work("")
        return frozenset(query for query, times in Counter(deaths).items() if times >= MOST_DEATHS)

    def at_work(self, query: str) -> None:
        """Take note that this query is answered now; "" for none."""
        self._write(_QUERY, query)

    def _deaths(self) -> list[str]:
        try:
            return [str(each) for each in json.loads(self._text(_DEATHS))]
        except (ValueError, TypeError, RecursionError):
            return []

    def _text(self, place: slice) -> str:
        return self._page[place].rstrip(b"\0").decode(errors="replace")

    def _write(self, place: slice, text: str) -> None:
        room = place.stop - place.start
        self._page[place] = text.encode()[:room].ljust(room, b"\0")
