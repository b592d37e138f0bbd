"""Tidying: what topics no longer keep is removed, in steps so short that no append waits long for one."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import takewhile
from typing import NamedTuple

from services.common.local_log.tables import SIZE, transaction
from services.common.local_log.writer import KeptTopic, kept_topics
from services.common.log.declared_topic import Retention

#: What a step looks at, at most: some milliseconds.
STEP_RECORDS, STEP_BYTES = 500, 4 * 2**20


class _Seen(NamedTuple):
    """A record as it stands, without its value."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    is_tombstone: bool
    size: int


def tidy(connection: sqlite3.Connection, now_ms: int) -> Iterator[int]:
    """Remove what is to go by `now_ms`; yields how many records went, after each step that has ended."""
    for topic in list(kept_topics(connection)):
        for partition in topic.partitions:
            yield from _Partition(connection, partition, topic, now_ms).steps()


class _Partition:
    """One partition; its offsets stay what they are, whatever goes."""

    def __init__(self, connection: sqlite3.Connection, id_: int, topic: KeptTopic, now_ms: int) -> None:
        self._connection, self._id, self._now_ms = connection, id_, now_ms
        self._retention: Retention = topic.retention

    def steps(self) -> Iterator[int]:
        """Compact, then delete, as far as the topic asks for it."""
        if self._retention.is_compacted:
            while self._compactable():
                yield self._in_transaction(self._compact)
            while self._tombstones():
                yield self._in_transaction(self._bury)
        while self._expired():
            yield self._in_transaction(self._expire)

    def _in_transaction(self, step: Callable[[], int]) -> int:
        with transaction(self._connection):
            return step()

    def _position(self, name: str) -> int:
        (position,) = self._connection.execute(f"SELECT {name} FROM partitions WHERE id = ?", (self._id,)).fetchone()
        return int(position)

    def _seen_from(self, offset: int) -> Iterator[_Seen]:
        """Yield what stands there, as much as a step takes."""
        rows = self._connection.execute(
            f"SELECT record_offset, timestamp_ms, key, value IS NULL, {SIZE} FROM records_{self._id} "
            "WHERE record_offset >= ? ORDER BY record_offset LIMIT ?",
            (offset, STEP_RECORDS),
        )
        with closing(rows):  # one that is read in part would hold on to the present state of the file
            size = 0
            for row in map(_Seen._make, rows):
                yield row
                size += row.size
                if size >= STEP_BYTES:
                    return

    def _compactable(self) -> list[_Seen]:
        """Return the next records that are old enough to displace those before them."""
        latest_ms = self._now_ms - self._retention.lag_ms
        seen = self._seen_from(self._position("compacted_to"))
        return list(takewhile(lambda each: each.timestamp_ms <= latest_ms, seen))

    def _compact(self) -> int:
        """Let the newest of each key, of those that are looked at, displace all before it."""
        records = self._compactable()
        newest = {each.key: each for each in records}
        removed = [
            size
            for each in newest.values()
            for (size,) in self._connection.execute(
                f"DELETE FROM records_{self._id} WHERE key = ? AND record_offset < ? RETURNING {SIZE}",
                (each.key, each.offset),
            ).fetchall()
        ]
        goes_at_ms = self._now_ms + self._retention.tombstone_ms
        self._connection.executemany(
            f"UPDATE records_{self._id} SET goes_at_ms = ? WHERE record_offset = ?",
            [(goes_at_ms, each.offset) for each in newest.values() if each.is_tombstone],
        )
        if records:
            self._note("compacted_to", records[-1].offset + 1, sum(removed))
        return len(removed)

    def _tombstones(self) -> list[tuple[int, int]]:
        """Return offset and size of keys that were removed long enough ago."""
        return self._connection.execute(
            f"SELECT record_offset, {SIZE} FROM records_{self._id} WHERE goes_at_ms <= ? LIMIT ?",
            (self._now_ms, STEP_RECORDS),
        ).fetchall()

    def _bury(self) -> int:
        gone = self._tombstones()
        self._connection.executemany(
            f"DELETE FROM records_{self._id} WHERE record_offset = ?", [(offset,) for offset, _ in gone]
        )
        self._note("compacted_to", self._position("compacted_to"), sum(size for _, size in gone))
        return len(gone)

    def _expired(self) -> list[_Seen]:
        """Return the first records that are too old, or that the topic can do without."""
        oldest_ms = None if self._retention.most_ms is None else self._now_ms - self._retention.most_ms
        spare = 0 if self._retention.most_bytes is None else self._position("bytes") - self._retention.most_bytes
        expired: list[_Seen] = []
        if oldest_ms is None and spare <= 0:
            return expired
        for each in self._seen_from(0):
            spare -= each.size
            if spare < 0 and (oldest_ms is None or each.timestamp_ms >= oldest_ms):
                break
            expired.append(each)
        return expired

    def _expire(self) -> int:
        """Delete them; the partition begins behind them from now on."""
        expired = self._expired()
        if expired:
            last = expired[-1].offset
            self._connection.execute(f"DELETE FROM records_{self._id} WHERE record_offset <= ?", (last,))
            self._note("beginning", last + 1, sum(each.size for each in expired))
        return len(expired)

    def _note(self, name: str, position: int, removed_bytes: int) -> None:
        self._connection.execute(
            f"UPDATE partitions SET {name} = ?, bytes = bytes - ? WHERE id = ?", (position, removed_bytes, self._id)
        )
