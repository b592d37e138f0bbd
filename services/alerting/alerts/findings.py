"""What an alert is made of: an episode or a match as it was just stored, with what its query's rule asks of it."""

import json
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from sqlalchemy import Connection

from coincide.errors import QueryError
from coincide.queries import AlertRule, query_from_json
from coincide.queries.episode_rule import MOST_MEMBERS
from services.alerting.alerts.alert import Kind
from services.alerting.store.episode_rows import NewRevision
from services.alerting.store.match_rows import StoredMatch
from services.alerting.store.query_rows import QueryVersion, read_versions


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One state of what a query found; `is_gone` where it no longer stands. `revision` grows with every change."""

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
    is_open: bool = False
    is_gone: bool = False


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
    return [msgspec.structs.replace(found, source=id_, revision=1, is_gone=True) for id_ in match.supersedes]


def of_revision(revision: NewRevision) -> Finding:
    """Return what a revision of an episode says."""
    record, body = revision.received.record, _body(revision.received.body)
    lists_its_ends = body.members_truncated and len(body.members) < MOST_MEMBERS  # as a spell does
    return Finding(
        kind="episode",
        source=record.id,
        query=record.query,
        query_version=record.query_version,
        area=record.area,
        revision=record.revision,
        received_at_us=revision.received.received_at_us,
        probability=record.best_probability,
        members=(record.count or 0) if lists_its_ends else len(body.members),
        start_us=record.start_us,
        end_us=record.end_us,
        is_open=bool(record.open),
        is_gone=record.retracted,
    )


class Rules:
    """The rule in force in each version of each query that the database knows; kept until the query changes."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[int, Kind, AlertRule | None]]] = {}

    def forget(self, queries: Iterable[str]) -> None:
        """Read these queries again when they are next asked for."""
        for query in queries:
            self._known.pop(query, None)

    def has_any(self, connection: Connection, query: str, kind: Kind) -> bool:
        """Whether any version of the query makes alerts of this kind."""
        return any(rule is not None and of == kind for _, of, rule in self._versions(connection, query))

    def rule_of(self, connection: Connection, finding: Finding) -> AlertRule | None:
        """Return the rule by which the finding is judged; None where it makes no alert.

        It is that of the version that found it. Where Kafka has forgotten that version, it is the next one's.
        """
        known = [each for each in self._versions(connection, finding.query) if each[0] >= finding.query_version]
        _, kind, rule = min(known, default=(0, finding.kind, None), key=lambda each: each[0])
        return rule if kind == finding.kind else None

    def _versions(self, connection: Connection, query: str) -> list[tuple[int, Kind, AlertRule | None]]:
        if query not in self._known:
            self._known[query] = [(each.version, *_rule(each)) for each in read_versions(connection, query)]
        return self._known[query]


def _rule(version: QueryVersion) -> tuple[Kind, AlertRule | None]:
    """Return the kind of source that this version of a query makes alerts of, and its rule."""
    if version.query is None:
        return "match", None
    kind: Kind = "episode" if "coalesce" in version.query else "match"
    return kind, _parsed(json.dumps(version.query)) if "alert" in version.query else None


@lru_cache(maxsize=1000)
def _parsed(document: str) -> AlertRule | None:
    try:
        return query_from_json(json.loads(document)).alert
    except QueryError:  # written by a newer version of alerting
        return None
