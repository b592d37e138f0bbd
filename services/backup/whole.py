"""All parts of a system, backed up and restored in the order that makes them agree (docs/adr/, decision 46)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coincide import __version__
from services.backup.copies import restore_checkpoint, restore_configuration, save_checkpoint, save_configuration
from services.backup.database import database_file, refuse_database, restore_database, save_database
from services.backup.exact_logs import LogPlace
from services.backup.folder import FORMAT, BackupError, Manifest, begun, complete
from services.backup.record_files import file_of, records_in
from services.backup.topic_copies import save_topics
from services.backup.topic_filling import restore_topics
from services.common.engine.carried_state import CarriedState
from services.common.engine.shard_state import SHARD_STATE
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.topics.line_topics import topics_of_line
from services.common.topics.topic_names import TopicNames

TOPICS, CHECKPOINT, CONFIGURATION, DATABASE = "topics", "checkpoint", "config", "database/alerting.sqlite3"


@dataclass(frozen=True)
class SystemPlaces:
    """Where the parts of a system are."""

    log: LogPlace
    topics: Mapping[str, Topic]  # as they are declared, by their full names
    names: TopicNames
    database_url: str | None  # None: somebody else backs it up
    checkpoint: Path | None = None  # None: there is none at hand, and fusion is to be rebuilt
    configuration: Path | None = None  # COINCIDE_CONFIG


def save(places: SystemPlaces, folder: Path) -> Manifest:
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
            with places.log.opened() as exact:
                kept = topics_of_line(places.topics, places.names) if exact.takes_state else places.topics
                topics = save_topics(exact.log, kept, places.names, unfinished / TOPICS)
        except LogError as error:
            raise BackupError(f"{places.log} cannot be read: {error}") from error
        content = Manifest(FORMAT, created_at, __version__, topics, saved, database is not None, {})
        return complete(unfinished, folder, content)


def restore(folder: Path, manifest: Manifest, places: SystemPlaces) -> bool:
    """Put the backup in ``folder``, which was `opened`, into a system that has nothing yet; only its log is there.

    Return whether the engine goes on from its state; else it has to begin anew from the topics. A `BackupError` says
    why it was not done. After one about the log, what was written so far is of no use.
    """
    database = _database(places) if manifest.has_database else None
    if database is not None:
        refuse_database(database)
    checkpoint = places.checkpoint
    if checkpoint is not None and checkpoint.exists():
        raise BackupError(f"there is a checkpoint already: {checkpoint}")
    restore_configuration(folder, manifest, places.configuration)
    try:
        with places.log.opened() as exact:
            topics = topics_of_line(places.topics, places.names) if exact.takes_state else places.topics
            restore_topics(exact, topics, places.names, manifest.topics, folder / TOPICS)
            goes_on = exact.takes_state and places.names.full(SHARD_STATE) in manifest.topics
    except LogError as error:
        raise BackupError(f"{places.log} cannot be written: {error}") from error
    if checkpoint is not None:
        goes_on = _restore_state(folder, manifest, places.names, checkpoint)
    if database is not None:
        restore_database(folder / DATABASE, database, _age_s(manifest))
    return goes_on


def _restore_state(folder: Path, manifest: Manifest, names: TopicNames, checkpoint: Path) -> bool:
    """Put back the checkpoint, or have one begin with the state that a line in one process has left."""
    if manifest.checkpoint is not None:
        restore_checkpoint(folder / CHECKPOINT, manifest.checkpoint, checkpoint)
        return True
    if (topic := names.full(SHARD_STATE)) not in manifest.topics:
        return False
    records = records_in(file_of(folder / TOPICS, topic, 0))
    carried = CarriedState.of((each.key, each.value) for each in records)
    if carried is not None:
        carried.write(checkpoint)
    return carried is not None


def _database(places: SystemPlaces) -> Path | None:
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
