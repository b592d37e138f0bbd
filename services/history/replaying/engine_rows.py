"""Rows of the archive as a shard of the engine has them, and what the engine's own search finds among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coincide import Histogram, Stream
from coincide.arrays.kinds import FloatArray, Int64Array, PositionArray
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching.finder import Finder
from coincide.fusion.matching.match_verdicts import DECIMALS, MatchTuples, alike_tuples, thresholded
from coincide.fusion.matching.search_work import HeldWork, TooManyCandidatesError
from coincide.fusion.rows.batch_rows import AcceptedBatch, Backgrounds
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins.search.search import judged_at_once
from coincide.joins.search.work import SearchWork, blocks
from coincide.probability import occurrence_columns
from coincide.queries import Query
from services.history.archiving.frame_rows import payloads_in, place_in
from services.history.replaying.request import RunError

UNLIMITED = Limits(max_advisory_work=10**9, max_advisory_work_of_frame=10**12)
MOST_PAIRS = 10_000_000  # that a search for sets holds, some of them twice; some 100 bytes each


@dataclass(frozen=True)
class _HeardWork(SearchWork):
    """Lets a search go on block by block, as long as somebody wants its answer."""

    check: Callable[[], None]

    def complete(self, last: Int64Array) -> None:  # noqa: ARG002 - however many
        """Take note of a block."""
        self.check()


@dataclass(frozen=True, eq=False)
class EngineRows:
    """Rows in a table of the engine, in their order, and what they name."""

    codes: RowCodes
    table: EventTable

    @classmethod
    def of(cls, query: Query, rows: pa.Table, templates: Mapping[str, Histogram]) -> EngineRows:
        """Take rows with their templates, for a query."""
        streams = {name: Stream(name) for name in (*query.streams, *rows["stream"].unique().to_pylist())}
        codes, table = RowCodes.of(KnownStreams(streams), UNLIMITED.max_template_buckets), EventTable()
        table.append(event_columns(codes, rows, templates))
        return cls(codes, table)

    def found(self, query: Query, check: Callable[[], None]) -> Iterator[PositionArray]:
        """Yield the tuples of all rows in blocks, (n, roles), -1 where a member is absent; nobody is late.

        `check` is called between blocks of work. Of sets only the largest are told. HeldTooMuchError: there are too
        many pairs.
        """
        finder, active = Finder(self.codes), ActiveQuery(query, 1, False, 0)
        finder.insert(self.table.columns, [active])
        work = _HeardWork(check) if query.at_least is None else HeldWork(MOST_PAIRS, check)
        parts = finder.find_blocks(active, self.table, self.table.columns.seq, work)
        try:
            if query.at_least is None:
                yield from (part.members for part in parts)
            else:
                sets = MatchTuples.joined(list(parts), len(query.roles))
                yield sets.members[sets.are_standing]
        except TooManyCandidatesError:
            raise RunError(
                f"one detection of query {query.id} completes too many candidates: ask for a shorter window_s, higher "
                "thresholds, or more with its limits.max_candidates_per_detection"
            ) from None

    def probability(self, query: Query, members: PositionArray, check: Callable[[], None]) -> FloatArray:
        """Return of each tuple the probability that the query has a threshold for, as records tell it, (n,)."""
        told, known = np.empty(len(members)), (self.table.columns, self.codes.templates, self.codes.places)
        at_once = judged_at_once(query.graph, on_clocks=self.codes.templates.has_clocks)
        for at in blocks(len(members), at_once, check):
            told[at] = thresholded(query, members[at], *known)
        return told.round(DECIMALS)

    def onsets_us(self, query: Query, members: PositionArray) -> Int64Array:
        """Return the central 90 % of when pairs occurred whose windows follow distances, (n, 2)."""
        spans_us, known = np.empty((len(members), 2), np.int64), (self.codes.templates, self.codes.places)
        for alike in alike_tuples(query, members, self.table.columns, *known):
            [edge], some = alike.graph.edges, alike.columns
            when = occurrence_columns(some.templates, some.template_index, some.detected_at_us, edge.window)
            spans_us[alike.at] = np.stack((when.p05_us, when.p95_us), axis=1)
        return spans_us


def unwatched(rows: EventColumns) -> AcceptedBatch:
    """Return rows as a batch of areas that nobody has watched; they came in one frame."""
    nothing = np.zeros(len(rows), np.int64)
    backgrounds = Backgrounds(0, nothing, {(code, 0): None for code in np.unique(rows.area).tolist()})
    return AcceptedBatch(rows, backgrounds, nothing, nothing, np.zeros((len(rows), 2), np.int64))


def event_columns(
    known: RowCodes, rows: pa.Table, templates: Mapping[str, Histogram], first_seq: int = 0
) -> EventColumns:
    """Return rows as a shard has them; their areas, sensors, templates and places are known from then on."""
    labels = ("area", "sensor_id", "stream", "template", "place")
    names = list(zip(*(rows[name].to_pylist() for name in labels), strict=True))
    codes = {each: _codes(known, each, templates) for each in dict.fromkeys(names)}
    area, sensor, stream, template, place = np.array([codes[each] for each in names], np.int32).reshape(-1, 5).T.copy()
    detected_at_us, count = rows["detected_at_us"].to_numpy(), len(rows)
    return EventColumns(
        ids=rows["id"].to_pylist(),
        payload=payloads_in(rows),
        seq=np.arange(first_seq, first_seq + count),
        detected_at_us=detected_at_us,
        latest_us=detected_at_us + known.templates.latest_us[template],
        received_at_us=rows["received_at_us"].to_numpy(),
        offset=rows["offset"].to_numpy(),
        area=area,
        sensor=sensor,
        template=template,
        place=place,
        stream=stream,
        slot=np.zeros(count, np.int32),
        remembered=np.zeros(count, np.bool_),
    )


def _codes(
    known: RowCodes, names: tuple[str, str, str, str, str | None], templates: Mapping[str, Histogram]
) -> tuple[int, int, int, int, int]:
    """Return the codes of an area, a sensor of it, a stream, a template and a place."""
    area, sensor, stream, template, place = names
    of_area = known.areas.area(area, 0)
    of_sensor = known.areas.sensor(of_area, sensor)
    of_row = known.streams.codes[stream], known.templates.add(templates[template])
    return of_area.code, of_sensor.code, *of_row, known.places.code(place_in(place))
