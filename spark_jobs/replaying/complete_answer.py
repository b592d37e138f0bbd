"""The complete answer: the library's join of whole batches, in the records that the live job writes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coincide import Histogram, Stream, window_join
from coincide.arrays.kinds import Int64Array
from coincide.joins import Tuples
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.tuple_join import window_join_blocks
from spark_jobs.core.answer_records import judged_matches
from spark_jobs.core.control import ActiveQuery
from spark_jobs.core.limits import Limits
from spark_jobs.core.shard import ShardState
from spark_jobs.matching.match_verdicts import MatchTuples
from spark_jobs.readings.sliding_queries import CHEAPEST
from spark_jobs.records.match_records import FusedMatch
from spark_jobs.replaying.played_rows import PlayedRows
from spark_jobs.replaying.request import RunError
from spark_jobs.rows.batch_rows import AcceptedBatch, Backgrounds
from spark_jobs.rows.event_table import EventColumns

TUPLES_AT_ONCE = 16_384
UNLIMITED = Limits(max_advisory_work=10**9, max_advisory_work_of_frame=10**12)


def complete_matches(
    played: PlayedRows, streams: Mapping[str, Stream], check: Callable[[], None]
) -> Iterator[FusedMatch]:
    """Yield the matches of all rows, nobody late, in no order; `check` is called between blocks.

    `chance_rate_hz` is null: nobody has watched the areas.
    """
    recorder = _Recorder(played, streams, check)
    for tuples in _blocks(played):
        members = played.rows_of(np.asarray(tuples.members, np.int64))
        for first in range(0, len(members), TUPLES_AT_ONCE):
            check()
            yield from recorder.matches(members[first : first + TUPLES_AT_ONCE])


def _blocks(played: PlayedRows) -> Iterator[Tuples]:
    query = played.query
    arguments = (played.batches, query.graph, played.keys, query.joint_threshold)
    if query.at_least is None:
        where = played.differ if played.may_meet_themselves else None
        yield from window_join_blocks(*arguments, where, query.sensors)
        return
    if played.may_meet_themselves:
        raise RunError(f"query {query.id} has at_least and filters that overlap: only --as-live answers it")
    limit = query.limits.max_candidates_per_detection or MOST_CANDIDATES
    yield window_join(*arguments, None, query.sensors, at_least=query.at_least, max_candidates=limit)


@dataclass(frozen=True)
class _Recorder:
    """Makes the records of tuples of rows, as the fusion core does, from a shard that holds these rows alone."""

    played: PlayedRows
    streams: Mapping[str, Stream]
    check: Callable[[], None]

    def matches(self, members: Int64Array) -> Iterator[FusedMatch]:
        is_present = members >= 0
        at, nth = np.unique(members[is_present], return_inverse=True)
        of_shard = np.full(members.shape, -1, np.intp)
        of_shard[is_present] = nth.ravel()
        state, accepted = _shard(self.played.rows.take(pa.array(at)), self.played.templates, self.streams)
        active = ActiveQuery(self.played.query, 1, False, 0)
        tuples = MatchTuples(of_shard).in_order()
        return (match for match, _ in judged_matches(state, active, tuples, accepted, self.check))


def _shard(
    rows: pa.Table, templates: Mapping[str, Histogram], streams: Mapping[str, Stream]
) -> tuple[ShardState, AcceptedBatch]:
    """Return a shard that holds rows; their order decides nothing that a record says."""
    state = ShardState.empty(streams, UNLIMITED, 0, CHEAPEST)
    names = list(zip(*(rows[name].to_pylist() for name in ("area", "sensor_id", "stream", "template")), strict=True))
    codes = {each: _codes(state, each, templates) for each in dict.fromkeys(names)}
    area, sensor, stream, template = np.array([codes[each] for each in names], np.int32).reshape(-1, 4).T.copy()
    detected_at_us = rows["detected_at_us"].to_numpy()
    count = len(rows)
    columns = EventColumns(
        ids=rows["id"].to_pylist(),
        attributes=rows["attributes"].cast(pa.binary()).to_pylist(),
        seq=np.arange(count),
        detected_at_us=detected_at_us,
        latest_us=detected_at_us + state.templates.latest_us[template],
        received_at_us=rows["received_at_us"].to_numpy(),
        area=area,
        sensor=sensor,
        template=template,
        stream=stream,
        slot=np.zeros(count, np.int32),
        remembered=np.zeros(count, np.bool_),
    )
    state.table.append(columns)
    nothing = np.zeros(count, np.int64)
    unwatched = Backgrounds(0, nothing, {(code, 0): None for code in np.unique(area).tolist()})
    return state, AcceptedBatch(columns, unwatched, nothing, nothing, np.zeros((count, 2), np.int64))


def _codes(
    state: ShardState, names: tuple[str, str, str, str], templates: Mapping[str, Histogram]
) -> tuple[int, int, int, int]:
    """Return the codes of an area, a sensor of it, a stream and a template."""
    area, sensor, stream, template = names
    known = state.areas.area(area, 0)
    of_sensor = state.areas.sensor(known, sensor)
    return known.code, of_sensor.code, state.stream_codes[stream], state.templates.add(templates[template])
