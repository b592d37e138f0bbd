"""The tables of the file: topics, their partitions, and a table of records for each partition."""

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from services.common.log.declared_topic import Retention
from services.common.log.records import RECORD_BYTES

#: In the file's header: whose file it is, and the format of what is in it.
APPLICATION_ID = 0x436F696E
FORMAT = 1

TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    topic_id BLOB NOT NULL,
    configs TEXT NOT NULL
) STRICT;
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL REFERENCES topics,
    number INTEGER NOT NULL,
    beginning INTEGER NOT NULL DEFAULT 0,
    end INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    compacted_to INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic, number)
) STRICT;
"""

#: A table for each partition: so an offset is the id of a row, and only what is compacted pays for an index by key.
_RECORDS = """
CREATE TABLE records_{id} (
    record_offset INTEGER PRIMARY KEY,
    timestamp_ms INTEGER NOT NULL,
    key BLOB,
    value BLOB,
    headers BLOB,
    checksum INTEGER NOT NULL,
    goes_at_ms INTEGER
) STRICT
"""
_BY_KEY = "CREATE INDEX IF NOT EXISTS keys_{id} ON records_{id} (key)"
_TOMBSTONES = (
    "CREATE INDEX IF NOT EXISTS tombstones_{id} ON records_{id} (goes_at_ms, record_offset) "
    "WHERE goes_at_ms IS NOT NULL"
)

#: The bytes of a record, without reading it.
SIZE = f"{RECORD_BYTES} + ifnull(length(key), 0) + ifnull(length(value), 0) + ifnull(length(headers), 0)"


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Do what is within as a whole, or not at all."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # after some faults SQLite has done it already
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def insert_topic(connection: sqlite3.Connection, name: str, partitions: int, configs: dict[str, str]) -> None:
    """Make a topic, with a table for each partition."""
    topic = connection.execute(
        "INSERT INTO topics (name, topic_id, configs) VALUES (?, ?, ?)", (name, uuid.uuid4().bytes, json.dumps(configs))
    ).lastrowid
    for number in range(partitions):
        row = "INSERT INTO partitions (topic, number) VALUES (?, ?)"
        connection.execute(_RECORDS.format(id=connection.execute(row, (topic, number)).lastrowid))
    alter_topic(connection, name, configs)


def alter_topic(connection: sqlite3.Connection, name: str, configs: dict[str, str]) -> None:
    """Give a topic these settings, and what compaction looks records up by where it needs that."""
    connection.execute("UPDATE topics SET configs = ? WHERE name = ?", (json.dumps(configs), name))
    if Retention.of(configs).is_compacted:
        of_topic = "SELECT partitions.id FROM partitions JOIN topics ON topics.id = topic WHERE name = ?"
        for (partition,) in connection.execute(of_topic, (name,)).fetchall():
            connection.execute(_BY_KEY.format(id=partition))
            connection.execute(_TOMBSTONES.format(id=partition))
