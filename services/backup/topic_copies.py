"""The records of every topic, in Parquet: a file for each partition, in the order of its offsets."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from kafka import KafkaProducer, TopicPartition

from services.backup.folder import BackupError, SavedPartition
from services.backup.places import delete_before, fill
from services.common.kafka.clients import close_producer, create_admin, create_consumer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import MissingTopicError
from services.common.kafka.topic_reader import TopicReader
from services.common.log.declared_topic import Topic, TopicConflictError
from services.common.topic_names import TopicNames
from services.common.topics import create_topics

#: Topics in the order in which their ends are noted: effects before causes, and who was told last. See decision 46.
_CAUSES = ("detections", "deferrals")
_SAID = ("queries", "sensors", "templates", "keys", "audit", "alert-controls")
_LATER = (_CAUSES, _SAID, ("deliveries",))
#: Topics whose records get the offsets again that they had: a checkpoint, an archive and episodes name them.
IN_PLACE = frozenset({"detections", "deferrals", "queries"})

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))),
    ]
)
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 5_000, 8 * 2**20
_SILENCE_S, _ANSWER_S = 30.0, 10.0
_LARGEST_RECORD = 16 * 2**20


class SavedRecord(NamedTuple):
    """A record; its fields are the columns of the file."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]

    @property
    def size(self) -> int:
        """Its bytes, nearly."""
        return 64 + len(self.key or b"") + len(self.value or b"")


def in_order(topics: Collection[str], names: TopicNames) -> list[list[str]]:
    """Return the topics in groups; the ends of a group are noted once the group before it has been read.

    Examples
    --------
    >>> in_order(["reef.keys", "reef.detections", "reef.matches", "reef.deliveries"], TopicNames("reef."))
    [['reef.matches'], ['reef.detections'], ['reef.keys'], ['reef.deliveries']]
    """
    groups = [list(map(names.full, group)) for group in _LATER]
    later = {topic for group in groups for topic in group}
    groups = [[each for each in topics if each not in later], *([t for t in topics if t in group] for group in groups)]
    return [sorted(group) for group in groups if group]


def save_topics(
    kafka: KafkaConnection, topics: Mapping[str, Topic], names: TopicNames, folder: Path
) -> dict[str, list[SavedPartition]]:
    """Write the records of ``topics`` below ``folder`` and return what was written; raises KafkaError."""
    with TopicReader(create_consumer(kafka, max_poll_records=_ROWS_AT_ONCE), _ANSWER_S, names) as reader:
        return {
            name: partitions
            for group in in_order(topics, names)
            for name, partitions in _save_group(reader, group, topics, folder).items()
        }


def file_of(folder: Path, topic: str, partition: int) -> Path:
    """Return the file of a partition."""
    return folder / topic / f"{partition}.parquet"


def _save_group(
    reader: TopicReader, group: list[str], topics: Mapping[str, Topic], folder: Path
) -> dict[str, list[SavedPartition]]:
    try:
        ends = reader.ends(reader.partitions_of(*group))
    except MissingTopicError as error:
        raise BackupError(str(error)) from error
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
    """Return whether Kafka keeps the newest record of each key for ever."""
    return topic.configs.get("cleanup.policy") == "compact"


def _save_partition(
    reader: TopicReader, partition: TopicPartition, end: int, path: Path, *, to_present_end: bool
) -> SavedPartition:
    """Write the records before ``end``, or before the end that there is once they were read.

    The latter is for compacted topics: an older record of a key may be gone only because a newer one has come.
    """
    reader.read_from({partition: None})
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        file = _RecordFile(writer)
        while True:
            _add_up_to(reader, partition, end, file)
            if not to_present_end or (now := reader.ends([partition])[partition]) <= end:
                break
            end = now
        file.flush()
    return SavedPartition(end if file.first is None else file.first, end, file.records)


def _add_up_to(reader: TopicReader, partition: TopicPartition, end: int, file: "_RecordFile") -> None:
    heard_s = time.monotonic()
    for records in reader.up_to({partition: end}):
        for record in records:
            if record.offset < end:
                file.add(_saved(record))
        heard_s = time.monotonic() if records else heard_s
        if time.monotonic() - heard_s > _SILENCE_S:
            at = f"offset {reader.position(partition)} of partition {partition.partition}"
            raise BackupError(f"{partition.topic} cannot be read beyond {at}")


def _saved(record: Any) -> SavedRecord:
    return SavedRecord(record.offset, record.timestamp, record.key, record.value, list(record.headers))


