"""LocalReader: reads the file by a connection of its own, which never keeps the writer waiting."""

import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

from services.common.local_log.commits import Commits, Listener
from services.common.local_log.log_file import LogFile
from services.common.local_log.rows import COLUMNS, headers_in, size_of_row
from services.common.local_log.sqlite_faults import damaged
from services.common.local_log.tables import transaction
from services.common.log.faults import AnotherTopicError, LogError, NoSuchTopicError, OffsetGoneError
from services.common.log.reader import POLL_S, LogReader
from services.common.log.records import Record, TopicPartition


class _Extent(NamedTuple):
    """Which table has a partition's records, and from where up to where they reach."""

    id: int
    beginning: int
    end: int


class LocalReader(LogReader):
    """Reads topics of the file; what a poll returns is one state of it."""

    def __init__(self, file: LogFile, commits: Commits, most_records: int, most_bytes: int) -> None:
        super().__init__()
        self._file, self._commits, self._listener = file, commits, Listener()
        self._most_records, self._most_bytes = most_records, most_bytes
        self._positions: dict[TopicPartition, int | None] = {}
        self._has_all = False  # what there was when it was asked last
        with file.telling():
            self._connection = file.connect()
            self._connection.execute("PRAGMA query_only = ON")
        commits.join(self._listener)

    def close(self) -> None:
        """Read no more."""
        self._commits.leave(self._listener)
        self._connection.close()

    def has(self, topic: str) -> bool:
        """Return whether there is such a topic."""
        return self._row_of(topic) is not None

    def partitions_of(self, *topics: str) -> list[TopicPartition]:
        """Return the partitions of topics; `NoSuchTopicError` where one is not there."""
        if missing := [each for each in topics if not self.has(each)]:
            raise NoSuchTopicError(missing)
        extents = self._extents_of(topics)
        return [each for topic in topics for each in extents if each.topic == topic]

    def topic_id(self, topic: str) -> uuid.UUID | None:
        """Return what was given to the topic when it was made."""
        try:
            self._file.refuse_lost()
        except LogError as error:
            raise AnotherTopicError([topic]) from error
        row = self._row_of(topic)
        return None if row is None else uuid.UUID(bytes=row[1])

    def beginnings(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset of the first record that each may still have."""
        return {each: extent.beginning for each, extent in self._extents(partitions).items()}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each."""
        return {each: extent.end for each, extent in self._extents(partitions).items()}

    def written_since(self, partitions: Iterable[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        """Return the offset of the first record that was written then or later, of each partition that has one."""
        with self._file.telling(), transaction(self._connection, "DEFERRED"):
            found = {each: self._written_since(extent, at_ms) for each, extent in self._extents(partitions).items()}
        return {each: offset for each, offset in found.items() if offset is not None}

    def topics_read(self) -> set[str]:
        """Return the topics of `read_from`."""
        return {each.topic for each in self._positions}

    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions, and no others, from these offsets on; None is the beginning."""
        asked = {TopicPartition(*each): offset for each, offset in starts.items()}
        self._extents(asked)  # which refuses what is not there
        self._positions, self._has_all = asked, False
        self._listener.topics = self.topics_read()

    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""
        at = self._positions[partition]
        return self.beginnings([partition])[partition] if at is None else at

    def poll(self, wait_s: float = POLL_S) -> list[Record]:
        """Return the next records; waits up to `wait_s` when there are none, and not where it went on over a gap."""
        until_s = time.monotonic() + wait_s
        if self._has_all:  # what came since was heard of
            self._listener.wait(wait_s)
        while True:
            self._listener.begin()
            records, has_moved = self._read()
            if has_moved or not self._listener.wait(max(0.0, until_s - time.monotonic())):
                return records

    def stop_waiting(self) -> None:
        """Let a poll that waits, and every later one, return at once."""
        self._listener.end()

    def _read(self) -> tuple[list[Record], bool]:
        """Return what there is, as much as may be returned at once, and whether there was anything, or a gap.

        Whoever was read comes last the next time.
        """
        records: list[Record] = []
        room, has_moved, self._has_all = self._most_bytes, False, False
        with self._file.telling(), transaction(self._connection, "DEFERRED"):
            for each, extent in self._extents(self._positions).items():
                if room <= 0 or len(records) >= self._most_records:
                    break
                at = self._positions[each]
                at = extent.beginning if at is None else at
                if at == extent.end:
                    self._positions[each] = at
                    continue
                taken, next_offset = self._take(each, extent, at, self._most_records - len(records), room)
                records += [record for record, _ in taken]
                room -= sum(size for _, size in taken)
                if next_offset != at:
                    del self._positions[each]
                    has_moved = True
                self._positions[each] = next_offset
        self._has_all = room > 0 and len(records) < self._most_records
        return records, has_moved

    def _take(
        self, partition: TopicPartition, extent: _Extent, at: int, most_records: int, most_bytes: int
    ) -> tuple[list[tuple[Record, int]], int]:
        """Return the next records of a partition with their sizes, and the offset to go on from."""
        if not extent.beginning <= at <= extent.end:
            raise OffsetGoneError(partition, at, extent.beginning, extent.end)
        taken: list[tuple[Record, int]] = []
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM records_{extent.id} WHERE record_offset >= ? ORDER BY record_offset LIMIT ?",
            (at, most_records),
        )
        with closing(rows):
            for row in rows:
                record = self._record(partition, row)
                if most_bytes <= 0:
                    return taken, record.offset
                taken.append((record, size_of_row(row)))
                most_bytes -= taken[-1][1]
        is_cut = len(taken) == most_records
        return taken, taken[-1][0].offset + 1 if is_cut else extent.end

    def _written_since(self, extent: _Extent, at_ms: int) -> int | None:
        """Look into the middle of what is left, again and again: an index by time would make every append dearer."""
        row_from = f"SELECT record_offset, timestamp_ms FROM records_{extent.id} WHERE record_offset >= ? "
        row_from += "ORDER BY record_offset LIMIT 1"
        found: int | None = None
        low, high = extent.beginning, extent.end
        while low < high:
            middle = (low + high) // 2
            row = self._connection.execute(row_from, (middle,)).fetchone()
            if row is not None and row[0] < high and row[1] < at_ms:
                low = row[0] + 1
            else:
                high = middle
                found = row[0] if row is not None and row[1] >= at_ms else found
        return found

    def _record(self, partition: TopicPartition, row: tuple[object, ...]) -> Record:
        headers = headers_in(row)
        if headers is None:
            where = f"partition {partition.partition}, offset {row[0]}"
            raise damaged(self._file.path, f"what stands in {partition.topic}, {where}, is not what was written")
        offset, timestamp_ms, key, value, _, _ = row
        return Record(*partition, offset, timestamp_ms, key, value, headers)  # type: ignore[arg-type]

    def _row_of(self, topic: str) -> tuple[int, bytes] | None:
        with self._file.telling():
            found = self._connection.execute("SELECT id, topic_id FROM topics WHERE name = ?", (topic,)).fetchone()
        return found and (found[0], found[1])

    def _extents_of(self, topics: Collection[str]) -> dict[TopicPartition, _Extent]:
        """Return those of all partitions of topics, by one statement: who waits for Python's lock waits once."""
        marks = ", ".join("?" * len(topics))
        with self._file.telling():
            rows = self._connection.execute(
                "SELECT name, number, partitions.id, beginning, end FROM partitions JOIN topics ON topics.id = topic "
                f"WHERE name IN ({marks}) ORDER BY number",
                (*topics,),
            ).fetchall()
        return {TopicPartition(name, number): _Extent(*extent) for name, number, *extent in rows}

    def _extents(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, _Extent]:
        asked = [TopicPartition(*each) for each in partitions]
        extents = self._extents_of({each.topic for each in asked})
        if missing := [each.topic for each in asked if each not in extents]:
            raise NoSuchTopicError(missing)
        return {each: extents[each] for each in asked}
