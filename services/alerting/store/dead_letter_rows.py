"""Dead letters in the database: written in batches, read newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from coincide.wire.results.dead_letter import DeadLetter
from services.alerting.store.dialect import Rows, insert_ignoring_duplicates, newest_first, where_equal, where_overlaps
from services.alerting.store.tables import dead_letters


@dataclass(frozen=True)
class ReceivedDeadLetter:
    """A dead letter as read from Kafka: the record, its JSON on one line, and Kafka's record time."""

    record: DeadLetter
    body: str
    received_at_us: int


@dataclass(frozen=True)
class DeadLetterFilter:
    """Which dead letters: None asks for all. Received in [from_us, to_us], both ends closed."""

    reason: str | None = None
    area: str | None = None
    sensor: str | None = None
    source: str | None = None
    from_us: int | None = None
    to_us: int | None = None


def insert_dead_letters(connection: Connection, received: Sequence[ReceivedDeadLetter]) -> int:
    """Store `received` and return how many were new."""
    if not received:
        return 0
    rows = [
        {
            "id": letter.record.dead_id,
            **{name: getattr(letter.record, name) for name in ("source", "reason", "area", "sensor")},
            "received_at_us": letter.received_at_us,
            "body": letter.body,
        }
        for letter in received
    ]
    statement = insert_ignoring_duplicates(connection, dead_letters).returning(dead_letters.c.sequence)
    return len(connection.execute(statement, rows).all())


def read_newest_first(connection: Connection, filters: DeadLetterFilter, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, id, body) with a sequence below `before`, newest first."""
    letters = dead_letters.c
    statement = where_equal(
        select(letters.sequence, letters.id, letters.body),
        (letters.reason, filters.reason),
        (letters.area, filters.area),
        (letters.sensor, filters.sensor),
        (letters.source, filters.source),
    )
    received = letters.received_at_us
    statement = where_overlaps(statement, (received, received), filters.from_us, filters.to_us)
    return newest_first(connection, statement, letters.sequence, before, limit)
