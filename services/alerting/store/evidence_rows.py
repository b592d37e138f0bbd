"""Evidence in the database: whether the members of a match are of one event, beside the match that it is of.

Evidence has the id of its match. It may come before the match, after it, twice, or for one that is no more: what is
first stored of an id counts, and a match that has none yet is shown without.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, select

from coincide.wire.results.evidence_record import EvidenceRecord
from services.alerting.store.dialect import insert_tuples, reserve_sequences, where_equal
from services.alerting.store.tables import evidence, matches

IDS_A_STATEMENT = 1000


class _Bounds(msgspec.Struct):
    posterior_least: float
    posterior_greatest: float


_bounds = msgspec.json.Decoder(_Bounds).decode


class ReceivedEvidence(NamedTuple):
    """Evidence as read from the log: the record, its JSON on one line, and the log's record time."""

    record: EvidenceRecord
    body: str
    received_at_us: int


class StoredEvidence(msgspec.Struct, frozen=True, gc=False):
    """Stored evidence, for the live stream; `sequence` is its place in the order of insertion, `id` its match's."""

    sequence: int
    id: str
    query: str
    area: str
    posterior: float | None
    received_at_us: int
    body: str


class Sureness(msgspec.Struct, frozen=True):
    """How probable it is that something is one event, between certain bounds, and when that was told."""

    posterior: float
    least: float
    greatest: float
    received_at_us: int


@dataclass(frozen=True)
class EvidenceFilter:
    """Which evidence: None asks for all."""

    query: str | None = None
    area: str | None = None


def insert_evidence(connection: Connection, received: Sequence[ReceivedEvidence]) -> list[StoredEvidence]:
    """Store `received` and return what was new, in order of sequence."""
    if not received:
        return []
    first = reserve_sequences(connection, matches, len(received))
    new = [_stored(*each) for each in enumerate(received, first)]
    if insert_tuples(connection, evidence, [_row(each) for each in new]) < len(new):
        kept = set(connection.execute(select(evidence.c.sequence).where(evidence.c.sequence >= first)).scalars())
        new = [each for each in new if each.sequence in kept]
    return new


def is_any(connection: Connection, after: int, upto: int) -> bool:
    """Whether there is evidence with a sequence in (after, upto]."""
    e = evidence.c
    some = select(e.sequence).where(e.sequence > after, e.sequence <= upto)
    return connection.execute(some.limit(1)).first() is not None


def read_after(
    connection: Connection, filters: EvidenceFilter, after: int, limit: int, upto: int | None = None
) -> list[StoredEvidence]:
    """Return up to `limit` of evidence with a sequence in (after, upto], oldest first; `upto` None: all above."""
    e = evidence.c
    columns = select(e.sequence, e.id, e.query, e.area, e.posterior, e.received_at_us, e.body)
    statement = where_equal(columns, (e.query, filters.query), (e.area, filters.area))
    statement = statement.where(e.sequence > after).order_by(e.sequence)
    if upto is not None:
        statement = statement.where(e.sequence <= upto)
    return [StoredEvidence(*row) for row in connection.execute(statement.limit(limit))]


def read_sureness(connection: Connection, ids: Iterable[str]) -> dict[str, Sureness]:
    """Return, for those of the matches `ids` whose posterior is known, what it is."""
    e, id_list = evidence.c, list(ids)
    known: dict[str, Sureness] = {}
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = e.id.in_(id_list[first : first + IDS_A_STATEMENT]), e.posterior.is_not(None)
        rows = connection.execute(select(e.id, e.posterior, e.received_at_us, e.body).where(*some))
        known.update({row.id: sureness_of(row.posterior, row.body, row.received_at_us) for row in rows})
    return known


def sureness_of(posterior: float, body: str, received_at_us: int) -> Sureness:
    """Return what evidence says of a known posterior."""
    bounds = _bounds(body)
    return Sureness(posterior, bounds.posterior_least, bounds.posterior_greatest, received_at_us)


def _stored(sequence: int, received: ReceivedEvidence) -> StoredEvidence:
    record, body, received_at_us = received
    return StoredEvidence(sequence, record.id, record.query, record.area, record.posterior, received_at_us, body)


def _row(new: StoredEvidence) -> tuple[object, ...]:
    return new.id, new.sequence, new.query, new.area, new.posterior, new.received_at_us, new.body
