"""Matches in the database: written in batches, read newest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, func, insert, select

from services.alerting.records import Match
from services.alerting.store.dialect import insert_ignoring_duplicates
from services.alerting.store.tables import match_sensors, matches


@dataclass(frozen=True)
class ReceivedMatch:
    """A match as read from Kafka: the record, and its JSON on one line."""

    record: Match
    body: str


@dataclass(frozen=True)
class StoredMatch:
    """A stored match, as the live stream wants it; `sequence` is its place in the order of insertion."""

    sequence: int
    query: str
    area: str
    received_at_us: int
    body: str


@dataclass(frozen=True)
class MatchFilter:
    """Which matches: None asks for all. A match overlaps [from_us, to_us], both ends closed."""

    query: str | None = None
    area: str | None = None
    sensor: str | None = None
    from_us: int | None = None
    to_us: int | None = None
    min_probability: float | None = None


def insert_matches(connection: Connection, received: Sequence[ReceivedMatch]) -> list[StoredMatch]:
    """Store `received` and return those that were new, in order of sequence."""
    if not received:
        return []
    by_id = {match.record.id: match for match in received}
    statement = insert_ignoring_duplicates(connection, matches).returning(matches.c.sequence, matches.c.id)
    inserted = sorted(connection.execute(statement, _rows(by_id.values())).all())
    new = [(sequence, by_id[id_]) for sequence, id_ in inserted]
    sensors = [
        {"sensor": sensor, "match_sequence": sequence}
        for sequence, match in new
        for sensor in {member.sensor for member in match.record.members}
    ]
    if sensors:
        connection.execute(insert(match_sensors), sensors)
    return [_stored(sequence, match) for sequence, match in new]


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence stored; 0 when there is none."""
    return connection.execute(select(func.max(matches.c.sequence))).scalar() or 0


def read_match(connection: Connection, id_: str) -> str | None:
    """Return the JSON of the match `id_`; None when there is none."""
    return connection.execute(select(matches.c.body).where(matches.c.id == id_)).scalar()


def read_newest_first(
    connection: Connection, wanted: MatchFilter, before: int | None, limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return up to `limit` (sequence, body) with a sequence below `before`, newest first."""
    statement = _filtered(select(matches.c.sequence, matches.c.body), wanted).order_by(matches.c.sequence.desc())
    if before is not None:
        statement = statement.where(matches.c.sequence < before)
    return connection.execute(statement.limit(limit)).all()


def read_after(connection: Connection, wanted: MatchFilter, after: int, limit: int) -> list[StoredMatch]:
    """Return up to `limit` matches with a sequence above `after`, oldest first."""
    columns = select(matches.c.sequence, matches.c.query, matches.c.area, matches.c.received_at_us, matches.c.body)
    statement = _filtered(columns, wanted).where(matches.c.sequence > after).order_by(matches.c.sequence)
    return [StoredMatch(*row) for row in connection.execute(statement.limit(limit))]


def _stored(sequence: int, match: ReceivedMatch) -> StoredMatch:
    record = match.record
    return StoredMatch(sequence, record.query, record.area, record.received_at_us, match.body)


def _rows(received: Iterable[ReceivedMatch]) -> list[dict[str, object]]:
    return [
        {
            "id": match.record.id,
            "query": match.record.query,
            "query_version": match.record.query_version,
            "area": match.record.area,
            "probability": match.record.probability,
            "earliest_us": match.record.earliest_us,
            "latest_us": match.record.latest_us,
            "received_at_us": match.record.received_at_us,
            "body": match.body,
        }
        for match in received
    ]


def _filtered(statement: Select[Any], wanted: MatchFilter) -> Select[Any]:
    for column, value in ((matches.c.query, wanted.query), (matches.c.area, wanted.area)):
        if value is not None:
            statement = statement.where(column == value)
    if wanted.sensor is not None:
        of_match = match_sensors.c.match_sequence == matches.c.sequence
        statement = statement.where(exists().where(of_match, match_sensors.c.sensor == wanted.sensor))
    if wanted.from_us is not None:
        statement = statement.where(matches.c.latest_us >= wanted.from_us)
    if wanted.to_us is not None:
        statement = statement.where(matches.c.earliest_us <= wanted.to_us)
    if wanted.min_probability is not None:
        statement = statement.where(matches.c.probability >= wanted.min_probability)
    return statement
