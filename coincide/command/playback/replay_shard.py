"""ReplayShard: rows of files through the stages of the fusion core, without records, journal or status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array, LabelArray, PositionArray
from coincide.command.faults import CommandError
from coincide.fusion.control.control import in_force
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.admission import RowAdmission
from coincide.fusion.core.shard import ShardState
from coincide.fusion.matching.match_verdicts import MatchTuples, thresholded
from coincide.fusion.readings.reading_columns import PLACE
from coincide.fusion.readings.sliding_queries import CHEAPEST
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.named_rows import NamedRows
from coincide.joins.search.search import judged_at_once
from coincide.joins.search.work import blocks
from coincide.joins.tuples.set_order import ABSENT
from coincide.offsets.pair_work import TABLE_WORK
from coincide.queries import Query
from coincide.stream import Stream
from coincide.wire.status_record import Suspension, Totals

LIMITS = Limits(quiet_s=None, max_table_work=TABLE_WORK)  # files have no heartbeats, and mostly few templates
LATE, CONFLICT = "late", "conflict"


class ReplayedTuples(NamedTuple):
    """Some tuples that a query found: their members as texts, (n, roles), None where a role has none."""

    query: Query
    probability: FloatArray  # the one that the query has a threshold for
    members: LabelArray
    larger: PositionArray  # which of them supersede a smaller one, (m,)
    smaller: LabelArray  # the smaller ones, (m, roles)


class ReplayShard:
    """All queries over all areas. Rows are admitted, searched and dropped by the stages that a push of the job has."""

    def __init__(self, queries: Sequence[Query], streams: Sequence[Stream], limits: Limits = LIMITS) -> None:
        self._state = ShardState.of(KnownStreams({each.name: each for each in streams}), limits, 0, CHEAPEST)
        for query in queries:
            self._state.queries.control.put_in_force(in_force(query, 1, False, 0))
        self._texts: dict[int, str] = {}  # of the rows that are kept, by sequence number

    @property
    def totals(self) -> Totals:
        """What became of all rows so far."""
        return self._state.totals

    @property
    def suspensions(self) -> list[tuple[str, Suspension]]:
        """The limits that queries have broken, by the id of the query."""
        joins = self._state.queries.joins.queries
        return [(name, each) for name, query in joins.items() for each in query.suspensions.values()]

    def take(self, rows: NamedRows, texts: LabelArray) -> tuple[PositionArray, Iterator[ReplayedTuples]]:
        """Take rows, in the order of arrival, and how an answer shows each.

        Return which are late, and what all of them bring, which has to be read before more rows come.
        """
        state = self._state
        admission = RowAdmission(state.codes, state.rows, state.held, state.health, state.totals)
        accepted = admission.take_rows(rows)
        for letter in admission.letters_in_order():
            if letter.reason not in (LATE, CONFLICT):
                raise CommandError(letter.detail)
        late = [row for _, row, letter in admission.letters if letter.reason == LATE]
        self._texts.update(zip(accepted.rows.seq.tolist(), texts[accepted.frame].tolist(), strict=True))
        lacking = state.queries.begin(accepted.rows, state.rows.columns)
        state.totals.no_place += sum(what == PLACE for _, what in lacking)
        return np.array(late, np.intp), self._answers(accepted)

    def _answers(self, accepted: AcceptedBatch) -> Iterator[ReplayedTuples]:
        joins = self._state.queries.joins
        for active in joins.queries.values():
            if len(accepted.rows) and not active.is_suspended:
                tuples = joins.tuples(active, accepted, _go_on)
                at_once = judged_at_once(active.query.graph, on_clocks=self._state.codes.templates.has_clocks)
                for at in blocks(len(tuples.members), at_once, _go_on):
                    yield self._answer(active.query, tuples.take(at))
                joins.end_seconds(active)
        self._sweep()

    def _answer(self, query: Query, tuples: MatchTuples) -> ReplayedTuples:
        rows, members, codes = self._state.rows.columns, tuples.members, self._state.codes
        smaller = members[:0] if tuples.supersedes is None else tuples.supersedes
        larger = np.flatnonzero((smaller != ABSENT).any(axis=1))
        probability = thresholded(query, members, rows, codes.templates, codes.places)
        shown = (self._shown(each, rows.seq) for each in (members, smaller[larger]))
        return ReplayedTuples(query, probability, next(shown), larger, next(shown))

    def _shown(self, members: PositionArray, seq: Int64Array) -> LabelArray:
        at = members.ravel()
        numbers = np.where(at == ABSENT, ABSENT, seq[at]).tolist()
        return np.array([*map(self._texts.get, numbers)], dtype=object).reshape(members.shape)

    def _sweep(self) -> None:
        """Drop what nothing needs any more, where that is due."""
        state, sweeper = self._state, self._state.sweeper
        if state.rows.is_sweep_due(len(state.codes.areas)):
            if sweeper.sweep().freed_sensors:
                state.health.forget_codes()
            self._texts = {seq: self._texts[seq] for seq in state.rows.columns.seq.tolist()}
        sweeper.forget_spare_codes()
        if state.health.is_full:
            state.health.forget()


def _go_on() -> None:
    """Files are read to their end."""
