"""The records of every topic, out of a log into Parquet: a file for each partition, in the order of its offsets."""

import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq

from services.backup.folder import BackupError, SavedPartition
from services.backup.record_files import ROWS_AT_ONCE, SCHEMA, RecordFile, SavedRecord, file_of
from services.common.engine.shard_state import SHARD_STATE
from services.common.log.declared_topic import Topic
from services.common.log.faults import NoSuchTopicError
from services.common.log.log import Log
from services.common.log.reader import LogReader
from services.common.log.records import TopicPartition
from services.common.topics.topic_names import TopicNames

#: Topics in the order in which their ends are noted: a state before what was told of it, effects before causes, and
#: who was told last. See decision 46.
_CAUSES = ("detections", "deferrals")
_SAID = ("queries", "sensors", "templates", "clocks", "keys", "audit", "alert-controls")
_LATER = (_CAUSES, _SAID, ("deliveries",))
_SILENCE_S = 30.0


def in_order(topics: Collection[str], names: TopicNames) -> list[list[str]]:
    """Return the topics in groups; the ends of a group are noted once the group before it has been read.

    Examples
    --------
    >>> topics = ["reef.keys", "reef.detections", "reef.matches", "reef.deliveries", "reef.shard-state"]
    >>> in_order(topics, TopicNames("reef."))
    [['reef.shard-state'], ['reef.matches'], ['reef.detections'], ['reef.keys'], ['reef.deliveries']]
    """
    first, *later = [list(map(names.full, group)) for group in ((SHARD_STATE,), *_LATER)]
    named = {topic for group in (first, *later) for topic in group}
    groups = [first, [each for each in topics if each not in named], *later]
    return [found for group in groups if (found := sorted(each for each in topics if each in group))]


def save_topics(
    log: Log, topics: Mapping[str, Topic], names: TopicNames, folder: Path
) -> dict[str, list[SavedPartition]]:
    """Write the records of ``topics`` below ``folder`` and return what was written; raises LogError."""
    with log.reader(ROWS_AT_ONCE) as reader:
        return {
            name: partitions
            for group in in_order(topics, names)
            for name, partitions in _save_group(reader, group, topics, names, folder).items()
        }


def _save_group(
    reader: LogReader, group: list[str], topics: Mapping[str, Topic], names: TopicNames, folder: Path
) -> dict[str, list[SavedPartition]]:
    try:
        ends = reader.ends(reader.partitions_of(*group))
    except NoSuchTopicError as error:
        raise BackupError(f"{error}: python -m services.common.topics{names.option} creates it") from error
    saved: dict[str, list[SavedPartition]] = {}
    for name in group:
        (folder / name).mkdir(parents=True)
        compacted = is_compacted(topics[name])
        saved[name] = [
            _save_partition(reader, each, end, file_of(folder, *each), to_present_end=compacted)
            for each, end in ends.items()
            if each.topic == name
        ]
    return saved


def is_compacted(topic: Topic) -> bool:
    """Return whether a log keeps the newest record of each key for ever."""
    return topic.configs.get("cleanup.policy") == "compact"


def _save_partition(
    reader: LogReader, partition: TopicPartition, end: int, path: Path, *, to_present_end: bool
) -> SavedPartition:
    """Write the records before ``end``, or before the end that there is once they were read.

    The latter is for compacted topics: an older record of a key may be gone only because a newer one has come.
    """
    reader.read_from({partition: None})
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        file = RecordFile(writer)
        while True:
            for record in records_up_to(reader, partition, end):
                file.add(record)
            if not to_present_end or (now := reader.ends([partition])[partition]) <= end:
                break
            end = now
        file.flush()
    return SavedPartition(end if file.first is None else file.first, end, file.records)


def records_up_to(reader: LogReader, partition: TopicPartition, end: int) -> Iterator[SavedRecord]:
    """Yield the records before ``end``, from where the reader stands; a `BackupError`: the log has gone silent."""
    heard_s = time.monotonic()
    for records in reader.up_to({partition: end}):
        yield from (SavedRecord.of(each) for each in records if each.offset < end)
        heard_s = time.monotonic() if records else heard_s
        if time.monotonic() - heard_s > _SILENCE_S:
            at = f"offset {reader.position(partition)} of partition {partition.partition}"
            raise BackupError(f"{partition.topic} cannot be read beyond {at}")
