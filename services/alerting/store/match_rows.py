"""Matches in the database: written in batches, read newest first, and which superseded which.

A match is live unless the relation names it. So it does not matter which of the two records comes first, whether
one comes twice, or whether what is named was ever stored.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Column, Connection, FromClause, Row, Select, func, literal, select, tuple_

from coincide.wire.results.evidence_record import evidence_of_match
from coincide.wire.results.match_record import MatchRecord
from services.alerting.store.dialect import (
    Rows,
    in_this_order,
    insert_ignoring_duplicates,
    insert_tuples,
    newest_first,
    reserve_sequences,
    where_equal,
    where_overlaps,
)
from services.alerting.store.evidence_rows import IDS_A_STATEMENT
from services.alerting.store.match_blocks import (
    BLOCK_BY_BLOCK,
    has_sensor,
    index_sensors,
    of_sensor,
    ranges_within,
    widen_blocks,
)
from services.alerting.store.tables import evidence, match_sensors, matches, supersessions

BY_AND_SUPERSEDED = supersessions.c.superseded_by, supersessions.c.superseded
ANY_SUPERSESSION = select(supersessions.c.superseded).limit(1)
#: What a list of the surest selects from: no other order would find the surest first.
BY_EVIDENCE = in_this_order(evidence, matches)
ANY_EVIDENCE = select(evidence.c.id).limit(1)


def with_member(body: str, name: str, value: object) -> str:
    """Return the JSON object `body`, which is not empty, with one more member, last."""
    return with_json(body, name, json.dumps(value))


def with_json(body: str, name: str, value: str) -> str:
    """Return the same with a member whose value is JSON already."""
    return f"{body.rstrip()[:-1]},{json.dumps(name)}:{value}}}"


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

    `superseded_by` is None while it is live; `supersedes` are the ids for which it was the first to do so. `evidence`
    is that record's JSON, None while there is none.
    """

    sequence: int
    id: str
    query: str
    area: str
    received_at_us: int
    body: str
    superseded_by: str | None
    supersedes: Sequence[str] = ()
    evidence: str | None = None


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
    min_posterior: float | None = None


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
    return None if row is None else match_body(*row)


def read_stored(connection: Connection, ids: Collection[str]) -> list[StoredMatch]:
    """Return those of the matches `ids` that there are, oldest first; what they supersede is left out."""
    id_list, found = list(ids), list[StoredMatch]()
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        rows = connection.execute(_stored_columns().where(matches.c.id.in_(id_list[first : first + IDS_A_STATEMENT])))
        found += map(_of_row, rows)
    return sorted(found, key=attrgetter("sequence"))


