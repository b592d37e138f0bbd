"""Answers: the accepted rows of a batch to match records, episode records and answers of windows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec import UNSET, UnsetType

from coincide.fusion.control.control import EVERYWHERE, ActiveQuery, ActiveReadings, QueryInForce
from coincide.fusion.core.match_members import MatchMembers
from coincide.fusion.core.shard import ShardState
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.fusion.matching.chance_rates import ChanceJudge
from coincide.fusion.matching.match_verdicts import MatchTuples, Verdicts
from coincide.fusion.matching.pair_verdicts import PairJudge
from coincide.fusion.matching.row_limits import RowLimits, forget_past_seconds
from coincide.fusion.matching.search_work import (
    AnswerWork,
    GuardedWork,
    OutOfTimeError,
    StoppedError,
    TooManyAnswersError,
)
from coincide.fusion.matching.tuple_verdicts import TupleJudge
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.joins.search.work import blocks, checked
from coincide.joins.tuples.set_order import ABSENT
from coincide.wire.match_record import MatchRecord, match_id
from coincide.wire.output_record import OutputRecord
from coincide.wire.status_record import Coalescing, Suspension

RECORDS_AT_ONCE = 4_096  # a second at most

Answer = TypeVar("Answer")


def matches_and_episodes(state: ShardState, accepted: AcceptedBatch) -> tuple[list[OutputRecord], list[OutputRecord]]:
    """Return the matches that the new rows complete, by query and in the order of arrival, and changed episodes."""
    active = state.control.active
    state.finder.insert(accepted.rows, active.values())
    state.episodes.begin(active.values())
    at_work = [each for each in active.values() if state.is_at_work(each)] if len(accepted.rows) else []
    matches = [record for each in at_work for record in _matches(state, each, accepted)]
    changes = state.episodes.changes()
    state.totals.matches += len(matches)
    state.totals.episodes += len(changes)
    for query, records in Counter(change.query for change in changes).items():
        if query in active:
            active[query].episodes += records
    return matches, [change.to_record() for change in changes]


def window_answers(state: ShardState, new: EventColumns, before: OnTime) -> list[OutputRecord]:
    """Return the answers of all windows whose end is past since it was as `before`, by query and area.

    The end of a window is past once nothing before it is on time in its area: whatever comes then lies at or after it.
    So neither the row of a batch at which that happened matters nor what moved the watermark. Call it after the batch's
    `new` rows were taken.
    """
    sliding = state.control.sliding
    state.no_numbers = state.finder.no_numbers | state.sliding.insert(new, state.table.columns, sliding.values())
    records: list[OutputRecord] = []
    for active in sliding.values():
        if state.is_at_work(active):
            records += _answers(state, active, before)
    state.totals.episodes += len(records)
    state.sliding.decide()
    return records


def spell_changes(state: ShardState, new: EventColumns, before: OnTime) -> list[OutputRecord]:
    """Return what the batch's `new` rows, and time since it was as `before`, have changed of spells.

    Those of a query that does not go on are final.
    """
    active = state.control.spells
    records = [change.to_record() for change in state.spells.begin(active.values())]
    state.no_numbers |= state.spells.insert(new)
    for each in active.values():
        changes = _in_time(state, each, partial(state.spells.changes, each.query.id, before))
        if state.is_at_work(each):
            records += [change.to_record() for change in changes]
            each.episodes += len(changes)
    state.totals.episodes += len(records)
    return records


def coalescing(state: ShardState, active: QueryInForce) -> Coalescing | UnsetType:
    """Return how a query's readings are coalesced; UNSET where there are no windows, and no choice."""
    if not isinstance(active, ActiveReadings):
        return UNSET
    choice = state.sliding.choice(active)
    return Coalescing(choice.scheme, choice.reason, choice.eager_cost_s, choice.lazy_cost_s)


def _answers(state: ShardState, active: ActiveReadings, before: OnTime) -> list[OutputRecord]:
    """Return the answers of one query over readings."""

    def answers(check: Callable[[], None]) -> Iterator[OutputRecord]:
        work = AnswerWork(state.limits.max_window_answers, check)
        return (answer.to_record() for answer in state.sliding.answers(active, before, work))

    records = _in_time(state, active, answers)
    active.episodes += len(records)
    return records


def _matches(state: ShardState, active: ActiveQuery, accepted: AcceptedBatch) -> list[OutputRecord]:
    """Return the matches of one query, and hand them to its episodes if it coalesces."""
    matches = _in_time(state, active, lambda check: _match_records(state, active, accepted, check))
    active.matches += len(matches)
    forget_past_seconds(active, state.areas)
    if active.query.coalesce is not None:
        for match, newest_seq in matches:
            state.episodes.add(match, accepted.offset_of(newest_seq))
    return [match.to_record() for match, _ in matches]


