"""The queries in the database: their state now, every version seen, and what the fusion job reports about them."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import asdict
from sqlalchemy import Connection, Row, delete, func, select

from coincide.queries.explaining import SeenRates
from coincide.wire.declarations.query_record import QueryRecord
from coincide.wire.rebuild_record import KEY_PREFIX, RebuildRecord, decode_rebuild
from coincide.wire.status_record import DetectionLimits, StatusRecord
from services.alerting.records.records import (
    decode_status,
)
from services.alerting.store.dialect import insert_ignoring_duplicates, upsert
from services.alerting.store.tables import alerts, episodes, matches, queries, query_versions, shard_status

NOTHING_SEEN = SeenRates({})


@dataclass(frozen=True)
class QueryVersion:
    """A query as it was from `version` on; `query` is None when it was removed."""

    id: str
    version: int
    paused: bool
    removed: bool
    changed_at_us: int
    query: dict[str, Any] | None

    @classmethod
    def of(cls, record: QueryRecord) -> "QueryVersion":
        """Return what a record says."""
        flags = bool(record.paused), bool(record.removed)
        return cls(record.id, record.version, *flags, record.changed_at_us, record.document)

    @property
    def receivers(self) -> list[str]:
        """The receivers that its alert names."""
        rule = (self.query or {}).get("alert")
        named = rule.get("to") if isinstance(rule, dict) else None
        return list(named) if isinstance(named, list) else []


def replace_queries(connection: Connection, changes: Collection[QueryRecord]) -> None:
    """Replace the whole state by what `changes` come to; forget queries that the topic does not have."""
    connection.execute(delete(queries))
    apply_changes(connection, changes)


def apply_changes(connection: Connection, changes: Collection[QueryRecord]) -> None:
    """Add `changes` to the history; each that is newer than its query's state becomes the state.

    A record with a version that is not newer came out of order from a send that was given up: the topic's
    readers all ignore it.
    """
    if not changes:
        return
    connection.execute(insert_ignoring_duplicates(connection, query_versions), [_row(change) for change in changes])
    current = {row.id: row.version for row in connection.execute(select(queries.c.id, queries.c.version))}
    for change in changes:
        if change.version > current.get(change.id, 0):
            current[change.id] = change.version
            connection.execute(upsert(connection, queries), _row(change))


def read_query(connection: Connection, id_: str) -> QueryVersion | None:
    """Return the state of the query `id_`; None when there is none or it was removed."""
    row = connection.execute(select(queries).where(queries.c.id == id_, ~queries.c.removed)).first()
    return _version(row) if row else None


def read_queries(connection: Connection) -> list[QueryVersion]:
    """Return every query that was not removed, by id."""
    rows = connection.execute(select(queries).where(~queries.c.removed))
    return sorted(map(_version, rows), key=attrgetter("id"))  # not as the language of the database has it


def queries_that_name(connection: Connection, receiver: str) -> list[str]:
    """Return the ids of the queries whose alert names a receiver."""
    return [each.id for each in read_queries(connection) if receiver in each.receivers]


def read_versions(connection: Connection, id_: str) -> list[QueryVersion]:
    """Return every version seen of the query `id_`, newest first; also of one that was removed."""
    rows = select(query_versions).where(query_versions.c.id == id_).order_by(query_versions.c.version.desc())
    return [_version(row) for row in connection.execute(rows)]


def greatest_version(connection: Connection, id_: str) -> int:
    """Return the greatest version that the query `id_` ever had; 0 when it never existed."""
    greatest = func.max(query_versions.c.version)
    return connection.execute(select(greatest).where(query_versions.c.id == id_)).scalar() or 0


def unknown_queries(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return those of `ids` of which no version, match, episode or alert is known."""
    tables = (query_versions.c.id, matches.c.query, episodes.c.query, alerts.c.query)
    return [
        id_
        for id_ in ids
        if not any(connection.execute(select(column).where(column == id_).limit(1)).first() for column in tables)
    ]


def store_status(connection: Connection, newest: dict[str, str | None]) -> None:
    """Keep the newest status of each shard and rebuild, by Kafka key; None, Kafka's tombstone, forgets it."""
    kept = [{"key": key, "body": body} for key, body in newest.items() if body is not None]
    gone = [key for key, body in newest.items() if body is None]
    if kept:
        connection.execute(upsert(connection, shard_status), kept)
    if gone:
        connection.execute(delete(shard_status).where(shard_status.c.key.in_(gone)))


