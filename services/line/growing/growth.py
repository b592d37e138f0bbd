"""Growth: a line of one process becomes a system on Kafka and Spark, or the reverse."""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from services.alerting.settings import AlertingSettings
from services.backup.database import database_beside, database_file, refuse_database, restore_database, save_database
from services.backup.exact_logs import ExactLog, FilePlace, KafkaPlace
from services.backup.folder import BackupError
from services.common.engine.carried_state import CarriedState
from services.common.engine.shard_state import SHARD_STATE
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from services.common.program.skeleton import exit_status
from services.common.settings import CONFIG_VARIABLE, load_connection, load_settings, located
from services.common.topics.topic_names import TopicNames
from services.common.topics.topics_file import load_topics
from services.line.growing.folder_lock import claimed
from services.line.growing.growth_note import GrowthNote
from services.line.growing.log_copy import LogCopy, Tell
from services.line.settings import LOG, chosen_config

DATABASE_KEPT_ELSEWHERE = "alerting's database is not SQLite: alerting fills it from the topics"


@dataclass(frozen=True)
class Growth:
    """A line in `folder`, and the system on Kafka that it becomes, or came from."""

    folder: Path
    kafka: KafkaPlace
    checkpoint: Path
    database: Path | None  # None: it is no file
    topics: dict[str, Topic]
    names: TopicNames
    tell: Tell

    @property
    def log(self) -> FilePlace:
        """The log of the line."""
        return FilePlace(self.folder / LOG)

    def into_kafka(self) -> None:
        """Carry all of it over; what an attempt before has done is left out. Raises BackupError and LogError."""
        note = GrowthNote.read(self.folder)
        if note is not None and note.is_complete:
            raise BackupError(f"{note.source} has been copied to {note.target} already")
        self._refuse_what_is_there(note)
        with self.log.opened() as here, self.kafka.opened() as there:
            note = self._copy(here, there, str(self.log), str(self.kafka))
            self._carry_database(database_beside(self.log.path), self.database)
            self._carry_state(here)
        GrowthNote(note.source, note.target, note.topic_ids, is_complete=True).write(self.folder)

    def out_of_kafka(self) -> None:
        """Carry all of it back into the folder; the engine begins anew from the topics."""
        note = GrowthNote.read(self.folder)
        database = database_beside(self.log.path)
        if note is None:
            refuse_database(database)
        with self.kafka.opened() as there, FilePlace(self.log.path, is_new=True).opened() as here:
            self._copy(there, here, str(self.kafka), str(self.log))
            if self.database is not None:
                self._carry_database(self.database, database)
        GrowthNote.forget(self.folder)

    def _refuse_what_is_there(self, note: GrowthNote | None) -> None:
        if note is not None:
            return
        if self.checkpoint.exists():
            raise BackupError(f"there is a checkpoint already: {self.checkpoint}")
        if self.database is not None:
            refuse_database(self.database)

    def _copy(self, source: ExactLog, target: ExactLog, source_name: str, target_name: str) -> GrowthNote:
        copy = LogCopy(source, target, self.topics, self.names, self.tell)
        note = copy.begin(self.folder, source_name, target_name)
        self.tell(f"{copy.run()} records copied from {source_name} to {target_name}")
        return note

    def _carry_database(self, source: Path, target: Path | None) -> None:
        """Copy the database, unless it was copied before: it gets its name once it is whole."""
        if target is None:
            self.tell(DATABASE_KEPT_ELSEWHERE)
        elif source.exists() and not target.exists():
            with TemporaryDirectory(dir=self.folder) as scratch:
                save_database(source, copy := Path(scratch) / "copy.sqlite3")
                restore_database(copy, target, 0)
            self.tell(f"the database is copied to {target}")

    def _carry_state(self, here: ExactLog) -> None:
        """Let a checkpoint begin with the state of the engine."""
        if self.checkpoint.exists():
            return
        with here.log.reader() as reader:
            topic = self.names.full(SHARD_STATE)
            records = reader.whole(topic) if reader.has(topic) else iter(())
            carried = CarriedState.of((each.key, each.value) for some in records for each in some)
        if carried is not None:
            carried.write(self.checkpoint)
            self.tell(f"fusion begins with the state of the line, in {self.checkpoint}")


def carry(options: argparse.Namespace) -> int:
    """Carry a line over as the options of ``coincide grow`` say; return the exit status."""
    return exit_status("coincide grow", lambda: _carry(options), BackupError, LogError)


def _carry(given: argparse.Namespace) -> None:
    environ = {**os.environ, CONFIG_VARIABLE: str(chosen_config(given.config, os.environ))}
    alerting = load_settings(AlertingSettings, Path("config/alerting.yaml"), environ)
    servers = None if given.kafka is None else {"servers": given.kafka}
    growth = Growth(
        given.folder,
        KafkaPlace(load_connection(environ, servers)),
        given.checkpoint,
        given.database or database_file(alerting.database_url),
        load_topics(located(Path("config/topics.yaml"), environ), alerting.topic_names),
        alerting.topic_names,
        _say,
    )
    if given.back:
        given.folder.mkdir(parents=True, exist_ok=True)
    elif not growth.log.path.exists():
        raise BackupError(f"there is no line in {given.folder}: {LOG} is missing")
    with claimed(given.folder):
        (growth.out_of_kafka if given.back else growth.into_kafka)()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