def _in_time(
    state: ShardState, active: QueryInForce, answers: Callable[[Callable[[], None]], Iterable[Answer]]
) -> list[Answer]:
    """Return all answers of one query; if they are too dear, suspend it and return none."""
    if active.query.id in state.host.fatal:
        _suspend(state, active, "memory", None, None)
        return []
    state.host.at_work(active.query.id)
    turn = state.time.turn()

    def check() -> None:
        turn.check()
        if state.is_stopped(active):
            raise StoppedError

    try:
        return list(checked(answers(check), RECORDS_AT_ONCE, check))
    except StoppedError:
        return []
    except OutOfTimeError as error:
        name = "max_query_s" if turn.most_s == state.limits.max_query_s else "max_push_s"
        _suspend(state, active, name, turn.most_s, round(error.spent_s, 3))
    except TooManyAnswersError as error:
        _suspend(state, active, "max_window_answers", state.limits.max_window_answers, error.answers)
    except MemoryError:
        _suspend(state, active, "memory", None, None)
    finally:
        active.work.seconds += turn.spent_s()
        state.host.at_work("")
    return []


def _suspend(state: ShardState, active: QueryInForce, limit: str, allowed: float | None, reached: float | None) -> None:
    newest_us = max(clock.heard_us for clock in state.areas.clocks.values())
    active.suspensions = {EVERYWHERE: Suspension(limit, allowed, reached, newest_us)}


def _match_records(
    state: ShardState, active: ActiveQuery, accepted: AcceptedBatch, check: Callable[[], None]
) -> Iterator[tuple[MatchRecord, int]]:
    """Yield each match and the sequence number of its newest member."""
    limits = RowLimits(active, state.limits, state.areas, accepted, len(state.table) - len(accepted.rows))
    tuples = limits.matches(lambda seqs, count: state.finder.find(active, state.table, seqs, GuardedWork(count, check)))
    state.member_errors.take(tuples.members, state.table.columns, active.query.graph)
    yield from judged_matches(state, active, tuples, accepted, check)


def judged_matches(
    state: ShardState, active: ActiveQuery, tuples: MatchTuples, accepted: AcceptedBatch, check: Callable[[], None]
) -> Iterator[tuple[MatchRecord, int]]:
    """Yield the match that each tuple of rows makes, and the sequence number of its newest member."""
    verdicts = _verdicts(state, active, tuples, accepted, check)
    for at in blocks(len(tuples.members), RECORDS_AT_ONCE, check):
        yield from _records(state, active, tuples.take(at), verdicts.take(at))


def _verdicts(
    state: ShardState, active: ActiveQuery, tuples: MatchTuples, accepted: AcceptedBatch, check: Callable[[], None]
) -> Verdicts:
    """Return what is said of the tuples; `check` is called between blocks that take a second at most."""
    rows, query = state.table.columns, active.query
    streams = tuple(state.streams.codes[stream] for stream in query.streams)
    budget = AdvisoryBudget(state.limits.max_advisory_work, state.limits.max_advisory_work_of_frame)
    chance = ChanceJudge(query, streams, rows, state.templates, accepted, state.rivals, budget, check)
    if len(query.roles) > 2:
        return TupleJudge(query, rows, state.templates, chance, check).verdicts(tuples.members)
    return PairJudge(query, rows, state.templates, accepted, budget, chance, check).verdicts(tuples.members)


def _records(
    state: ShardState, active: ActiveQuery, tuples: MatchTuples, verdicts: Verdicts
) -> Iterator[tuple[MatchRecord, int]]:
    rows, query = state.table.columns, active.query
    is_pair = len(query.roles) == 2
    of_matches = MatchMembers(query, rows, state.areas, state.templates)
    newest = tuples.members.max(axis=1)
    received_at_us = np.where(tuples.members == ABSENT, BEFORE_ALL_US, rows.received_at_us[tuples.members]).max(axis=1)
    columns = zip(
        of_matches.members(tuples.members),
        [()] * len(newest) if tuples.supersedes is None else of_matches.members(tuples.supersedes),
        *of_matches.spans_us(tuples.members),
        received_at_us.tolist(),
        rows.area[newest].tolist(),
        rows.seq[newest].tolist(),
        strict=True,
    )
    for nth, (members, smaller, earliest_us, latest_us, received_us, area, newest_seq) in enumerate(columns):
        match = MatchRecord(
            id=match_id(query.id, members),
            query=query.id,
            query_version=active.version,
            area=state.areas.area_of(area).name,
            probability=verdicts.probability[nth],
            earliest_us=earliest_us,
            latest_us=latest_us,
            received_at_us=received_us,
            occurred=verdicts.occurred[nth],
            chance_rate_hz=verdicts.chance_rate_hz[nth],
            chance_rate_error_hz=verdicts.chance_rate_error_hz[nth],
            unknown=verdicts.unknown[nth],
            members=members,
            joint=UNSET if is_pair else verdicts.joint[nth],
            edges=UNSET if is_pair else verdicts.edges[nth],
            supersedes=UNSET if is_pair else [match_id(query.id, smaller)] if smaller else [],
        )
        yield match, newest_seq
