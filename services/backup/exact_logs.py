"""Logs that are filled with records of another: how their records get the offsets again that they had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.backup.folder import BackupError
from services.backup.places import delete_before, fill
from services.common.kafka.clients import create_admin
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.kafka.log_faults import telling
from services.common.local_log.local_log import LocalLog
from services.common.log.log import Log
from services.common.log.records import NewRecord, TopicPartition

#: Topics whose records get the offsets again that they had: a checkpoint, an archive and episodes name them.
IN_PLACE = frozenset({"detections", "deferrals", "queries"})
_TIMEOUT_S = 60.0
_NEVER_S = 1e9


class ExactLog(Protocol):
    """A log, and the ways to have its records stand where they stood."""

    @property
    def log(self) -> Log:
        """The log itself."""

    @property
    def takes_state(self) -> bool:
        """Whether the engine keeps its state in it."""

    def keeps_offsets(self, topic: str) -> bool:
        """Whether records of a topic, by its short name, are to have the offsets that they had."""

    def skip(self, partition: TopicPartition, offsets: range, following: NewRecord | None) -> None:
        """Let the record after these offsets be next; `following` is that record, of a compacted topic."""

    def begin_at(self, partition: TopicPartition, offset: int) -> None:
        """Let a partition begin there."""


class LogPlace(Protocol):
    """Where a log is; as a text it says so."""

    def opened(self) -> AbstractContextManager[ExactLog]:
        """Have it open."""


@dataclass(frozen=True)
class ExactKafkaLog:
    """Topics of Kafka, which gives offsets itself."""

    log: KafkaLog
    kafka: KafkaConnection
    takes_state: bool = False

    def keeps_offsets(self, topic: str) -> bool:
        """Whether something names these offsets."""
        return topic in IN_PLACE

    def skip(self, partition: TopicPartition, offsets: range, following: NewRecord | None) -> None:
        """Write what is deleted again: empty records, or copies of the next one, which compaction removes."""
        if following is not None:
            self.log.append([following] * len(offsets)).result(_TIMEOUT_S)
        elif offsets:
            with telling():
                admin = create_admin(self.kafka)
                try:
                    fill(admin, partition, offsets.start, offsets.stop)
                finally:
                    admin.close()

    def begin_at(self, partition: TopicPartition, offset: int) -> None:
        """Delete what is in front."""
        with telling():
            admin = create_admin(self.kafka)
            try:
                delete_before(admin, partition, offset)
            finally:
                admin.close()


@dataclass(frozen=True)
class ExactLocalLog:
    """A log in a file, which has records wherever it is told."""

    log: LocalLog
    takes_state: bool = True

    def keeps_offsets(self, _topic: str) -> bool:
        """All of them."""
        return True

    def skip(self, partition: TopicPartition, offsets: range, _following: NewRecord | None) -> None:
        """Go on behind them."""
        if offsets:
            self.log.skip_to(partition, offsets.stop)

    def begin_at(self, partition: TopicPartition, offset: int) -> None:
        """Say so: what was skipped was never there."""
        self.log.begin_at(partition, offset)


@dataclass(frozen=True)
class KafkaPlace:
    """A log in Kafka."""

    kafka: KafkaConnection

    @contextmanager
    def opened(self) -> Iterator[ExactKafkaLog]:
        """Connect."""
        log = KafkaLog(self.kafka, timeout_s=_TIMEOUT_S)
        try:
            yield ExactKafkaLog(log, self.kafka)
        finally:
            log.close()

    def __str__(self) -> str:
        return f"Kafka at {self.kafka.servers}"


@dataclass(frozen=True)
class FilePlace:
    """A log in a file; `is_new`: it is made where there is none."""

    path: Path
    is_new: bool = False

    @contextmanager
    def opened(self) -> Iterator[ExactLocalLog]:
        """Open it; nothing goes from it meanwhile, because nobody tidies."""
        if not self.is_new and not self.path.exists():
            raise BackupError(f"there is no log {self.path}")
        log = LocalLog(self.path, tidied_every_s=_NEVER_S)
        try:
            yield ExactLocalLog(log)
        finally:
            log.close()

    def __str__(self) -> str:
        return f"the log {self.path}"
