"""JoinKind: joins of a shard: their matches, and the episodes that these become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.limits import Limits
from coincide.fusion.episodes.episode_slots import EpisodeSlot, EpisodeSlots
from coincide.fusion.episodes.shard_episodes import Episodes
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.health.member_errors import MemberErrors
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers, ShardKind
from coincide.fusion.matching.finder import Finder
from coincide.fusion.matching.match_recorder import MatchRecorder
from coincide.fusion.matching.match_verdicts import MatchTuples
from coincide.fusion.matching.row_limits import RowLimits, forget_past_seconds
from coincide.fusion.matching.search_work import GuardedWork
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.weighing.shard_evidence import ShardEvidence
from coincide.queries import Query
from coincide.wire.output_record import OutputRecord
from coincide.wire.results.match_record import MatchRecord


@dataclass(frozen=True, eq=False)
class JoinKind(ShardKind):
    """Joins search the rows of a table, make records of what they find, and count how members of matches err."""

    queries: Mapping[str, ActiveQuery]
    finder: Finder
    recorder: MatchRecorder
    member_errors: MemberErrors
    episodes: Episodes
    evidence: ShardEvidence

    @classmethod
    def of(
        cls,
        queries: Mapping[str, ActiveQuery],
        codes: RowCodes,
        table: EventTable,
        health: HealthTable,
        limits: Limits,
    ) -> JoinKind:
        """Return what a shard holds for these joins; how the members of matches err is counted in `health`."""
        streams, areas, templates = codes.streams, codes.areas, codes.templates
        most = limits.max_cached_pairs, limits.max_candidates_per_detection, limits.max_table_work
        return cls(
            queries,
            Finder(codes, *most),
            MatchRecorder(codes, table, limits),
            MemberErrors(health, areas, templates, streams.names),
            Episodes(streams, areas),
            ShardEvidence(codes),
        )

    @property
    def slots(self) -> EpisodeSlots:
        """Those of episodes."""
        return self.episodes.slots

    def begin(self, new: EventColumns, _kept: EventColumns) -> NoNumbers:
        """Take the new rows of a batch; episodes of queries that do not go on are final."""
        self.member_errors.begin()
        self.finder.insert(new, self.queries.values())
        self.episodes.begin(self.queries.values())
        self.evidence.begin(self.queries.values())
        return self.finder.no_numbers

    def answers(self, turns: QueryTurns, accepted: AcceptedBatch, _before: OnTime) -> KindAnswers:
        """Return the matches that the new rows complete, in the order of arrival, and what that, and time, changes."""
        at_work = [each for each in self.queries.values() if turns.is_at_work(each)] if len(accepted.rows) else []
        matches = [record for each in at_work for record in self._matches(turns, each, accepted)]
        return KindAnswers(matches, self._changes(), self._evidence(turns))

    def rebuild(self, kept: EventColumns) -> None:
        """Search exactly these rows."""
        self.finder.rebuild(kept, self.queries.values())

    def drop(self, gone: Int64Array, kept: EventColumns) -> None:
        """Drop the rows of these sequence numbers from the search; those that are kept stay."""
        self.finder.drop(gone, kept, self.queries.values())

    def recode(self, new_code: CodeArray, kept: EventColumns) -> None:
        """Follow new template codes by old code (-1: forgotten), which the rows have already."""
        self.finder.recode(new_code, self.queries)
        self.rebuild(kept)

    def restore(self, next_slot: int, slots: Sequence[bytes], _kept: EventColumns) -> None:
        """Take the episodes that were saved."""
        self.slots.next = next_slot
        self.episodes.restore(self.queries.values(), [EpisodeSlot.decode(slot) for slot in slots])

    def _matches(self, turns: QueryTurns, active: ActiveQuery, accepted: AcceptedBatch) -> list[OutputRecord]:
        """Return the matches of one query, and hand them to its episodes if it coalesces."""
        if not turns.is_fatal(active) and not self.finder.has_new(active):
            self.end_seconds(active)
            return []
        matches = turns.in_time(active, lambda check: self._found(active, accepted, check))
        active.matches += len(matches)
        self.end_seconds(active)
        for match, newest_seq, at in matches:
            if active.query.coalesce is not None:
                self.episodes.add(match, accepted.offset_of(newest_seq))
            if active.query.event is not None:
                self._await_evidence(active.query, match, newest_seq, at, accepted)
        return [match.to_record() for match, _, _ in matches]

    def _await_evidence(
        self, query: Query, match: MatchRecord, newest_seq: int, at: PositionArray, accepted: AcceptedBatch
    ) -> None:
        rows = self.recorder.table.columns
        then = accepted.backgrounds.at(int(rows.area[at.max()]), newest_seq)
        self.evidence.add(query, match, at.tolist(), rows, then)

    def _found(
        self, active: ActiveQuery, accepted: AcceptedBatch, check: Callable[[], None]
    ) -> Iterator[tuple[MatchRecord, int, PositionArray]]:
        """Yield each match that the accepted rows complete, the sequence number of its newest member, and its rows.

        `check` is called between blocks of work that take a second at most.
        """
        tuples = self.tuples(active, accepted, check)
        if not len(tuples.members):
            return
        self.member_errors.take(tuples.members, self.recorder.table.columns, active.query.graph)
        found = self.recorder.matches(active, tuples, accepted, check)
        yield from ((match, seq, at) for (match, seq), at in zip(found, tuples.members, strict=True))

    def tuples(self, active: ActiveQuery, accepted: AcceptedBatch, check: Callable[[], None]) -> MatchTuples:
        """Return the tuples that the accepted rows complete, up to the rows that break a limit."""
        recorder, table = self.recorder, self.recorder.table
        first_position = len(table) - len(accepted.rows)
        limits = RowLimits(active, recorder.limits, recorder.codes.areas, accepted, first_position)
        return limits.matches(lambda seqs, count: self.finder.find(active, table, seqs, GuardedWork(count, check)))

    def end_seconds(self, active: ActiveQuery) -> None:
        """Forget how many matches a query had in seconds that are over; call it at the end of a batch."""
        forget_past_seconds(active, self.recorder.codes.areas)

    def _evidence(self, turns: QueryTurns) -> list[OutputRecord]:
        """Return the evidence of matches that no later detection can change."""
        told = [record.to_record() for record in self.evidence.records(turns.guarded)]
        if told:
            turns.host.at_work("")
        return told

    def _changes(self) -> list[OutputRecord]:
        """Return the episodes that matches and time have changed, and those that a query's change has ended."""
        changes = self.episodes.changes()
        for query, records in Counter(change.query for change in changes).items():
            if query in self.queries:
                self.queries[query].episodes += records
        return [change.to_record() for change in changes]
