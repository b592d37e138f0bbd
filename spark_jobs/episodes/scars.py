"""Scars: matches that went in one batch, and which episodes they touched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from spark_jobs.episodes.part import Part


class Scars:
    """Matches that are gone, each with the revision that it went with, by start.

    An episode that they touched is revised by them, for together they may have held it and others as one.
    """

    def __init__(self, gone: Iterable[tuple[Part, int]], gap_us: int) -> None:
        self._gap_us = gap_us
        self._gone = sorted(gone, key=lambda each: each[0].start_us)
        self._start_us = [part.start_us for part, _ in self._gone]
        self._longest_us = max((part.end_us - part.start_us for part, _ in self._gone), default=0)

    def touching(self, start_us: int, end_us: int) -> list[int]:
        """Return the revisions of those at most the gap away from an interval."""
        first = bisect_left(self._start_us, start_us - self._gap_us - self._longest_us)
        last = bisect_right(self._start_us, end_us + self._gap_us)
        return [at for part, at in self._gone[first:last] if start_us - self._gap_us <= part.end_us]
