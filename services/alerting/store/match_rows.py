"""Matches in the database: written in batches, read newest first, and which superseded which.

A match is live unless the relation names it. So it does not matter which of the two records comes first, whether
one comes twice, or whether what is named was ever stored.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Column, Connection, FromClause, Row, Select, select

from coincide.wire.results.match_record import MatchRecord
from services.alerting.store.dialect import (
    Rows,
    insert_ignoring_duplicates,
    insert_tuples,
    newest_first,
    reserve_sequences,
    where_equal,
    where_overlaps,
)
from services.alerting.store.match_blocks import (
    BLOCK_BY_BLOCK,
    has_sensor,
    index_sensors,
    of_sensor,
    ranges_within,
    widen_blocks,
)
from services.alerting.store.tables import match_sensors, matches, supersessions

BY_AND_SUPERSEDED = supersessions.c.superseded_by, supersessions.c.superseded
ANY_SUPERSESSION = select(supersessions.c.superseded).limit(1)


def with_member(body: str, name: str, value: object) -> str:
    """Return the JSON object `body`, which is not empty, with one more member, last."""
    return f"{body.rstrip()[:-1]},{json.dumps(name)}:{json.dumps(value)}}}"


def insert_supersessions(connection: Connection, records: Iterable[MatchRecord]) -> Mapping[str, Sequence[str]]:
    """Keep what `records` supersede; return, by superseding match, the ids for which it is the first to do so."""
    rows: dict[str, dict[str, object]] = {}
    for record in records:
        for id_ in record.supersedes or ():
            row = {"superseded": id_, "superseded_by": record.id, "received_at_us": record.received_at_us}
            rows.setdefault(id_, row)
    if not rows:
        return {}
    statement = insert_ignoring_duplicates(connection, supersessions).returning(*BY_AND_SUPERSEDED)
    return _grouped(connection.execute(statement, list(rows.values())))


def read_supersessions(connection: Connection, by: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return, by superseding match, the ids that the matches `by` were the first to supersede."""
    return _grouped(connection.execute(select(*BY_AND_SUPERSEDED).where(supersessions.c.superseded_by.in_(by))))


def _grouped(rows: Iterable[Row[str, str]]) -> dict[str, list[str]]:
    superseded: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(rows):
        superseded[row.superseded_by].append(row.superseded)
    return dict(superseded)


class ReceivedMatch(NamedTuple):
    """A match as read from Kafka: the record, and its JSON on one line."""

    record: MatchRecord
    body: str


class StoredMatch(msgspec.Struct, frozen=True, gc=False):
    """A stored match, for the live stream; `sequence` is its place in the order of insertion.

    `superseded_by` is None while it is live; `supersedes` are the ids for which it was the first to do so.
    """

    sequence: int
    id: str
    query: str
    area: str
    received_at_us: int
    body: str
    superseded_by: str | None
    supersedes: Sequence[str] = ()


@dataclass(frozen=True)
class MatchFilter:
    """Which matches: None asks for all. A match overlaps [from_us, to_us], both ends closed."""

    query: str | None = None
    area: str | None = None
    sensor: str | None = None
    from_us: int | None = None
    to_us: int | None = None
    min_probability: float | None = None
    superseded: bool | None = None


def insert_matches(connection: Connection, received: Sequence[ReceivedMatch]) -> list[StoredMatch]:
    """Store `received` and return those that were new, in order of sequence."""
    if not received:
        return []
    first = reserve_sequences(connection, matches, len(received))
    new = list(enumerate(received, first))
    if insert_tuples(connection, matches, [_row(*each) for each in new]) < len(new):
        kept = set(connection.execute(select(matches.c.sequence).where(matches.c.sequence >= first)).scalars())
        new = [each for each in new if each[0] in kept]
    widen_blocks(connection, ((place, each.record.earliest_us, each.record.latest_us) for place, each in new))
    index_sensors(connection, ((place, (each.sensor for each in match.record.members)) for place, match in new))
    # Of all that was received: one found again after a rebuild may supersede what was not found before.
    supersedes = insert_supersessions(connection, [match.record for match in received])
    return _stored(connection, new, supersedes)


def read_match(connection: Connection, id_: str) -> str | None:
    """Return the JSON of the match `id_`, superseded or not; None when there is none."""
    row = connection.execute(_select(matches.c.body).where(matches.c.id == id_)).first()
    return None if row is None else match_body(row.body, row.superseded_by)


