"""All parts of a system, backed up and restored in the order that makes them agree (docs/adr/, decision 46)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kafka.errors import KafkaError

from coincide import __version__
from services.backup.copies import restore_checkpoint, restore_configuration, save_checkpoint, save_configuration
from services.backup.database import database_file, refuse_database, restore_database, save_database
from services.backup.folder import FORMAT, BackupError, Manifest, begun, complete
from services.backup.topic_copies import restore_topics, save_topics
from services.common.kafka.connection import KafkaConnection
from services.common.log.declared_topic import Topic
from services.common.topic_names import TopicNames

TOPICS, CHECKPOINT, CONFIGURATION, DATABASE = "topics", "checkpoint", "config", "database/alerting.sqlite3"


@dataclass(frozen=True)
class Places:
    """Where the parts of a system are."""

    kafka: KafkaConnection
    topics: Mapping[str, Topic]  # as they are declared, by their names in Kafka
    names: TopicNames
    database_url: str | None  # None: somebody else backs it up
    checkpoint: Path | None = None  # None: there is none at hand, and fusion is to be rebuilt
    configuration: Path | None = None  # COINCIDE_CONFIG


def save(places: Places, folder: Path) -> Manifest:
    """Write a backup of a running system, and return what is in it; a `BackupError` says why there is none."""
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    database = _database(places)
    with begun(folder) as unfinished:
        if places.configuration is not None:
            save_configuration(places.configuration, unfinished / CONFIGURATION)
        if database is not None:
            save_database(database, unfinished / DATABASE)
        saved = None
        if places.checkpoint is not None:
            saved = save_checkpoint(places.checkpoint, unfinished / CHECKPOINT)
        try:
            topics = save_topics(places.kafka, places.topics, places.names, unfinished / TOPICS)
        except KafkaError as error:
            raise BackupError(f"Kafka at {places.kafka.servers} cannot be read: {error}") from error
        content = Manifest(FORMAT, created_at, __version__, topics, saved, database is not None, {})
        return complete(unfinished, folder, content)


def restore(folder: Path, manifest: Manifest, places: Places) -> None:
    """Put the backup in ``folder``, which was `opened`, into a system that has nothing yet; only Kafka runs.

    A `BackupError` says why it was not done. After one about Kafka, what was written so far is of no use.
    """
    database = _database(places) if manifest.has_database else None
    if database is not None:
        refuse_database(database)
    checkpoint = places.checkpoint
    if checkpoint is not None and checkpoint.exists():
        raise BackupError(f"there is a checkpoint already: {checkpoint}")
    restore_configuration(folder, manifest, places.configuration)
    try:
        restore_topics(places.kafka, places.topics, places.names, manifest.topics, folder / TOPICS)
    except KafkaError as error:
        raise BackupError(f"Kafka at {places.kafka.servers} cannot be written: {error}") from error
    if checkpoint is not None and manifest.checkpoint is not None:
        restore_checkpoint(folder / CHECKPOINT, manifest.checkpoint, checkpoint)
    if database is not None:
        restore_database(folder / DATABASE, database, _age_s(manifest))


def _database(places: Places) -> Path | None:
    if places.database_url is None:
        return None
    file = database_file(places.database_url)
    if file is None:
        raise BackupError("the database is PostgreSQL: back it up with pg_dump first, then the rest with --no-database")
    return file


def _age_s(manifest: Manifest) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(manifest.created_at)).total_seconds()
    except (TypeError, ValueError) as error:
        raise BackupError(f"created_at of the backup is no RFC 3339 time: {manifest.created_at!r}") from error
