"""The complete answer of a query over readings: its spells, or what it says of each window, nobody late.

A shard of fusion takes the detections of one hash, chunk by chunk. Those of an area come in the order of their times.
So after each chunk it is known from when on others may still come. What is final by then is written and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from coincide import Histogram, Stream
from coincide.arrays.kinds import Int64Array
from coincide.chunks.key_ranges import KeyRange
from coincide.fusion.control.control import ActiveQuery, ActiveReadings, ActiveSpells, in_force
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.matching.search_work import HeldTooMuchError, HeldWork
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.spells.shard_spells import ShardSpells
from coincide.fusion.spells.spell_slots import SpellSlots
from coincide.queries import ReadingsQuery, SpellQuery
from coincide.wire.episode_record import EpisodeRecord
from spark_jobs.archiving.folders import written_whole
from spark_jobs.replaying.archive_rows import HashRows
from spark_jobs.replaying.complete_answer import UNLIMITED, event_columns
from spark_jobs.replaying.match_curves import thresholds_from
from spark_jobs.replaying.played_rows import first_of_each
from spark_jobs.replaying.request import RunError

ACCURACY = 1e-12


class ReadingsAnswer(NamedTuple):
    """What the areas of one hash have given: how many detections, episodes, and how probable each spell is."""

    detections: int
    no_number: int
    episodes: int
    probabilities: list[float]  # of windows there are none


@dataclass(frozen=True)
class ReadingsTask:
    """Answers for all areas of one hash; episodes go into the file `lines`.

    `threshold` may be lower than the query's own: spells below that are counted, not written.
    """

    rows: HashRows
    query: ReadingsQuery | SpellQuery
    threshold: float
    streams: Mapping[str, Stream]
    chunk_rows: int
    lines: Path
    most_written: int

    def answer(self, check: Callable[[], None]) -> ReadingsAnswer:
        """Answer chunk by chunk; whoever does it again writes the same file."""
        ranges = self.rows.cut(lambda _: 0, self.chunk_rows, looks_back=False)
        work = HeldWork(self.most_written, check)
        shard = _ReadingsShard.of(self._asked, self.streams, self._least_latest_us(), work)
        episodes, probabilities = 0, list[float]()
        with written_whole(self.lines) as out:
            for told in self._bounded(self._told(ranges, shard)):
                probability = told.best_probability if isinstance(told.best_probability, float) else None
                probabilities += [] if probability is None else [probability]
                if probability is None or probability >= own_threshold(self.query) - ACCURACY:
                    episodes += 1
                    refuse_more_episodes(episodes, self.most_written)
                    out.write(told.to_record().value + b"\n")
        return ReadingsAnswer(shard.next_seq, shard.no_number, episodes, probabilities)

    def _bounded(self, told: Iterator[EpisodeRecord]) -> Iterator[EpisodeRecord]:
        try:
            yield from told
        except HeldTooMuchError as error:
            refuse_more_episodes(error.held, self.most_written)

    @property
    def _asked(self) -> ReadingsQuery | SpellQuery:
        if isinstance(self.query, ReadingsQuery):
            return self.query
        return replace(self.query, rule=replace(self.query.rule, threshold=self.threshold))

    def _least_latest_us(self) -> int:
        """Return how far after its report, or before, each detection happened at the latest, whatever its template."""
        return min((each.latest_us for each in self.rows.archive.templates().values()), default=0)

    def _told(self, ranges: Sequence[KeyRange], shard: _ReadingsShard) -> Iterator[EpisodeRecord]:
        for keys in ranges:
            shard.work.check()
            chunk = self.rows.read(keys)
            own = chunk.rows.filter(pa.array(chunk.is_own))
            yield from shard.taken(own.take(pa.array(np.sort(first_of_each(own)))), chunk.templates)
        yield from shard.ended()


@dataclass
class _ReadingsShard:
    """A shard of fusion with one query, whose areas' time is moved on by hand."""

    codes: RowCodes
    sliding: SlidingQueries
    spells: ShardSpells
    active: ActiveReadings | ActiveSpells
    least_latest_us: int
    work: HeldWork
    table: EventTable = field(default_factory=EventTable)
    next_seq: int = 0
    no_number: int = 0  # values that are no number, where the query needs one
    newest_us: dict[int, int] = field(default_factory=dict)  # by area code: when its latest reading happened

    @classmethod
    def of(
        cls,
        query: ReadingsQuery | SpellQuery,
        streams: Mapping[str, Stream],
        least_latest_us: int,
        work: HeldWork,
    ) -> _ReadingsShard:
        active = in_force(query, 1, False, 0)
        assert not isinstance(active, ActiveQuery)  # noqa: S101 - it is over readings
        known = KnownStreams(streams)
        codes = RowCodes.of(known, UNLIMITED.max_template_buckets)
        spells = ShardSpells(known, codes.areas, codes.templates, SpellSlots(UNLIMITED.max_slot_bytes))
        if isinstance(active, ActiveSpells):
            spells.begin([active])
        return cls(codes, SlidingQueries(known, codes.areas), spells, active, least_latest_us, work)

    def taken(self, rows: pa.Table, templates: Mapping[str, Histogram]) -> list[EpisodeRecord]:
        """Take detections, of each area all up to some time, and return what is final now."""
        new = event_columns(self.codes, rows, templates, self.next_seq)
        self.next_seq += len(new)
        since_us = dict[int, int]()
        for area in np.unique(new.area).tolist():
            of_area = new.area == area
            since_us[area] = int(new.detected_at_us[of_area].max()) + self.least_latest_us
            self.newest_us[area] = max(self.newest_us.get(area, since_us[area]), int(new.latest_us[of_area].max()))
        return self._moved_on(new, since_us)

    def ended(self) -> list[EpisodeRecord]:
        """Return the rest: nothing comes any more."""
        query = self.active.query
        beyond_us = query.rule.run.hold_us if isinstance(query, SpellQuery) else query.reach_us + query.slide_us
        return self._moved_on(EventColumns.empty(), {area: us + beyond_us + 1 for area, us in self.newest_us.items()})

    def _moved_on(self, new: EventColumns, since_us: Mapping[int, int]) -> list[EpisodeRecord]:
        codes, stream = self.codes, self.codes.streams.codes[self.active.query.stream]
        before = codes.on_time()
        self.table.append(new)
        for area, us in since_us.items():
            codes.areas.watermark.put(area, us + int(codes.streams.delays_us[stream]))
        on_time_us = codes.on_time().since_us(stream)
        told = self._spells(new, before) if isinstance(self.active, ActiveSpells) else self._windows(new, before)
        self._forget(on_time_us)
        return told

    def _spells(self, new: EventColumns, before: OnTime) -> list[EpisodeRecord]:
        self.no_number += len(self.spells.insert(new))
        changes = self.spells.changes(self.active.query.id, before, self.work.check)
        return [change for change in changes if change.final]

    def _windows(self, new: EventColumns, before: OnTime) -> list[EpisodeRecord]:
        assert isinstance(self.active, ActiveReadings)  # noqa: S101
        self.no_number += len(self.sliding.insert(new, self.table.columns, [self.active]))
        return list(self.sliding.answers(self.active, before, self.work))

    def _forget(self, on_time_us: Int64Array) -> None:
        """Keep the rows that may still matter, and of spells one row for those before."""
        query, rows = self.active.query, self.table.columns
        reach_us = query.reach_us if isinstance(query, ReadingsQuery) else 0
        self.table.keep(rows.latest_us >= on_time_us[rows.area] - reach_us)
        kept = self.table.columns
        if isinstance(self.active, ActiveSpells):
            self.spells.settle(kept, EventColumns.empty())
        else:
            self.sliding.drop_before_windows(kept, [self.active])


def own_threshold(query: ReadingsQuery | SpellQuery) -> float:
    """Return the least probability of what a query tells; windows are certain."""
    return query.rule.threshold if isinstance(query, SpellQuery) else 0.0


def refuse_more_episodes(episodes: int, most: int) -> None:
    """Raise RunError if so many are too many."""
    if episodes > most:
        raise RunError(f"there are more than {most} episodes (max_matches): ask for a shorter range")


def readings_figures(
    query: ReadingsQuery | SpellQuery, least: float, answers: Sequence[ReadingsAnswer]
) -> dict[str, Any]:
    """Return what a summary says; spells have a curve, since a lower threshold tells more of the same spells."""
    names = ("detections", "no_number", "episodes")
    totals = {"matches": 0, **{name: sum(getattr(each, name) for each in answers) for name in names}}
    if isinstance(query, ReadingsQuery):
        return totals
    own, reached = query.rule.threshold, np.array([each for answer in answers for each in answer.probabilities])
    curve = [
        {"threshold": each, "matches": 0, "episodes": int((reached >= each - ACCURACY).sum())}
        for each in thresholds_from(least, own).tolist()
    ]
    return {**totals, "own_threshold": own, "curve": curve}
