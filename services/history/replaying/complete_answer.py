"""The complete answer: the library's join of whole batches, in the records that the live job writes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from coincide import Histogram, Stream
from coincide.arrays.kinds import FloatArray, Int64Array, PositionArray
from coincide.chunks.reach import graph_reach_us
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.fusion.matching.match_recorder import MatchRecorder
from coincide.fusion.matching.match_verdicts import DECIMALS, MatchTuples
from coincide.fusion.matching.search_work import HeldTooMuchError, HeldWork
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins import Tuples
from coincide.queries import Query
from coincide.wire.results.match_record import MatchRecord
from services.history.replaying.engine_rows import MOST_PAIRS, UNLIMITED, event_columns, unwatched
from services.history.replaying.pair_levels import PairLevels
from services.history.replaying.request import RunError
from services.history.rows.played_rows import PlayedRows

TUPLES_AT_ONCE = 16_384
AFTER_ALL_US = np.iinfo(np.int64).max
EVERY_PLACE = AdvisoryBudget(math.inf, math.inf)  # which matches had theirs told would else depend on the chunks


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
    for rows, reached in _found(played, query, levels, check):
        check()
        member_us = np.where(rows < 0, AFTER_ALL_US, at_us[rows])
        earliest = np.take_along_axis(rows, member_us.argmin(axis=1)[:, None], axis=1)[:, 0]
        at = np.flatnonzero(played.is_own[earliest])
        if len(at):
            yield FoundTuples(rows[at], reached(at))


Reached = Callable[[PositionArray], FloatArray]
"""Returns what some of the tuples reach, by their positions."""


def _found(
    played: PlayedRows, query: Query, levels: PairLevels | None, check: Callable[[], None]
) -> Iterator[tuple[Int64Array, Reached]]:
    """Yield blocks of tuples of rows, (n, roles), whoever owns them."""
    try:
        yield from _placed(played, query, check) if query.needs_places else _joined(played, query, levels, check)
    except HeldTooMuchError:
        raise RunError(
            f"more than {MOST_PAIRS:,} pairs of detections may be together in one part of the range: ask for a "
            "shorter range, a shorter window_s or higher thresholds"
        ) from None


def _placed(played: PlayedRows, query: Query, check: Callable[[], None]) -> Iterator[tuple[Int64Array, Reached]]:
    """Let the engine search: the library's joins of batches know no places."""
    for members in played.of_engine.found(query, check):
        rows = members.astype(np.int64)
        yield rows, partial(_engine_probability, played, query, rows, check)


def _engine_probability(
    played: PlayedRows, query: Query, rows: Int64Array, check: Callable[[], None], at: PositionArray
) -> FloatArray:
    return played.of_engine.probability(query, rows[at], check)


def _joined(
    played: PlayedRows, query: Query, levels: PairLevels | None, check: Callable[[], None]
) -> Iterator[tuple[Int64Array, Reached]]:
    for tuples in _blocks(played, query, check):
        rows = played.rows_of(np.asarray(tuples.members, np.int64))
        yield rows, partial(_reached, played, query, levels, tuples, rows)


def _reached(
    played: PlayedRows,
    query: Query,
    levels: PairLevels | None,
    tuples: Tuples,
    rows: Int64Array,
    at: PositionArray,
) -> FloatArray:
    return _probability(query, tuples)[at] if levels is None else played.reached(rows[at], levels)


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
    yield joined.sets(heard, HeldWork(MOST_PAIRS, check))


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
    return MatchRecorder(codes, table, UNLIMITED, placing=EVERY_PLACE), unwatched(columns)
