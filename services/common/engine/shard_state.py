"""The state of a shard as records of a compacted topic, so that it is appended together with what was told of it."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import json

from coincide.fusion.batches.live_shard import Entry
from services.common.log.declared_topic import Topic
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, TopicPartition

#: Short name of the topic.
SHARD_STATE = "shard-state"
STATE_TOPIC = Topic(partitions=1, configs={"cleanup.policy": "compact", "max.message.bytes": str(2**30)})
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
    return _entries((each.key, each.value) for records in reader.whole(topic) for each in records)


def state_in(records: Iterable[tuple[bytes | None, bytes | None]]) -> tuple[dict[Entry, bytes], Positions]:
    """Return the entries and the positions of which these are all keys and values; none if there are none."""
    state = _entries(records)
    return state, positions_in(state)


def _entries(records: Iterable[tuple[bytes | None, bytes | None]]) -> dict[Entry, bytes]:
    state: dict[Entry, bytes] = {}
    for key, value in records:
        kind, _, number = (key or b"").decode().rpartition("/")
        if value is None:
            state.pop((kind, int(number)), None)
        else:
            state[kind, int(number)] = value
    return state


def positions_in(state: dict[Entry, bytes]) -> dict[TopicPartition, int]:
    """Take the positions out of a state; none if it is empty."""
    content = state.pop(POSITIONS, b"[]")
    return {TopicPartition(topic, number): offset for topic, number, offset in json.decode(content)}
