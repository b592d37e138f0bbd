"""What an alert is made of: an episode or a match as it was just stored, with what its query's rule asks of it."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from coincide.errors import QueryError
from coincide.queries import AlertRule, query_from_json
from coincide.queries.fields.alert_rule import MOST_MEMBERS
from coincide.wire.fields import or_none
from services.alerting.records.alert import Kind
from services.alerting.store.episode_rows import ReceivedEpisode
from services.alerting.store.evidence_rows import Sureness
from services.alerting.store.match_rows import StoredMatch
from services.alerting.store.query_rows import QueryVersion, read_versions


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One state of what a query found; `is_gone` where it no longer stands. `revision` grows with every change.

    `stream` is the one that a query over readings reads; None of others. `surest` says how probably it is one event,
    None while that is not known, and `sure_at_us` since when it is as sure as a rule asks that waits for evidence.
    """

    kind: Kind
    source: str
    query: str
    query_version: int
    area: str
    revision: int
    received_at_us: int
    probability: float | None = None
    members: int = 0
    start_us: int | None = None
    end_us: int | None = None
    group: dict[str, Any] = {}
    stream: str | None = None
    is_open: bool = False
    is_gone: bool = False
    surest: Sureness | None = None
    sure_at_us: int | None = None

    @property
    def posterior(self) -> float | None:
        """How probably it is one event; None while that is not known."""
        return None if self.surest is None else self.surest.posterior


class _Body(msgspec.Struct):
    """What of a stored record its columns do not say."""

    query_version: int = 0
    probability: float = 0.0
    earliest_us: int = 0
    latest_us: int = 0
    members: list[msgspec.Raw] = []
    members_truncated: bool = False


_body = msgspec.json.Decoder(_Body).decode


def of_match(match: StoredMatch) -> Finding:
    """Return what a match says; one that was superseded already no longer stands."""
    body = _body(match.body)
    return Finding(
        kind="match",
        source=match.id,
        query=match.query,
        query_version=body.query_version,
        area=match.area,
        revision=0,
        received_at_us=match.received_at_us,
        probability=body.probability,
        members=len(body.members),
        start_us=body.earliest_us,
        end_us=body.latest_us,
        is_gone=match.superseded_by is not None,
    )


def of_superseded(match: StoredMatch) -> list[Finding]:
    """Return the matches that `match` takes back, as findings that no longer stand."""
    found = of_match(match)
    return [replace(found, source=id_, revision=1, is_gone=True) for id_ in match.supersedes]


def with_sureness(finding: Finding, rule: AlertRule, surest: Sureness | None, sure_at_us: int | None) -> Finding:
    """Return the finding with how sure it is; one whose rule waits for that is as young as what it waited for."""
    if not rule.waits_for_evidence or sure_at_us is None:
        return replace(finding, surest=surest)
    received_at_us = max(finding.received_at_us, sure_at_us)
    return replace(finding, surest=surest, sure_at_us=sure_at_us, received_at_us=received_at_us)


def of_episode(received: ReceivedEpisode) -> Finding:
    """Return what a revision of an episode says."""
    record, body = received.record, _body(received.body)
    lists_its_ends = body.members_truncated and len(body.members) < MOST_MEMBERS  # as a spell does
    return Finding(
        kind="episode",
        source=record.id,
        query=record.query,
        query_version=record.query_version,
        area=record.area,
        revision=record.revision,
        received_at_us=received.received_at_us,
        probability=or_none(record.best_probability),
        members=(or_none(record.count) or 0) if lists_its_ends else len(body.members),
        start_us=or_none(record.start_us),
        end_us=or_none(record.end_us),
        group=dict(record.group or {}),
        is_open=bool(record.open),
        is_gone=bool(record.retracted),
    )


class _Version(NamedTuple):
    """What of a version of a query concerns alerts: the kind of their sources, the rule, and the stream of readings.

    `judges_episodes`: whether it makes episodes of matches that there is evidence of.
    """

    number: int
    kind: Kind
    rule: AlertRule | None
    stream: str | None
    judges_episodes: bool


class Rules:
    """The rule in force in each version of each query that the database knows; kept until the query changes."""

    def __init__(self) -> None:
        self._known: dict[str, list[_Version]] = {}

    def forget(self, queries: Iterable[str]) -> None:
        """Read these queries again when they are next asked for."""
        for query in queries:
            self._known.pop(query, None)

    def has_any(self, connection: Connection, query: str, kind: Kind) -> bool:
        """Whether any version of the query makes alerts of this kind."""
        return any(each.rule is not None and each.kind == kind for each in self._versions(connection, query))

    def judges_episodes(self, connection: Connection, query: str) -> bool:
        """Whether any version of the query makes episodes of matches that there is evidence of."""
        return any(each.judges_episodes for each in self._versions(connection, query))

    def judged(self, connection: Connection, finding: Finding) -> tuple[Finding, AlertRule] | None:
        """Return the finding, its stream with it, and the rule by which it is judged; None where it makes no alert.

        Both are of the version that found it. Where Kafka has forgotten that version, they are of the next one.
        """
        known = [each for each in self._versions(connection, finding.query) if each.number >= finding.query_version]
        version = min(known, default=None, key=lambda each: each.number)
        if version is None or version.rule is None or version.kind != finding.kind:
            return None
        return replace(finding, stream=version.stream), version.rule

    def _versions(self, connection: Connection, query: str) -> list[_Version]:
        if query not in self._known:
            self._known[query] = [_of_alerts(each) for each in read_versions(connection, query)]
        return self._known[query]


def _of_alerts(version: QueryVersion) -> _Version:
    judges_episodes = version.query is not None and {"event", "coalesce"} <= version.query.keys()
    if version.query is None or "alert" not in version.query:
        return _Version(version.version, "match", None, None, judges_episodes)
    return _Version(version.version, *_parsed(json.dumps(version.query)), judges_episodes)


@lru_cache(maxsize=1000)
def _parsed(document: str) -> tuple[Kind, AlertRule | None, str | None]:
    """Return what alerts of a query are of, their rule, and the stream if it is one over readings."""
    try:
        query = query_from_json(json.loads(document))
    except QueryError:  # written by a newer version of alerting
        return "match", None, None
    return query.tells, query.alert, query.stream