def read_status(connection: Connection) -> list[StatusRecord]:
    """Return what each shard says."""
    shards = select(shard_status.c.body).where(~shard_status.c.key.startswith(KEY_PREFIX))
    return [decode_status(body) for body in connection.execute(shards).scalars()]


def read_rebuilds(connection: Connection) -> list[RebuildRecord]:
    """Return what is known of every rebuild, the newest first."""
    bodies = connection.execute(select(shard_status.c.body).where(shard_status.c.key.startswith(KEY_PREFIX))).scalars()
    found = [decode_rebuild(body) for body in bodies]
    return sorted(found, key=lambda each: (each.asked_at_us or each.began_at_us or 0, each.id), reverse=True)


def applied_version(shards: Sequence[StatusRecord], id_: str) -> int | None:
    """Return the version of the query `id_` that every shard has applied at least; None when some has none."""
    applied = [shard.queries[id_].version if id_ in shard.queries else None for shard in shards]
    return min((version for version in applied if version is not None), default=None) if None not in applied else None


def _row(change: QueryRecord) -> dict[str, object]:
    now = dict(vars(QueryVersion.of(change)))
    query = now.pop("query")
    return {**now, "body": None if query is None else msgspec.json.encode(query).decode()}


def _version(row: Row[Any]) -> QueryVersion:
    query = None if row.body is None else msgspec.json.decode(row.body)
    return QueryVersion(row.id, row.version, row.paused, row.removed, row.changed_at_us, query)


@dataclass(frozen=True)
class QueryReport:
    """What the shards say of one query, None where they do not: version that all applied, episode records, scheme.

    `suspended` says where each shard has suspended it, in which version and why. Rates are of all queries: `busiest_hz`
    has the greatest rate of each stream that a shard has seen in one area, `seen` those of all areas now; `limits` are
    the least that a shard has for what a detection may give to a query that sets none.
    """

    applied_version: int | None = None
    episodes: int | None = None
    coalescing: dict[str, object] | None = None
    suspended: list[dict[str, Any]] = field(default_factory=list)
    busiest_hz: dict[str, float] = field(default_factory=dict)
    seen: SeenRates = NOTHING_SEEN
    limits: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Sequence[StatusRecord], id_: str) -> "QueryReport":
        """Put together what `shards` say of the query `id_`; how it is coalesced, the first that says so decides."""
        by_shard = {
            shard.shard: shard.queries[id_]
            for shard in sorted(shards, key=lambda shard: shard.shard)
            if id_ in shard.queries
        }
        statuses = list(by_shard.values())
        coalescing = next((each.coalescing for each in statuses if each.coalescing), None)
        suspended = [
            {"shard": shard, "version": status.version, "everywhere": not area, **asdict(why)}
            for shard, status in by_shard.items()
            for area, why in (status.suspended or {}).items()
        ]
        episodes = sum(each.episodes for each in statuses) if statuses else None
        return cls(
            applied_version(shards, id_),
            episodes,
            msgspec.to_builtins(coalescing) if coalescing else None,
            suspended,
            _busiest_hz(shards),
            _seen_rates(shards),
            _least_limits(shards),
        )

    def is_suspended_in(self, version: int) -> bool:
        """Whether some shard has suspended that very version."""
        return any(each["version"] == version for each in self.suspended)


def _busiest_hz(shards: Sequence[StatusRecord]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for stream, rate_hz in (each for shard in shards for each in shard.busiest_hz.items()):
        rates[stream] = max(rate_hz, rates.get(stream, 0.0))
    return rates


def _least_limits(shards: Sequence[StatusRecord]) -> dict[str, int]:
    names = DetectionLimits.__struct_fields__
    return {name: min(getattr(shard.limits, name) for shard in shards) for name in names if shards}


def _seen_rates(shards: Sequence[StatusRecord]) -> SeenRates:
    """Return the rates of all areas: each area is one shard's."""
    by_area: dict[str, dict[str, float]] = {}
    elsewhere_hz = Counter[str]()
    for shard in shards:
        by_area |= shard.rates_hz.areas
        elsewhere_hz.update(shard.rates_hz.elsewhere)
    return SeenRates(by_area, elsewhere_hz)


def read_report(connection: Connection, id_: str) -> QueryReport:
    """Return what the shards say of the query `id_`."""
    return QueryReport.of(read_status(connection), id_)