def read_newest_first(connection: Connection, filters: MatchFilter, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, body, superseded_by, evidence) with a sequence below `before`, newest first."""
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


class SurestPlace(NamedTuple):
    """A place in the order of posteriors, the greatest first, among what was stored up to a sequence.

    So what is stored while somebody turns pages is on none of them.
    """

    posterior: float
    sequence: int
    upto: int


def read_surest_first(connection: Connection, filters: MatchFilter, before: SurestPlace | None, limit: int) -> Rows:
    """Return up to `limit` (posterior, sequence, upto, body, superseded_by, evidence) behind a place, surest first.

    Matches whose posterior is not known have no place. The sequence is that of the evidence.
    """
    e, m = evidence.c, matches.c
    upto = _newest(connection) if before is None else before.upto
    columns = e.posterior, e.sequence, literal(upto).label("upto"), m.body
    beside = BY_EVIDENCE.outerjoin(supersessions, supersessions.c.superseded == m.id)
    statement = select(*columns, supersessions.c.superseded_by, e.body.label("evidence")).select_from(beside)
    is_older = e.sequence + 0 <= upto, m.sequence <= upto  # + 0: no index of sequences is worth the order
    statement = statement.where(m.id == e.id, e.posterior.is_not(None), *is_older)
    statement = _filtered(where_equal(statement, (e.query, filters.query)), filters)
    if filters.min_posterior is not None:
        statement = statement.where(e.posterior >= filters.min_posterior)  # where the index is left
    if filters.sensor is not None:
        statement = statement.where(has_sensor(filters.sensor))
    if before is not None:
        statement = statement.where(tuple_(e.posterior, e.sequence) < tuple_(before.posterior, before.sequence))
    return connection.execute(statement.order_by(e.posterior.desc(), e.sequence.desc()).limit(limit)).all()


def _newest(connection: Connection) -> int:
    sequences = (matches.c.sequence, evidence.c.sequence)
    return max(connection.execute(select(func.max(each))).scalar() or 0 for each in sequences)


def read_after(
    connection: Connection, filters: MatchFilter, after: int, limit: int, upto: int | None = None
) -> list[StoredMatch]:
    """Return up to `limit` matches with a sequence in (after, upto], oldest first; `upto` None: all above `after`."""
    m = matches.c
    statement = _filtered(_stored_columns(), filters).where(m.sequence > after).order_by(m.sequence)
    if filters.sensor is not None:
        statement = statement.where(has_sensor(filters.sensor))
    if upto is not None:
        statement = statement.where(m.sequence <= upto)
    rows = connection.execute(statement.limit(limit)).all()
    supersedes = read_supersessions(connection, [row.id for row in rows])
    return [_of_row(row, supersedes.get(row.id, ())) for row in rows]


def _of_row(row: Row[*tuple[Any, ...]], supersedes: Sequence[str] = ()) -> StoredMatch:
    names = ("sequence", "id", "query", "area", "received_at_us", "body", "superseded_by", "evidence")
    return StoredMatch(**{name: getattr(row, name) for name in names}, supersedes=supersedes)


def match_body(body: str, superseded_by: str | None, evidence_body: str | None) -> str:
    """Return the JSON of a match as it was written, with its evidence, and by which match it was superseded, if any."""
    told = with_json(body, "evidence", evidence_of_match(evidence_body))
    return told if superseded_by is None else with_member(told, "superseded_by", superseded_by)


def _stored(
    connection: Connection, new: Sequence[tuple[int, ReceivedMatch]], supersedes: Mapping[str, Sequence[str]]
) -> list[StoredMatch]:
    beside = _beside(connection, new[0][0]) if new else {}
    return [
        StoredMatch(
            sequence,
            record.id,
            record.query,
            record.area,
            record.received_at_us,
            body,
            by,
            supersedes.get(record.id, ()),
            its_evidence,
        )
        for sequence, (record, body) in new
        for by, its_evidence in [beside.get(record.id, (None, None))]
    ]


def _beside(connection: Connection, first: int) -> dict[str, tuple[str | None, str | None]]:
    """Return, by id, what supersedes the matches from the sequence `first` on, and their evidence, where either is."""
    if all(connection.execute(of).first() is None for of in (ANY_SUPERSESSION, ANY_EVIDENCE)):
        return {}
    rows = connection.execute(_select(matches.c.id).where(matches.c.sequence >= first))
    return {row.id: (row.superseded_by, row.evidence) for row in rows}


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
    """Select `columns` and, last, `superseded_by` and `evidence`, NULL of a live match and of one without."""
    m, by, e = matches.c, supersessions.c, evidence.c
    beside = of.outerjoin(supersessions, by.superseded == m.id).outerjoin(evidence, e.id == m.id)
    return select(*columns, by.superseded_by, e.body.label("evidence")).select_from(beside)


def _stored_columns() -> Select[Any]:
    m = matches.c
    return _select(m.sequence, m.id, m.query, m.area, m.received_at_us, m.body)


def _filtered(statement: Select[Any], filters: MatchFilter) -> Select[Any]:
    m = matches.c
    statement = where_equal(statement, (m.query, filters.query), (m.area, filters.area))
    statement = where_overlaps(statement, (m.earliest_us, m.latest_us), filters.from_us, filters.to_us)
    if filters.min_probability is not None:
        statement = statement.where(m.probability >= filters.min_probability)
    if filters.min_posterior is not None:  # no index of posteriors: the order of insertion is worth more
        statement = statement.where(func.coalesce(evidence.c.posterior, -1.0) >= filters.min_posterior)
    if filters.superseded is not None:
        by = supersessions.c.superseded_by
        statement = statement.where(by.is_not(None) if filters.superseded else by.is_(None))
    return statement
