"""The state of a shard as records of a compacted topic, so that it is appended together with what was told of it."""

from collections.abc import Iterator, Mapping

from msgspec import json

from coincide.fusion.batches.live_shard import Entry
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, TopicPartition

#: Short name of the topic.
SHARD_STATE = "shard-state"
#: How far the shard has read, by topic and partition; beside the entries, with which it is written.
POSITIONS: Entry = ("positions", 0)

Positions = Mapping[TopicPartition, int]


def records_of(topic: str, state: Mapping[Entry, bytes | None]) -> Iterator[NewRecord]:
    """Yield the record of each entry; one without a value removes it."""
    return (NewRecord(topic, f"{kind}/{number}".encode(), content) for (kind, number), content in state.items())


def entry_of(positions: Positions) -> dict[Entry, bytes | None]:
    """Return the entry that says how far a shard has read; topics by their short names."""
    return {POSITIONS: json.encode([[*each, offset] for each, offset in sorted(positions.items())])}


def read_state(reader: LogReader, topic: str) -> dict[Entry, bytes]:
    """Return every entry that is there now."""
    state: dict[Entry, bytes] = {}
    for records in reader.whole(topic):
        for each in records:
            kind, _, number = (each.key or b"").decode().rpartition("/")
            if each.value is None:
                state.pop((kind, int(number)), None)
            else:
                state[kind, int(number)] = each.value
    return state


def positions_in(state: dict[Entry, bytes]) -> dict[TopicPartition, int]:
    """Take the positions out of a state; none if it is empty."""
    content = state.pop(POSITIONS, b"[]")
    return {TopicPartition(topic, number): offset for topic, number, offset in json.decode(content)}
