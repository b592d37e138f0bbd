"""Where alerting stands in each Kafka topic, written in the same transaction as the rows read up to there."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from services.alerting.store.dialect import upsert
from services.alerting.store.tables import positions


@dataclass(frozen=True)
class Position:
    """The offset to read next; `topic_id` tells a topic from one of the same name made after it was deleted."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


def store_positions(connection: Connection, reached: Iterable[Position]) -> None:
    """Keep the positions `reached`."""
    rows = [vars(position) for position in reached]
    if rows:
        connection.execute(upsert(connection, positions), rows)


def read_positions(connection: Connection) -> list[Position]:
    """Return every position kept."""
    return [Position(*row) for row in connection.execute(select(positions))]
