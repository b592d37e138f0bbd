"""The records of every topic, back into a log that has none: in their order, with their keys, headers and times."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from services.backup.exact_logs import ExactLog
from services.backup.folder import BackupError, SavedPartition
from services.backup.record_files import BYTES_AT_ONCE, ROWS_AT_ONCE, SavedRecord, file_of, records_in
from services.backup.topic_copies import is_compacted
from services.common.log.declared_topic import Topic, TopicConflictError
from services.common.log.log import Log
from services.common.log.records import NewRecord, TopicPartition
from services.common.topics.line_topics import LINE_TOPICS
from services.common.topics.topic_names import TopicNames

_TIMEOUT_S = 120.0


def refuse_unless_empty(log: Log, names: Iterable[str]) -> None:
    """Raise a `BackupError` if a topic ever had a record."""
    with log.reader() as reader:
        for name in filter(reader.has, names):
            if any(reader.ends(reader.partitions_of(name)).values()):
                raise BackupError(f"{name} has records: restore into a log without any, while nothing else runs")


def restore_topics(
    target: ExactLog,
    topics: Mapping[str, Topic],
    names: TopicNames,
    saved: Mapping[str, list[SavedPartition]],
    folder: Path,
) -> None:
    """Create ``topics``, which must be empty, and write the saved records into them; raises LogError."""
    refuse_unless_empty(target.log, topics)
    if not target.takes_state:
        saved = {name: each for name, each in saved.items() if names.short(name) not in LINE_TOPICS}
    create_for(target.log, topics, {name: len(partitions) for name, partitions in saved.items()}, names)
    for name, partitions in saved.items():
        for number, partition in enumerate(partitions):
            place = FilledPartition(target, TopicPartition(name, number), topics[name], names)
            place.restore(partition, records_in(file_of(folder, name, number)))


def create_for(log: Log, topics: Mapping[str, Topic], saved: Mapping[str, int], names: TopicNames) -> None:
    """Create ``topics``, so that records of so many partitions fit; a `BackupError` says why they do not."""
    if unknown := saved.keys() - topics.keys():
        raise BackupError(
            f"the backup has the topic {min(unknown)}, which config/topics.yaml does not declare for the topic_prefix "
            f"{names.prefix!r}"
        )
    for name, count in saved.items():
        if count != topics[name].partitions:
            raise BackupError(
                f"{name} had {count} partitions, config/topics.yaml says {topics[name].partitions}: "
                "a topic keeps its partition count for life"
            )
    try:
        log.create_topics(topics)
    except TopicConflictError as error:
        raise BackupError(str(error)) from error


class FilledPartition:
    """A partition to be filled; `next` is where its next record stands. It may have the first records already."""

    def __init__(
        self, target: ExactLog, partition: TopicPartition, topic: Topic, names: TopicNames, next_offset: int = 0
    ) -> None:
        self._target, self._partition = target, TopicPartition(*partition)
        self._is_compacted = is_compacted(topic)
        self.is_kept = target.keeps_offsets(names.short(partition.topic))
        self.next = next_offset

    def restore(self, saved: SavedPartition, records: Iterable[SavedRecord]) -> None:
        """Write the records that are not there yet; what is in front of kept offsets, and behind, is skipped."""
        keeps_ends = self.is_kept and not self._is_compacted
        if keeps_ends:
            self._skip_to(saved.begin)
        self.write(records)
        if keeps_ends:
            self._skip_to(saved.end)
            self._target.begin_at(self._partition, saved.begin)

    def write(self, records: Iterable[SavedRecord]) -> None:
        """Write ``records``, each at the offset that it had where that is kept."""
        waiting: list[NewRecord] = []
        size = 0
        for record in records:
            new = self._new(record)
            is_apart = self.is_kept and record.offset != self.next + len(waiting)
            if is_apart or len(waiting) >= ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
                self._append(waiting)
                waiting, size = [], 0
            if is_apart:
                self._skip_to(record.offset, new)
            waiting.append(new)
            size += record.size
        self._append(waiting)

    def _skip_to(self, offset: int, following: NewRecord | None = None) -> None:
        if offset > self.next:
            self._target.skip(self._partition, range(self.next, offset), following if self._is_compacted else None)
            self.next = offset

    def _new(self, record: SavedRecord) -> NewRecord:
        empty = b"" if record.key is None and record.value is None else None  # no log takes a record of nothing
        value = empty if record.value is None else record.value
        headers = tuple((name, content or b"") for name, content in record.headers)
        topic, number = self._partition
        return NewRecord(topic, record.key, value, headers, record.timestamp_ms, number)

    def _append(self, records: list[NewRecord]) -> None:
        if not records:
            return
        last = self._target.log.append(records).result(_TIMEOUT_S)[-1].offset
        self.next += len(records)
        if last != self.next - 1:
            raise BackupError(
                f"somebody else writes to {self._partition.topic}: a record got offset {last}, not {self.next - 1}"
            )
