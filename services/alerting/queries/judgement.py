"""Judgement of a query when it is put: what its thresholds can reach, and what it would look at by chance.

It goes by the sensors that ingest has registered and by the rates that fusion has seen.
"""

import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json
from coincide.queries.explaining import ExplainedQuery, Explanation, SeenRates, unreachable_because
from services.alerting.queries.judges import judge_of
from services.alerting.records.receiver import Receivers
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.store.query_rows import QueryReport
from services.common.http.problem import Problem
from services.common.settings import Streams

REFUSED_BEYOND = 100  # times the limit: what is expected is an upper bound, and rates may fall


def warnings(document: Mapping[str, Any], report: QueryReport, streams: Streams) -> list[str]:
    """Return a sentence where the query can be expected to be suspended by chance matches alone."""
    try:
        query = _parsed(json.dumps(document))
        sentence, beyond = judge_of(query).expectation(report, streams)
    except (QueryError, KeyError):  # written by a newer version of alerting, or its stream is not declared any more
        return []
    return [sentence] if beyond > 1 else []


@lru_cache(maxsize=1_000)
def _parsed(document: str) -> AnyQuery:
    return query_from_json(json.loads(document))


def refuse_hopeless(query: AnyQuery, report: QueryReport, streams: Streams) -> None:
    """Raise a Problem, 422, for a query that looks at a hundred times as much as a limit allows."""
    judge = judge_of(query)
    sentence, beyond = judge.expectation(report, streams)
    if beyond > REFUSED_BEYOND and judge.is_sure:
        raise Problem(422, f"within: {sentence}", field="within")


def explained_of(
    query: AnyQuery, sensors: RegisteredSensors, seen: SeenRates, streams: Streams
) -> ExplainedQuery | None:
    """Return what explains the query by the sensors registered; None if they are not known, or nothing does."""
    return judge_of(query).explained(sensors.all(), seen, streams) if sensors.is_caught_up else None


def refuse_unreachable(query: AnyQuery, explanation: Explanation | None) -> None:
    """Raise a Problem, 422, for a threshold that no registered sensors can reach, unless the query allows that."""
    if explanation is None or judge_of(query).accepts_unreachable:
        return
    because = unreachable_because(explanation)
    if because is not None:
        accept = 'choose a lower threshold or a wider window, or accept it by "unreachable": "allow"'
        raise Problem(422, f"within: {because}: {accept}", field="within")


def refuse_unknown_receivers(query: AnyQuery, told_before: Collection[str], receivers: Receivers) -> None:
    """Raise a Problem, 422, if the query's alert names somebody new whom nobody has set; names from before stay."""
    named = () if query.alert is None else query.alert.to or ()
    known = [each.id for each in receivers.all()]
    for name in named:
        if name not in known and name not in told_before:
            there_are = f"there are: {', '.join(known)}" if known else "there are none"
            raise Problem(422, f"alert.to: there is no receiver {name!r} ({there_are}); set it first", field="alert.to")
