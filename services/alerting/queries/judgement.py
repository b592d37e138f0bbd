"""Judgement of a query when it is put: what its thresholds can reach, and what it would look at by chance.

It goes by the sensors that ingest has registered and by the rates that fusion has seen.
"""

import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from coincide.errors import QueryError
from coincide.fusion.control.limits import Limits
from coincide.queries import AnyQuery, Query, query_from_json
from coincide.queries.expected_work import expected_work
from coincide.queries.explaining import ExplainedQuery, Explanation, SeenRates, unreachable_because
from services.alerting.records.receiver import Receivers
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.store.query_rows import QueryReport
from services.common.http.problem import Problem
from services.common.settings import Streams

UNTIL_FUSION_TELLS = Limits()
REFUSED_BEYOND = 100  # times the limit: what is expected is an upper bound, and rates may fall


def warnings(document: Mapping[str, Any], report: QueryReport, streams: Streams) -> list[str]:
    """Return a sentence where the query can be expected to be suspended by chance matches alone."""
    try:
        query = _parsed(json.dumps(document))
        sentence, beyond = _expectation(query, report, streams)
    except (QueryError, KeyError):  # written by a newer version of alerting, or its stream is not declared any more
        return []
    return [sentence] if beyond > 1 else []


@lru_cache(maxsize=1_000)
def _parsed(document: str) -> AnyQuery:
    return query_from_json(json.loads(document))


def refuse_hopeless(query: AnyQuery, report: QueryReport, streams: Streams) -> None:
    """Raise a Problem, 422, for a query that looks at a hundred times as much as a limit allows."""
    if isinstance(query, Query) and query.is_filtered:
        return  # nobody knows how few detections the filters admit
    sentence, beyond = _expectation(query, report, streams)
    if beyond > REFUSED_BEYOND:
        raise Problem(422, f"within: {sentence}", field="within")


def _expectation(query: AnyQuery, report: QueryReport, streams: Streams) -> tuple[str, float]:
    """Return what is to be expected, and how many times the limit that is."""
    if not isinstance(query, Query):
        return "", 0.0
    expected = expected_work(query, report.busiest_hz, streams)
    name = "max_matches_per_detection" if len(query.roles) == 2 else "max_candidates_per_detection"
    if expected is None:
        return "", 0.0
    most = getattr(query.limits, name) or report.limits.get(name) or getattr(UNTIL_FUSION_TELLS, name)
    sentence = (
        f"chance alone may give up to {expected.candidates_per_detection:.2g} candidates per detection at the rates of "
        f"the busiest area, and {name} is {most}: choose narrower windows, fewer roles, higher thresholds or `equal`"
    )
    return sentence, expected.candidates_per_detection / most


def explained_of(
    query: AnyQuery, sensors: RegisteredSensors, seen: SeenRates, streams: Streams
) -> ExplainedQuery | None:
    """Return what explains the query by the sensors registered; None if they are not known, or it joins nothing."""
    if not isinstance(query, Query) or not sensors.is_caught_up:
        return None
    return ExplainedQuery(query, sensors.all(), seen, streams)


def refuse_unreachable(query: AnyQuery, explanation: Explanation | None) -> None:
    """Raise a Problem, 422, for a threshold that no registered sensors can reach, unless the query allows that."""
    if explanation is None or not isinstance(query, Query) or query.unreachable == "allow":
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