class _RecordFile:
    """Collects records into row groups, so that memory is bounded."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._rows: list[SavedRecord] = []
        self._bytes = 0
        self.first: int | None = None
        self.records = 0

    def add(self, record: SavedRecord) -> None:
        """Take the next record."""
        self.first = record.offset if self.first is None else self.first
        self._rows.append(record)
        self._bytes += record.size
        self.records += 1
        if len(self._rows) >= _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        if self._rows:
            columns = dict(zip(SavedRecord._fields, map(list, zip(*self._rows, strict=True)), strict=True))
            columns["headers"] = [[{"key": k, "value": v} for k, v in each] for each in columns["headers"]]
            self._writer.write_table(pa.table(columns, schema=SCHEMA))
        self._rows, self._bytes = [], 0


def records_in(path: Path) -> Iterator[SavedRecord]:
    """Yield the records of a file, in their order."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                headers = [(each["key"], each["value"]) for each in row.pop("headers") or ()]
                yield SavedRecord(**row, headers=headers)


def refuse_unless_empty(kafka: KafkaConnection, names: Iterable[str]) -> None:
    """Raise a `BackupError` if a topic ever had a record."""
    with TopicReader(create_consumer(kafka), _ANSWER_S) as reader:
        for name in filter(reader.has, names):
            if any(reader.ends(reader.partitions_of(name)).values()):
                raise BackupError(f"{name} has records: restore into a Kafka without any, while nothing else runs")


def restore_topics(
    kafka: KafkaConnection,
    topics: Mapping[str, Topic],
    names: TopicNames,
    saved: Mapping[str, list[SavedPartition]],
    folder: Path,
) -> None:
    """Create ``topics``, which must be empty, and write the saved records into them; raises KafkaError."""
    refuse_unless_empty(kafka, topics)
    if unknown := saved.keys() - topics.keys():
        raise BackupError(
            f"the backup has the topic {min(unknown)}, which config/topics.yaml does not declare for the topic_prefix "
            f"{names.prefix!r}"
        )
    for name, partitions in saved.items():
        if len(partitions) != topics[name].partitions:
            raise BackupError(
                f"{name} had {len(partitions)} partitions, config/topics.yaml says {topics[name].partitions}: "
                "a topic keeps its partition count for life"
            )
    admin = create_admin(kafka)
    try:
        create_topics(admin, dict(topics))
        for name, partitions in saved.items():
            for number, partition in enumerate(partitions):
                how = {"is_kept": names.short(name) in IN_PLACE, "is_compacted": is_compacted(topics[name])}
                place = FilledPartition(admin, TopicPartition(name, number), partition, **how)
                place.restore(kafka, file_of(folder, name, number))
    except TopicConflictError as error:
        raise BackupError(str(error)) from error
    finally:
        admin.close()


class FilledPartition:
    """A partition to be filled; `is_kept`: its records get the offsets again that they had."""

    def __init__(
        self, admin: Any, partition: TopicPartition, saved: SavedPartition, *, is_kept: bool, is_compacted: bool
    ) -> None:
        self._admin, self._partition, self._saved, self._compacted = admin, partition, saved, is_compacted
        self._is_kept = is_kept
        self._next = 0

    def restore(self, kafka: KafkaConnection, file: Path) -> None:
        """Write the records of ``file``; what is in front of kept offsets is empty, and deleted again."""
        keeps_front = self._is_kept and not self._compacted
        if keeps_front:
            self._next = fill(self._admin, self._partition, 0, self._saved.begin)
        producer = create_producer(
            kafka,
            delivery_timeout_ms=60_000,
            max_in_flight_requests_per_connection=1,  # the order is that of the file
            max_request_size=_LARGEST_RECORD,
            linger_ms=5,
        )
        try:
            self.write(producer, records_in(file))
        finally:
            close_producer(producer, timeout_s=10.0)
        if keeps_front:
            fill(self._admin, self._partition, self._next, self._saved.end)
            delete_before(self._admin, self._partition, self._saved.begin)

    def write(self, producer: KafkaProducer, records: Iterable[SavedRecord]) -> None:
        """Write ``records``, each at the offset that it had where that is kept."""
        waiting: list[Any] = []
        size = 0
        for record in records:
            # what compaction left out is told by copies of the next record, which compaction removes once more
            for _ in range(1 + (record.offset - self._next if self._is_kept else 0)):
                waiting.append(self._sent(producer, record))
                size += record.size
                if len(waiting) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
                    self._settle(waiting)
                    waiting, size = [], 0
        self._settle(waiting)

    def _sent(self, producer: KafkaProducer, record: SavedRecord) -> Any:
        self._next += 1
        empty = b"" if record.key is None and record.value is None else None  # the client writes no record of nothing
        return producer.send(
            self._partition.topic,
            partition=self._partition.partition,
            key=record.key,
            value=empty if record.value is None else record.value,
            headers=[(key, value or b"") for key, value in record.headers],
            timestamp_ms=record.timestamp_ms,
        )

    def _settle(self, waiting: list[Any]) -> None:
        for each in waiting:
            last = each.get(timeout=60).offset
        if waiting and self._is_kept and last != self._next - 1:
            raise BackupError(
                f"somebody else writes to {self._partition.topic}: a record got offset {last}, not {self._next - 1}"
            )
