"""The topics that alerting follows, as a reader finds them, and how far each was read into the database."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from services.alerting.store.dialect import upsert
from services.alerting.store.tables import positions
from services.common.log.reader import LogReader
from services.common.log.records import Record, TopicPartition


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


class FollowedTopics:
    """The partitions of some topics, and those of one that is only `watched`: its ends are asked for, no more.

    Positions live in the database, in the transaction that stored the rows; what is shown to a log's tools is for them
    alone. So a restart after a kill waits for nobody, and a database that was deleted is filled again from the
    beginning.
    """

    def __init__(self, reader: LogReader, topics: Iterable[str], watched: str) -> None:
        self.partitions = reader.partitions_of(*topics)
        self.watched = reader.partitions_of(watched)
        self._ids = {topic: str(reader.topic_id(topic)) for topic in {each.topic for each in self.partitions}}

    def starts(self, kept: Iterable[Position]) -> dict[TopicPartition, int | None]:
        """Return from where to read each; None is the beginning, as of a topic that was made anew since."""
        offsets = {(each.topic, each.partition, each.topic_id): each.next_offset for each in kept}
        return {each: offsets.get((*each, self._ids[each.topic])) for each in self.partitions}

    def reached(self, records: Iterable[Record]) -> list[Position]:
        """Return the positions after `records`, which are in order within each partition."""
        return self.at({TopicPartition(each.topic, each.partition): each.offset + 1 for each in records})

    def at(self, offsets: Mapping[TopicPartition, int]) -> list[Position]:
        """Return the positions at these offsets, which are to be read next."""
        return [Position(*each, self._ids[each.topic], offset) for each, offset in offsets.items()]


def what_is_left(reader: LogReader, starts: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int | None]:
    """Return the same, but the beginning where the record to be read next was deleted, or was never there."""
    begins, ends = reader.beginnings(starts), reader.ends(starts)
    return {
        each: start if start is not None and begins[each] <= start <= ends[each] else None
        for each, start in starts.items()
    }
