"""Writer: many appends in one transaction, which is one wait for the disk."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from services.common.clock import Clock
from services.common.local_log.log_file import LogFile
from services.common.local_log.rows import COLUMNS, row_of, size_of_row
from services.common.local_log.tables import transaction
from services.common.log.append_queue import Append
from services.common.log.declared_topic import Retention
from services.common.log.faults import LogError, NoSuchTopicError, UnusableRecordError
from services.common.log.placing import partition_of
from services.common.log.records import NewRecord, RecordPosition, size_of

_INSERT = f"INSERT INTO records_{{id}} ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"


class KeptTopic(NamedTuple):
    """A topic as the file has it, and the ids of its partitions in their order."""

    name: str
    retention: Retention
    partitions: Sequence[int]


def kept_topics(connection: sqlite3.Connection) -> Iterator[KeptTopic]:
    """Yield all topics."""
    rows = connection.execute("SELECT id, name, configs FROM topics ORDER BY id").fetchall()
    for topic, name, configs in rows:
        ids = connection.execute("SELECT id FROM partitions WHERE topic = ? ORDER BY number", (topic,))
        yield KeptTopic(name, Retention.of(json.loads(configs)), [id_ for (id_,) in ids])


class _Draft:
    """The rows of a transaction by partition, and where the next one stands."""

    def __init__(self, connection: sqlite3.Connection, now_ms: int, ends: Mapping[int, int]) -> None:
        self._connection, self._now_ms, self._before = connection, now_ms, ends
        self._rows: dict[int, list[tuple[Any, ...]]] = {}
        self.ends: dict[int, int] = {}

    def add(self, partition: int, record: NewRecord) -> int:
        """Take a record, and return its offset."""
        if partition not in self._rows:
            self.ends[partition] = self._before[partition] if partition in self._before else self._end(partition)
            self._rows[partition] = []
        offset = self.ends[partition]
        timestamp_ms = self._now_ms if record.timestamp_ms is None else record.timestamp_ms
        self._rows[partition].append(row_of(offset, timestamp_ms, record.key, record.value, record.headers))
        self.ends[partition] = offset + 1
        return offset

    def _end(self, partition: int) -> int:
        (end,) = self._connection.execute("SELECT end FROM partitions WHERE id = ?", (partition,)).fetchone()
        return int(end)

    def insert(self) -> None:
        """Write the rows."""
        for partition, rows in self._rows.items():
            self._connection.executemany(_INSERT.format(id=partition), rows)
            self._connection.execute(
                "UPDATE partitions SET end = ?, bytes = bytes + ? WHERE id = ?",
                (self.ends[partition], sum(map(size_of_row, rows)), partition),
            )


class Writer:
    """Writes appends by one connection, which belongs to one thread."""

    def __init__(self, file: LogFile, connection: sqlite3.Connection, clock_us: Clock) -> None:
        self._file, self._connection, self._clock_us = file, connection, clock_us
        self._topics: dict[str, KeptTopic] = {}
        self._ends: dict[int, int] = {}  # of partitions, as long as nobody else writes
        self._data_version = -1
        self.has_news = False  # of others, for whoever reads

    def write(self, appends: Sequence[Append]) -> list[list[RecordPosition] | Exception]:
        """Write all that can be written and return what became of each; raises `LogError` where none was written."""
        self._file.refuse_lost()
        with self._file.telling(), transaction(self._connection):
            self.look()
            ends, self._ends = self._ends, {}  # after a fault they are read again
            draft = _Draft(self._connection, self._clock_us() // 1_000, ends)
            outcomes = [self._outcome(append, draft) for append in appends]
            draft.insert()
        self._ends = ends | draft.ends
        return outcomes

    def look(self) -> None:
        """Notice what another connection has committed since the last look; it may have made topics."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._data_version:
            self._data_version, self.has_news = version, True
            self._topics.clear()
            self._ends.clear()

    def _outcome(self, append: Append, draft: _Draft) -> list[RecordPosition] | Exception:
        try:
            placed = [self._placed(record) for record in append.records]
        except LogError as refusal:
            return refusal
        return [
            RecordPosition(record.topic, number, draft.add(partition, record))
            for record, (number, partition) in zip(append.records, placed, strict=True)
        ]

    def _placed(self, record: NewRecord) -> tuple[int, int]:
        """Return the number and the id of a record's partition; a `LogError` says why its topic does not take it."""
        topic = self._topic(record.topic)
        number = record.partition
        if number is None:
            number = partition_of(record.key, len(topic.partitions))
        if not 0 <= number < len(topic.partitions):
            last = len(topic.partitions) - 1
            raise UnusableRecordError(f"partition {number} of {topic.name}: there are those from 0 to {last}")
        if topic.retention.is_compacted and record.key is None:
            raise UnusableRecordError(f"a record of {topic.name} has no key: the topic keeps the newest of each key")
        if (size := size_of(record)) > topic.retention.most_record_bytes:
            most = topic.retention.most_record_bytes
            raise UnusableRecordError(f"a record of {topic.name} has {size} bytes: at most {most} are allowed")
        return number, topic.partitions[number]

    def _topic(self, name: str) -> KeptTopic:
        if not self._topics:
            self._topics = {each.name: each for each in kept_topics(self._connection)}
        if name not in self._topics:
            raise NoSuchTopicError([name])
        return self._topics[name]
