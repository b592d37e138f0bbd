"""LocalLog: a `Log` in one file, for a system on one machine."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

from services.common.clock import Clock, system_clock_us
from services.common.local_log.commit_thread import CommitThread
from services.common.local_log.commits import Commits
from services.common.local_log.local_reader import LocalReader
from services.common.local_log.log_file import LogFile
from services.common.local_log.tables import alter_topic, insert_topic, transaction
from services.common.log.append_queue import MOST_WAITING_BYTES, AppendQueue
from services.common.log.declared_topic import Retention, Topic, refuse_other_partition_counts
from services.common.log.faults import NoSuchTopicError
from services.common.log.log import MOST_BYTES, MOST_RECORDS
from services.common.log.records import NewRecord, RecordPosition, TopicPartition

CLOSE_S = 10.0


class LocalLog:
    """Keeps its records in the file at ``path``, which it makes where there is none; see `Log`.

    All records of an append are written, or none is. Several processes may use the file. One that finds it locked for
    `busy_s` tells so, and nothing is lost. Raises `LogError`: the file cannot be used, or is damaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        busy_s: float = 5.0,
        tidied_every_s: float = 5.0,
        clock_us: Clock = system_clock_us,
    ) -> None:
        self._file, self._queue, self._commits = LogFile(path, busy_s), AppendQueue(most_waiting_bytes), Commits()
        self._thread = CommitThread(self._file, self._queue, self._commits, clock_us, tidied_every_s)
        self._thread.start()

    name = "the log"
    option = " --log FILE"  #: without the path, which not everybody may know
    problem: None = None  #: a file is there or one is told; see `Log`

    @property
    def transactions(self) -> int:
        """How often this process has waited for the disk to append something."""
        return self._thread.transactions

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Append records in their order; the future is done once all are on the disk, or has a `LogError`."""
        return self._queue.put(records)

    def reader(
        self,
        most_records: int = MOST_RECORDS,
        most_bytes: int = MOST_BYTES,
        group: str | None = None,  # noqa: ARG002 - there is nobody to whom it could be shown
    ) -> LocalReader:
        """Return a new reader, whose polls return so much at most, and one record at least."""
        return LocalReader(self._file, self._commits, most_records, most_bytes)

    def create_topics(self, declared: Mapping[str, Topic]) -> list[str]:
        """Make the topics equal to those that are ``declared``; return one line for each change."""
        for topic in declared.values():
            Retention.of(topic.configs)  # a setting that cannot be used is refused before anything is changed
        with self._file.telling(), closing(self._file.connect()) as connection, transaction(connection):
            rows = connection.execute(
                "SELECT name, configs, count(*) FROM topics JOIN partitions ON topic = topics.id GROUP BY topics.id"
            ).fetchall()
            refuse_other_partition_counts({name: count for name, _, count in rows}, declared)
            existing = {name: json.loads(configs) for name, configs, _ in rows}
            said: list[str] = []
            for name, topic in declared.items():
                if name not in existing:
                    insert_topic(connection, name, topic.partitions, topic.configs)
                    said.append(f"created {name} ({topic.partitions} partitions)")
                elif changes := topic.configs.items() - existing[name].items():
                    alter_topic(connection, name, existing[name] | topic.configs)
                    said += [f"set {name}: {key}={value}" for key, value in sorted(changes)]
        return said

    def skip_to(self, partition: TopicPartition, offset: int) -> None:
        """Let the next record of a partition get this offset; it must not be below the end."""
        self._move(partition, "end", offset)

    def begin_at(self, partition: TopicPartition, offset: int) -> None:
        """Let a partition begin there; it must have no record before it."""
        self._move(partition, "beginning", offset)

    def _move(self, partition: TopicPartition, column: str, offset: int) -> None:
        of_topic = "(SELECT id FROM topics WHERE name = ?)"
        update = f"UPDATE partitions SET {column} = ? WHERE topic = {of_topic} AND number = ? AND {column} <= ?"
        with self._file.telling(), closing(self._file.connect()) as connection, transaction(connection):
            if not connection.execute(update, (offset, *partition, offset)).rowcount:
                raise NoSuchTopicError([partition.topic])

    def close(self) -> None:
        """Append what waits, and end; blocks for a bounded time."""
        self._queue.close()
        self._thread.join(CLOSE_S)
