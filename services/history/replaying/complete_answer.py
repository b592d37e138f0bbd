"""The complete answer: the library's join of whole batches, in the records that the live job writes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from coincide import Histogram, Stream
from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.chunks.reach import graph_reach_us
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching.match_recorder import MatchRecorder
from coincide.fusion.matching.match_verdicts import DECIMALS, MatchTuples
from coincide.fusion.matching.search_work import HeldTooMuchError, HeldWork
from coincide.fusion.rows.batch_rows import AcceptedBatch, Backgrounds
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins import Tuples
from coincide.queries import Query
from coincide.wire.results.match_record import MatchRecord
from services.history.archiving.frame_rows import payloads_in, place_in
from services.history.replaying.pair_levels import PairLevels
from services.history.replaying.played_rows import PlayedRows
from services.history.replaying.request import RunError

TUPLES_AT_ONCE = 16_384
AFTER_ALL_US = np.iinfo(np.int64).max
MOST_PAIRS = 10_000_000  # that a search for sets holds, some of them twice; some 100 bytes each
UNLIMITED = Limits(max_advisory_work=10**9, max_advisory_work_of_frame=10**12)


class FoundTuples(NamedTuple):
    """Some tuples: the rows of their members, (n, roles), -1 where one is absent, and what each tuple reaches, (n,).

    That is how probable it is, or with `PairLevels` the greatest of their thresholds that is not above that.
    """

    rows: Int64Array
    reached: FloatArray


def complete_tuples(
    played: PlayedRows, query: Query, levels: PairLevels | None, check: Callable[[], None]
) -> Iterator[FoundTuples]:
    """Yield the tuples of all rows, nobody late, whose earliest member is the chunk's own, in no order.

    `query` may differ from the one that the rows are played for in its thresholds; `check` is called between blocks,
    and while a block is searched for.
    """
    at_us = played.rows["detected_at_us"].to_numpy()
    for tuples in _blocks(played, query, check):
        check()
        rows = played.rows_of(np.asarray(tuples.members, np.int64))
        member_us = np.where(rows < 0, AFTER_ALL_US, at_us[rows])
        earliest = np.take_along_axis(rows, member_us.argmin(axis=1)[:, None], axis=1)[:, 0]
        at = np.flatnonzero(played.is_own[earliest])
        if len(at):
            reached = _probability(query, tuples)[at] if levels is None else played.reached(rows[at], levels)
            yield FoundTuples(rows[at], reached)


def _probability(query: Query, tuples: Tuples) -> FloatArray:
    """Return the probability that the query has a threshold for, as records tell it."""
    if query.joint_threshold is not None or len(query.roles) == 2:
        return tuples.probability.round(DECIMALS)
    least: FloatArray = np.nanmin(tuples.edge_probability, axis=1).round(DECIMALS)
    return least


def match_records(
    played: PlayedRows, rows: Int64Array, streams: Mapping[str, Stream], check: Callable[[], None]
) -> Iterator[MatchRecord]:
    """Yield the records of tuples of rows; `chance_rate_hz` is null: nobody has watched the areas."""
    recorder = _Recorder(played, streams, check)
    for first in range(0, len(rows), TUPLES_AT_ONCE):
        check()
        yield from recorder.matches(rows[first : first + TUPLES_AT_ONCE])


def complete_matches(
    played: PlayedRows, streams: Mapping[str, Stream], check: Callable[[], None]
) -> Iterator[MatchRecord]:
    """Yield the record of each tuple that the query asks for."""
    for tuples in complete_tuples(played, played.query, None, check):
        yield from match_records(played, tuples.rows, streams, check)


def reach_us(query: Query, templates: Mapping[str, Sequence[Histogram]]) -> int:
    """Return how far members of a match may lie apart, given the templates of each stream."""
    of_role = {role: templates[stream] for role, stream in query.roles}
    return graph_reach_us(query.graph, query.joint_threshold, of_role, query.at_least)


def _blocks(played: PlayedRows, query: Query, check: Callable[[], None]) -> Iterator[Tuples]:
    def heard(_share: float) -> None:
        check()

    joined = played.joined(query)
    if query.at_least is None:
        yield from joined.blocks(heard)
        return
    if joined.where is not None:
        raise RunError(f"query {query.id} has at_least and filters that overlap: only --as-live answers it")
    try:
        yield joined.sets(heard, HeldWork(MOST_PAIRS, check))
    except HeldTooMuchError:
        raise RunError(
            f"more than {MOST_PAIRS:,} pairs of detections may be together in one part of the range: ask for a "
            "shorter range, a shorter window_s or higher thresholds"
        ) from None


@dataclass(frozen=True)
class _Recorder:
    """Makes the records of tuples of rows, as the fusion core does, where these rows are all that there are."""

    played: PlayedRows
    streams: Mapping[str, Stream]
    check: Callable[[], None]

    def matches(self, members: Int64Array) -> Iterator[MatchRecord]:
        is_present = members >= 0
        at, nth = np.unique(members[is_present], return_inverse=True)
        of_shard = np.full(members.shape, -1, np.intp)
        of_shard[is_present] = nth.ravel()
        recorder, accepted = _recorder(self.played.rows.take(pa.array(at)), self.played.templates, self.streams)
        active = ActiveQuery(self.played.query, 1, False, 0)
        tuples = MatchTuples(of_shard).in_order()
        return (match for match, _ in recorder.matches(active, tuples, accepted, self.check))


def _recorder(
    rows: pa.Table, templates: Mapping[str, Histogram], streams: Mapping[str, Stream]
) -> tuple[MatchRecorder, AcceptedBatch]:
    """Return a recorder of these rows; their order decides nothing that a record says."""
    codes, table = RowCodes.of(KnownStreams(streams), UNLIMITED.max_template_buckets), EventTable()
    columns = event_columns(codes, rows, templates)
    table.append(columns)
    return MatchRecorder(codes, table, UNLIMITED), unwatched(columns)


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
