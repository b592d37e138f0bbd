"""``coincide join --query`` of a query that asks where sensors are: the engine answers it, and nobody is late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array, LabelArray, PositionArray
from coincide.command.input.arrivals import Arrivals
from coincide.command.playback.replay import ROWS_AT_ONCE, named_rows, tell_suspended, tell_without_place
from coincide.command.playback.replay_shard import LIMITS, ReplayShard
from coincide.fusion.matching.match_verdicts import MatchTuples
from coincide.joins.tuples.set_order import ABSENT
from coincide.queries import Query
from coincide.queries.joins.match_limits import MatchLimits
from coincide.stream import Stream

MOST = 10**9  # a file's rows have no limit but memory
UNLIMITED = replace(LIMITS, max_matches_per_detection=MOST, max_matches_per_s=MOST)


def placed_tuples(query: Query, arrivals: Arrivals) -> tuple[Int64Array, FloatArray]:
    """Return the rows of the members of each tuple that matches, (n, roles), -1 where one is absent; and its P, (n,).

    Rows come in the order of their latest instants, so that nobody is late, whatever the order in the files.
    """
    of_templates = np.array([*(each.latest_us for each in arrivals.templates), 0], np.int64)
    latest_us = arrivals.rows["anchor_us"] + of_templates[arrivals.rows["template"]]
    order = np.argsort(latest_us, kind="stable")
    in_time = Arrivals(arrivals.templates, {**arrivals.rows, "received_at_us": latest_us}).take(order)
    shard, parts = _shard(query, arrivals), [(MatchTuples.none(len(query.roles)).members,) * 2]
    probability = [np.empty(0)]
    for first in range(0, len(in_time), ROWS_AT_ONCE):
        at = slice(first, first + ROWS_AT_ONCE)
        _, answers = shard.take(named_rows(in_time.take(at), first), order[at].astype(object))
        for found in answers:
            members, smaller = _numbers(found.members), np.full(found.members.shape, ABSENT, np.intp)
            smaller[found.larger] = _numbers(found.smaller)
            parts.append((members, smaller))
            probability.append(found.probability)
    tell_suspended(shard.suspensions, 1)
    tell_without_place(shard.totals.no_place)
    sets = MatchTuples(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    stand = sets.are_standing
    return sets.members[stand].astype(np.int64), np.concatenate(probability)[stand]


def _shard(query: Query, arrivals: Arrivals) -> ReplayShard:
    asked = replace(query, limits=MatchLimits(max_candidates_per_detection=query.limits.max_candidates_per_detection))
    longest_s = max((each.length_s for each in arrivals.templates), default=0.0)
    return ReplayShard([asked], [Stream(name, 0.0, longest_s) for name in dict.fromkeys(query.streams)], UNLIMITED)


def _numbers(rows: LabelArray) -> PositionArray:
    return np.where(rows == None, ABSENT, rows).astype(np.intp)  # noqa: E711 - of each member
