"""SlidingQueries: the queries over readings that are in force, answered whenever the end of a window is past."""

from collections.abc import Collection, Iterator
from functools import partial

from coincide.fusion.control.control import ActiveReadings
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.readings.source import Choose, ReadingSource, SourceKey
from coincide.fusion.readings.window_records import AnswerWriter
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.joins.search.work import SearchWork
from coincide.sliding.choice import TYPICAL, SchemeChoice, SlidingCosts, choose_schemes
from coincide.sliding.rules import RunRule, any_due
from coincide.wire.results.episode_record import EpisodeRecord


def cheapest_by(costs: SlidingCosts) -> Choose:
    """Return the choice that goes by these unit costs."""
    return partial(choose_schemes, costs=costs)


CHEAPEST = cheapest_by(TYPICAL)


class SlidingQueries:
    """Keeps the readings of all queries, coalesced by one scheme or the other.

    All of it can be made anew from the rows that are kept, and no answer depends on how it is kept: `choose` chooses
    the scheme of each rule from what was measured.
    """

    def __init__(self, streams: KnownStreams, areas: Areas, choose: Choose = CHEAPEST) -> None:
        self._streams = streams
        self._areas = areas
        self._choose = choose
        self._sources: dict[SourceKey, ReadingSource] = {}

    def insert(self, new: EventColumns, kept: EventColumns, queries: Collection[ActiveReadings]) -> NoNumbers:
        """Take the new rows of a batch; a query that was changed begins with what is kept, the new rows included.

        Return which rows have a value that is no number where one was needed.
        """
        refused: NoNumbers = set()
        for key, rules in self._wanted(queries).items():
            source = self._sources[key]
            if source.has_rules(rules):
                source.take(new)
            else:
                source.rebuild(kept, rules)
            refused.update((seq, key.value) for seq in source.no_number)
        return refused

    def rebuild(self, kept: EventColumns, queries: Collection[ActiveReadings]) -> None:
        """Hold exactly the readings among the rows that are kept; what was measured stays."""
        for key, rules in self._wanted(queries).items():
            self._sources[key].rebuild(kept, rules)

    def drop_before_windows(self, kept: EventColumns, queries: Collection[ActiveReadings]) -> None:
        """Forget the readings that hold in no window to come; rows of them may be among those that are kept."""
        now = OnTime.now(self._areas, self._streams)
        for key, source in self._sources.items():
            reach_us = max(active.query.reach_us for active in queries if SourceKey.of(active) == key)
            areas, _ = source.areas()
            past_us = now.since_us(self._streams.codes[key.stream])[areas]
            source.drop_before(dict(zip(areas.tolist(), (past_us - reach_us).tolist(), strict=True)), kept)

    def answers(self, active: ActiveReadings, before: OnTime, work: SearchWork) -> Iterator[EpisodeRecord]:
        """Answer the windows of a query before what is on time now that were not yet `before`, area by area.

        `work` is asked before each block of work, and told of answers before they are kept.
        """
        source, query = self._source(active), active.query
        (areas, latest_us), now = source.areas(), OnTime.now(self._areas, self._streams)
        stream, count = self._streams.codes[query.stream], len(now.watermark_us)
        after_us, until_us = (each.since_us(stream, count)[areas] for each in (before, now))
        due = any_due(after_us, until_us, query.slide_us) & (latest_us + query.reach_us > after_us)
        in_time = zip(*(each[due].tolist() for each in (areas, after_us, until_us)), strict=True)
        named = ((self._areas.area_of(area).name, area, after, until) for area, after, until in in_time)
        for name, area, after, until in sorted(named):
            work.check()
            answers, extent, columns = source.answer(query, area, after, until, work)
            writer = AnswerWriter(active, extent, columns, name, work.check)
            for block in answers:
                yield from writer.written(block)

    def decide(self) -> None:
        """Choose the scheme of each rule that was asked since the last decision."""
        for source in self._sources.values():
            source.decide(self._choose)

    def choice(self, active: ActiveReadings) -> SchemeChoice:
        """Return how the readings of a query are coalesced, and why."""
        return self._source(active).choice(active.query.rule)

    def _wanted(self, queries: Collection[ActiveReadings]) -> dict[SourceKey, dict[RunRule, None]]:
        """Return the rules by source, in the order of the queries, and keep exactly these sources."""
        wanted: dict[SourceKey, dict[RunRule, None]] = {}
        for active in queries:
            wanted.setdefault(SourceKey.of(active), {})[active.query.rule] = None
        known = self._sources
        self._sources = {
            key: known.get(key) or ReadingSource(key, self._streams.codes[key.stream], self._areas) for key in wanted
        }
        return wanted

    def _source(self, active: ActiveReadings) -> ReadingSource:
        return self._sources[SourceKey.of(active)]
