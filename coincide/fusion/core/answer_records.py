"""Answers: the accepted rows of a batch to matches, changed episodes, answers of windows and changed spells."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import UNSET, UnsetType

from coincide.fusion.control.control import ActiveQuery, ActiveReadings, QueryInForce
from coincide.fusion.core.query_turns import QueryTurns
from coincide.fusion.core.shard_queries import ShardQueries
from coincide.fusion.matching.search_work import HeldWork
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.on_time import OnTime
from coincide.wire.output_record import OutputRecord
from coincide.wire.status_record import Coalescing


def match_records(queries: ShardQueries, turns: QueryTurns, accepted: AcceptedBatch) -> list[OutputRecord]:
    """Return the matches that the new rows complete, by query and in the order of arrival; episodes take them."""
    active = queries.control.active.values()
    at_work = [each for each in active if turns.is_at_work(each)] if len(accepted.rows) else []
    return [record for each in at_work for record in _matches(queries, turns, each, accepted)]


def episode_changes(queries: ShardQueries) -> list[OutputRecord]:
    """Return the episodes that the batch's matches, and time, have changed; and those that a query's change ends."""
    changes, active = queries.episodes.changes(), queries.control.active
    for query, records in Counter(change.query for change in changes).items():
        if query in active:
            active[query].episodes += records
    return [change.to_record() for change in changes]


def window_answers(queries: ShardQueries, turns: QueryTurns, before: OnTime) -> list[OutputRecord]:
    """Return the answers of all windows whose end is past since it was as `before`, by query and area.

    The end of a window is past once nothing before it is on time in its area: whatever comes then lies at or after it.
    So neither the row of a batch at which that happened matters nor what moved the watermark.
    """
    records: list[OutputRecord] = []
    for active in queries.control.sliding.values():
        if turns.is_at_work(active):
            records += _answers(queries.sliding, turns, active, before)
    queries.sliding.decide()
    return records


def spell_changes(queries: ShardQueries, turns: QueryTurns, before: OnTime) -> list[OutputRecord]:
    """Return what the batch's rows, and time since it was as `before`, have changed of spells."""
    records: list[OutputRecord] = []
    for active in queries.control.spells.values():
        changes = turns.in_time(active, partial(queries.spells.changes, active.query.id, before))
        if turns.is_at_work(active):
            records += [change.to_record() for change in changes]
            active.episodes += len(changes)
    return records


def coalescing(sliding: SlidingQueries, active: QueryInForce) -> Coalescing | UnsetType:
    """Return how a query's readings are coalesced; UNSET where there are no windows, and no choice."""
    if not isinstance(active, ActiveReadings):
        return UNSET
    choice = sliding.choice(active)
    return Coalescing(choice.scheme, choice.reason, choice.eager_cost_s, choice.lazy_cost_s)


def _answers(sliding: SlidingQueries, turns: QueryTurns, active: ActiveReadings, before: OnTime) -> list[OutputRecord]:
    """Return the answers of one query over readings."""

    def answers(check: Callable[[], None]) -> Iterator[OutputRecord]:
        work = HeldWork(turns.limits.max_window_answers, check)
        return (answer.to_record() for answer in sliding.answers(active, before, work))

    records = turns.in_time(active, answers)
    active.episodes += len(records)
    return records


def _matches(
    queries: ShardQueries, turns: QueryTurns, active: ActiveQuery, accepted: AcceptedBatch
) -> list[OutputRecord]:
    """Return the matches of one query, and hand them to its episodes if it coalesces."""
    matches = turns.in_time(active, lambda check: queries.joins.matches(active, accepted, check))
    active.matches += len(matches)
    queries.joins.end_seconds(active)
    if active.query.coalesce is not None:
        for match, newest_seq in matches:
            queries.episodes.add(match, accepted.offset_of(newest_seq))
    return [match.to_record() for match, _ in matches]
