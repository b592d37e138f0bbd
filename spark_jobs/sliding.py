"""SlidingQueries: the queries over readings that are in force, answered whenever the end of a window is past."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from coincide.sliding.answers import answers
from coincide.sliding.run_rule import RunRule
from coincide.sliding.slides import any_due, windows_due
from spark_jobs.active_readings import ActiveReadings
from spark_jobs.answer_writing import AnswerWriter
from spark_jobs.areas import Areas
from spark_jobs.events import EventColumns
from spark_jobs.reading_source import ReadingSource, SourceKey
from spark_jobs.window_answers import WindowAnswer

Spans = Mapping[int, tuple[int, int]]
"""By area: what was past for a stream when the batch began, and what is now; microseconds."""


class SlidingQueries:
    """Keeps the readings of all queries, coalesced by one scheme or the other.

    Everything in here can be rebuilt from the rows that are kept, and no answer depends on how it is kept.

    Parameters
    ----------
    streams : mapping of name to code
    areas : Areas
    """

    def __init__(self, streams: Mapping[str, int], areas: Areas) -> None:
        self._streams = streams
        self._areas = areas
        self._sources: dict[SourceKey, ReadingSource] = {}

    def insert(self, new: EventColumns, kept: EventColumns, queries: Iterable[ActiveReadings]) -> None:
        """Take the new rows of a batch; a query that was changed begins with what is kept, the new rows included."""
        wanted = _rules(queries)
        known, self._sources = self._sources, {}
        for key, rules in wanted.items():
            source = known.get(key)
            if source is None or source.rules != rules:
                source = ReadingSource(key, rules)
                source.rebuild(kept, self._streams[key.stream], self._areas)
            else:
                source.insert(new, self._streams[key.stream], self._areas)
            self._sources[key] = source

    def rebuild(self, kept: EventColumns, queries: Iterable[ActiveReadings]) -> None:
        """Take exactly the rows that are kept."""
        self._sources = {}
        self.insert(kept, kept, queries)

    def answers(self, active: ActiveReadings, spans: Spans) -> Iterator[WindowAnswer]:
        """Answer every window of one query that ends in the spans, area by area."""
        source = self._sources[SourceKey.of(active)]
        for area in source.areas():
            after_us, until_us = spans[area]
            if any_due(after_us, until_us, active.query.slide_us):
                yield from self._of_area(active, source, area, after_us, until_us)

    def _of_area(
        self, active: ActiveReadings, source: ReadingSource, area: int, after_us: int, until_us: int
    ) -> Iterator[WindowAnswer]:
        query = active.query
        extent = source.extents(area).of(query.rule)
        runs = extent.scan().runs
        windows = windows_due(runs.intervals, after_us, until_us, query.time_us, query.slide_us)
        found = answers(query.asked, runs, windows, query.rule)
        yield from AnswerWriter(active, extent, source.columns, self._areas.area_of(area).name).written(found)


def _rules(queries: Iterable[ActiveReadings]) -> dict[SourceKey, frozenset[RunRule]]:
    wanted: dict[SourceKey, frozenset[RunRule]] = {}
    for active in queries:
        key = SourceKey.of(active)
        wanted[key] = wanted.get(key, frozenset()) | {active.query.rule}
    return wanted