def read_newest_first(connection: Connection, filters: MatchFilter, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, body, superseded_by) with a sequence below `before`, newest first."""
    sequence = matches.c.sequence
    if filters.sensor is not None:
        statement = _filtered(_select(sequence, matches.c.body, of=BLOCK_BY_BLOCK), filters)
        statement = of_sensor(statement, filters.sensor, filters.from_us, filters.to_us, before)
        return newest_first(connection, statement, match_sensors.c.sequence, before, limit)
    statement = _filtered(_select(sequence, matches.c.body), filters)
    if filters.from_us is None and filters.to_us is None:
        return newest_first(connection, statement, sequence, before, limit)
    found: list[Row[*tuple[Any, ...]]] = []
    for first, last in ranges_within(connection, filters.from_us, filters.to_us, before):
        upto = last + 1 if before is None else min(before, last + 1)
        found += newest_first(connection, statement.where(sequence >= first), sequence, upto, limit - len(found))
        if len(found) == limit:
            break
    return found


def read_after(
    connection: Connection, filters: MatchFilter, after: int, limit: int, upto: int | None = None
) -> list[StoredMatch]:
    """Return up to `limit` matches with a sequence in (after, upto], oldest first; `upto` None: all above `after`."""
    m = matches.c
    columns = _select(m.sequence, m.id, m.query, m.area, m.received_at_us, m.body)
    statement = _filtered(columns, filters).where(m.sequence > after).order_by(m.sequence)
    if filters.sensor is not None:
        statement = statement.where(has_sensor(filters.sensor))
    if upto is not None:
        statement = statement.where(m.sequence <= upto)
    rows = connection.execute(statement.limit(limit)).all()
    supersedes = read_supersessions(connection, [row.id for row in rows])
    return [msgspec.structs.replace(StoredMatch(*row), supersedes=supersedes.get(row.id, ())) for row in rows]


def match_body(body: str, superseded_by: str | None) -> str:
    """Return the JSON of a match as it was written, with `superseded_by` added where another match superseded it."""
    return body if superseded_by is None else with_member(body, "superseded_by", superseded_by)


def _stored(
    connection: Connection, new: Sequence[tuple[int, ReceivedMatch]], supersedes: Mapping[str, Sequence[str]]
) -> list[StoredMatch]:
    superseded_by = _superseding(connection, new[0][0]) if new else {}
    return [
        StoredMatch(
            sequence,
            record.id,
            record.query,
            record.area,
            record.received_at_us,
            body,
            superseded_by.get(record.id),
            supersedes.get(record.id, ()),
        )
        for sequence, (record, body) in new
    ]


def _superseding(connection: Connection, first: int) -> dict[str, str]:
    """Return, by id, what supersedes the matches from the sequence `first` on."""
    if connection.execute(ANY_SUPERSESSION).first() is None:
        return {}
    of_match = supersessions.c.superseded == matches.c.id
    pairs = select(matches.c.id, supersessions.c.superseded_by).join(supersessions, of_match)
    rows = connection.execute(pairs.where(matches.c.sequence >= first))
    return {row.id: row.superseded_by for row in rows}


def _row(sequence: int, match: ReceivedMatch) -> tuple[object, ...]:
    record, body = match
    span_us = record.earliest_us, record.latest_us
    return (
        sequence,
        record.id,
        record.query,
        record.query_version,
        record.area,
        record.probability,
        *span_us,
        record.received_at_us,
        body,
    )


def _select(*columns: Column[Any], of: FromClause = matches) -> Select[Any]:
    """Select `columns` and, last, `superseded_by`, which is NULL of a live match."""
    whether = supersessions.c.superseded == matches.c.id
    return select(*columns, supersessions.c.superseded_by).select_from(of.outerjoin(supersessions, whether))


def _filtered(statement: Select[Any], filters: MatchFilter) -> Select[Any]:
    m = matches.c
    statement = where_equal(statement, (m.query, filters.query), (m.area, filters.area))
    statement = where_overlaps(statement, (m.earliest_us, m.latest_us), filters.from_us, filters.to_us)
    if filters.min_probability is not None:
        statement = statement.where(m.probability >= filters.min_probability)
    if filters.superseded is not None:
        by = supersessions.c.superseded_by
        statement = statement.where(by.is_not(None) if filters.superseded else by.is_(None))
    return statement
