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
from msgspec import Struct, json

from coincide import Histogram, Stream
from coincide.chunks.key_ranges import KeyRange
from coincide.fusion.control.control import InForce, in_force
from coincide.fusion.control.host import Host
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.core.shard import ShardState
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.matching.search_work import NO_CLOCK
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.fusion.rows.event_table import EventColumns
from coincide.queries import ReadingsQuery, SpellQuery
from coincide.wire.output_record import OutputRecord
from services.history.archiving.layout import written_whole
from services.history.replaying.engine_rows import UNLIMITED, event_columns, unwatched
from services.history.replaying.match_curves import thresholds_from
from services.history.replaying.request import RunError
from services.history.rows.archive_rows import HashRows

ACCURACY = 1e-12


class ReadingsAnswer(NamedTuple):
    """What the areas of one hash have given: how many detections, episodes, and how probable each spell is."""

    detections: int
    no_number: int
    episodes: int
    probabilities: list[float]  # of windows there are none
    echoes: int


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
        shard = _ReadingsShard.of(self._asked, self.streams, self._least_latest_us(), self.most_written, check)
        episodes, probabilities, own = 0, list[float](), self.query.own_threshold or 0.0
        with written_whole(self.lines) as out:
            for record in self._told(ranges, shard):
                told = _decoder.decode(record.value)
                if not told.final:
                    continue
                probability = told.best_probability
                probabilities += [] if probability is None else [probability]
                if probability is None or probability >= own - ACCURACY:
                    episodes += 1
                    refuse_more_episodes(episodes, self.most_written)
                    out.write(record.value + b"\n")
        return ReadingsAnswer(shard.state.rows.next_seq, shard.no_number, episodes, probabilities, shard.echoes)

    @property
    def _asked(self) -> ReadingsQuery | SpellQuery:
        return self.query if self.query.own_threshold is None else self.query.with_threshold(self.threshold)

    def _least_latest_us(self) -> int:
        """Return how far after its report, or before, each detection happened at the latest, whatever its template."""
        return min((each.latest_us for each in self.rows.archive.templates().values()), default=0)

    def _told(self, ranges: Sequence[KeyRange], shard: _ReadingsShard) -> Iterator[OutputRecord]:
        for keys in ranges:
            shard.check()
            chunk = self.rows.read(keys)
            own = chunk.rows.filter(pa.array(chunk.is_own))
            shard.echoes += chunk.echoes
            yield from shard.taken(own, chunk.templates)
        yield from shard.ended()


class _Told(Struct):
    """What of an episode's record is needed."""

    final: bool
    best_probability: float | None = None


_decoder = json.Decoder(_Told)


@dataclass
class _ReadingsShard:
    """A shard of fusion with one query, whose areas' time is moved on by hand; what `check` raises ends it."""

    state: ShardState
    active: InForce
    beyond_us: int  # how long after a reading the last that is said of it is final
    least_latest_us: int
    check: Callable[[], None]
    no_number: int = 0  # values that are no number, where the query needs one
    echoes: int = 0  # detections that it was not given
    newest_us: dict[int, int] = field(default_factory=dict)  # by area code: when its latest reading happened

    @classmethod
    def of(
        cls,
        query: ReadingsQuery | SpellQuery,
        streams: Mapping[str, Stream],
        least_latest_us: int,
        most_written: int,
        check: Callable[[], None],
    ) -> _ReadingsShard:
        limits = replace(UNLIMITED, max_window_answers=most_written)
        state, active = ShardState.of(KnownStreams(streams), limits, 0, CHEAPEST), in_force(query, 1, False, 0)
        state.queries.control.put_in_force(active)
        return cls(state, active, query.final_after_us, least_latest_us, check)

    def taken(self, rows: pa.Table, templates: Mapping[str, Histogram]) -> Sequence[OutputRecord]:
        """Take detections, of each area all up to some time, and return what is known of episodes now."""
        new = event_columns(self.state.codes, rows, templates, self.state.rows.next_seq)
        since_us = dict[int, int]()
        for area in np.unique(new.area).tolist():
            of_area = new.area == area
            since_us[area] = int(new.detected_at_us[of_area].max()) + self.least_latest_us
            self.newest_us[area] = max(self.newest_us.get(area, since_us[area]), int(new.latest_us[of_area].max()))
        return self._moved_on(new, since_us)

    def ended(self) -> Sequence[OutputRecord]:
        """Return the rest: nothing comes any more."""
        until_us = {area: us + self.beyond_us + 1 for area, us in self.newest_us.items()}
        return self._moved_on(EventColumns.empty(), until_us)

    def _moved_on(self, new: EventColumns, since_us: Mapping[int, int]) -> Sequence[OutputRecord]:
        state, queries, codes = self.state, self.state.queries, self.state.codes
        before, [stream] = codes.on_time(), self.active.query.streams
        delay_us = int(codes.streams.delays_us[codes.streams.codes[stream]])
        state.rows.append(new)
        codes.areas.hear_rows(new.area, new.received_at_us)
        for area, us in since_us.items():
            codes.areas.watermark.put(area, us + delay_us)
        self.no_number += len(queries.begin(new, state.rows.columns))
        told = queries.answers(self._turns(), unwatched(new), before).lasting
        for why in self.active.suspensions.values():
            refuse_more_episodes(round(why.reached or 0), state.limits.max_window_answers)
            raise RunError(f"query {self.active.query.id} takes more than it may: {why.limit}")
        state.sweeper.drop_needless_rows()
        queries.settle(state.rows.columns, EventColumns.empty(), ())
        return told

    def _turns(self) -> QueryTurns:
        return QueryTurns.begun(Host(self._stopped), NO_CLOCK, self.state.limits, self.state.codes.areas)

    def _stopped(self) -> Mapping[str, int]:
        """Return that no version comes which would stop the query; the core asks between blocks of work."""
        self.check()
        return {}


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
    own = query.own_threshold
    if own is None:
        return totals
    reached = np.array([each for answer in answers for each in answer.probabilities])
    curve = [
        {"threshold": each, "matches": 0, "episodes": int((reached >= each - ACCURACY).sum())}
        for each in thresholds_from(least, own).tolist()
    ]
    return {**totals, "own_threshold": own, "curve": curve}
