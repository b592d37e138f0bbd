"""ShardJoins: the joins of a shard: which rows match, and what their records say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.limits import Limits
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.health.member_errors import MemberErrors
from coincide.fusion.matching.finder import Finder
from coincide.fusion.matching.match_recorder import MatchRecorder
from coincide.fusion.matching.match_verdicts import MatchTuples
from coincide.fusion.matching.row_limits import RowLimits, forget_past_seconds
from coincide.fusion.matching.search_work import GuardedWork
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.wire.match_record import MatchRecord


@dataclass(frozen=True, eq=False)
class ShardJoins:
    """Searches the rows of a table for all joins, and makes records of what it finds."""

    finder: Finder
    recorder: MatchRecorder
    member_errors: MemberErrors

    @classmethod
    def of(cls, codes: RowCodes, table: EventTable, health: HealthTable, limits: Limits) -> ShardJoins:
        """Return the joins of a shard; how the members of matches err is counted in `health`."""
        areas, templates = codes.areas, codes.templates
        most = limits.max_cached_pairs, limits.max_candidates_per_detection, limits.max_table_work
        return cls(
            Finder(codes.streams.codes, areas, templates, *most),
            MatchRecorder(codes, table, limits),
            MemberErrors(health, areas, templates, codes.streams.names),
        )

    def insert(self, new: EventColumns, queries: Collection[ActiveQuery]) -> NoNumbers:
        """Begin a batch with its new rows; return which have an attribute that is no number where one was needed."""
        self.member_errors.begin()
        self.finder.insert(new, queries)
        return self.finder.no_numbers

    def matches(
        self, active: ActiveQuery, accepted: AcceptedBatch, check: Callable[[], None]
    ) -> Iterator[tuple[MatchRecord, int]]:
        """Yield each match that the accepted rows complete, and the sequence number of its newest member.

        `check` is called between blocks of work that take a second at most.
        """
        tuples = self.tuples(active, accepted, check)
        self.member_errors.take(tuples.members, self.recorder.table.columns, active.query.graph)
        yield from self.recorder.matches(active, tuples, accepted, check)

    def tuples(self, active: ActiveQuery, accepted: AcceptedBatch, check: Callable[[], None]) -> MatchTuples:
        """Return the tuples that the accepted rows complete, up to the rows that break a limit."""
        recorder, table = self.recorder, self.recorder.table
        first_position = len(table) - len(accepted.rows)
        limits = RowLimits(active, recorder.limits, recorder.codes.areas, accepted, first_position)
        return limits.matches(lambda seqs, count: self.finder.find(active, table, seqs, GuardedWork(count, check)))

    def end_seconds(self, active: ActiveQuery) -> None:
        """Forget how many matches a query had in seconds that are over; call it at the end of a batch."""
        forget_past_seconds(active, self.recorder.codes.areas)
