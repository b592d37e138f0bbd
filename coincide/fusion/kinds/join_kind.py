"""JoinKind: joins of a shard: their matches, and the episodes that these become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.episodes.episode_slots import EpisodeSlot, EpisodeSlots
from coincide.fusion.episodes.shard_episodes import Episodes
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers, ShardKind
from coincide.fusion.matching.shard_joins import ShardJoins
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.wire.output_record import OutputRecord


@dataclass(frozen=True, eq=False)
class JoinKind(ShardKind):
    """Joins hold each row until no match to come needs it."""

    queries: Mapping[str, ActiveQuery]
    joins: ShardJoins
    episodes: Episodes

    @property
    def slots(self) -> EpisodeSlots:
        """Those of episodes."""
        return self.episodes.slots

    def begin(self, new: EventColumns, _kept: EventColumns) -> NoNumbers:
        """Take the new rows of a batch; episodes of queries that do not go on are final."""
        no_numbers = self.joins.insert(new, self.queries.values())
        self.episodes.begin(self.queries.values())
        return no_numbers

    def answers(self, turns: QueryTurns, accepted: AcceptedBatch, _before: OnTime) -> KindAnswers:
        """Return the matches that the new rows complete, in the order of arrival, and what that, and time, changes."""
        at_work = [each for each in self.queries.values() if turns.is_at_work(each)] if len(accepted.rows) else []
        matches = [record for each in at_work for record in self._matches(turns, each, accepted)]
        return KindAnswers(matches, self._changes())

    def rebuild(self, kept: EventColumns) -> None:
        """Search exactly these rows."""
        self.joins.finder.rebuild(kept, self.queries.values())

    def drop(self, gone: Int64Array, kept: EventColumns) -> None:
        """Drop the rows of these sequence numbers from the search; those that are kept stay."""
        self.joins.finder.drop(gone, kept, self.queries.values())

    def recode(self, new_code: CodeArray, kept: EventColumns) -> None:
        """Follow new template codes by old code (-1: forgotten), which the rows have already."""
        self.joins.finder.recode(new_code, self.queries)
        self.rebuild(kept)

    def restore(self, next_slot: int, slots: Sequence[bytes], _kept: EventColumns) -> None:
        """Take the episodes that were saved."""
        self.slots.next = next_slot
        self.episodes.restore(self.queries.values(), [EpisodeSlot.decode(slot) for slot in slots])

    def _matches(self, turns: QueryTurns, active: ActiveQuery, accepted: AcceptedBatch) -> list[OutputRecord]:
        """Return the matches of one query, and hand them to its episodes if it coalesces."""
        matches = turns.in_time(active, lambda check: self.joins.matches(active, accepted, check))
        active.matches += len(matches)
        self.joins.end_seconds(active)
        if active.query.coalesce is not None:
            for match, newest_seq in matches:
                self.episodes.add(match, accepted.offset_of(newest_seq))
        return [match.to_record() for match, _ in matches]

    def _changes(self) -> list[OutputRecord]:
        """Return the episodes that matches and time have changed, and those that a query's change has ended."""
        changes = self.episodes.changes()
        for query, records in Counter(change.query for change in changes).items():
            if query in self.queries:
                self.queries[query].episodes += records
        return [change.to_record() for change in changes]
