"""WindowKind: the queries of a shard that say something of every window over readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coincide.fusion.control.control import ActiveReadings
from coincide.fusion.kinds.query_turns import QueryTurns
from coincide.fusion.kinds.shard_kind import KindAnswers, ShardKind
from coincide.fusion.matching.search_work import HeldWork
from coincide.fusion.readings.reading_columns import NoNumbers
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.rows.areas import Area
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.wire.output_record import OutputRecord
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.status_record import Coalescing


@dataclass(frozen=True, eq=False)
class WindowKind(ShardKind):
    """Windows save nothing: what is held of readings follows from the rows that are kept."""

    queries: Mapping[str, ActiveReadings]
    sliding: SlidingQueries

    def begin(self, new: EventColumns, kept: EventColumns) -> NoNumbers:
        """Take the new rows of a batch; a query that was changed begins with all rows that are kept."""
        return self.sliding.insert(new, kept, self.queries.values())

    def answers(self, turns: QueryTurns, _accepted: AcceptedBatch, before: OnTime) -> KindAnswers:
        """Return the answers of all windows whose end is past since it was as `before`, by query and area.

        The end of a window is past once nothing before it is on time in its area: whatever comes then lies at or after
        it. So neither the row of a batch at which that happened matters nor what moved the watermark.
        """
        at_work = filter(turns.is_at_work, self.queries.values())
        records = [record for active in at_work for record in self._of_query(turns, active, before)]
        self.sliding.decide()
        return KindAnswers(lasting=records)

    def coalescing(self, active: ActiveReadings) -> Coalescing:
        """Return how a query's readings are coalesced, and why so."""
        choice = self.sliding.choice(active)
        return Coalescing(choice.scheme, choice.reason, choice.eager_cost_s, choice.lazy_cost_s)

    def rebuild(self, kept: EventColumns) -> None:
        """Hold exactly the readings among these rows."""
        self.sliding.rebuild(kept, self.queries.values())

    def settle(self, kept: EventColumns, evicted: EventColumns, idle: Sequence[Area]) -> list[EpisodeRecord]:
        """Forget readings that no window to come needs, those of idle areas and of evicted rows."""
        if len(evicted) or idle:
            self.rebuild(kept)
        else:
            self.sliding.drop_before_windows(kept, self.queries.values())
        return []

    def _of_query(self, turns: QueryTurns, active: ActiveReadings, before: OnTime) -> list[OutputRecord]:
        def answers(check: Callable[[], None]) -> Iterator[OutputRecord]:
            work = HeldWork(turns.limits.max_window_answers, check)
            return (answer.to_record() for answer in self.sliding.answers(active, before, work))

        records = turns.in_time(active, answers)
        active.episodes += len(records)
        return records
