"""LogClients: what a component reads and writes its topics by, whoever keeps them."""

from dataclasses import dataclass
from typing import Protocol, Self

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_reader import TopicReader
from services.common.log.log import Log
from services.common.log.reader import LogReader
from services.common.record_publisher import LogRecords, RecordPublisher
from services.common.settings import ComponentSettings
from services.common.topic_names import TopicNames


class LogClients(Protocol):
    """Makes readers and publishers of one log."""

    @property
    def names(self) -> TopicNames:
        """The names of the topics."""

    def reader(self) -> LogReader:
        """Return a new reader; it may block, or raise a fault of the log."""

    def records(self, timeout_s: float) -> RecordPublisher:
        """Return what writes records one at a time, each within ``timeout_s``."""


@dataclass(frozen=True)
class KafkaClients:
    """The topics of a system in Kafka."""

    kafka: KafkaConnection
    names: TopicNames

    @classmethod
    def of(cls, settings: ComponentSettings) -> Self:
        """Return those that a component's settings name."""
        return cls(settings.kafka, settings.topic_names)

    def reader(self) -> TopicReader:
        """Return a new reader; it may block, or raise `KafkaError`."""
        return TopicReader.connected(self.kafka)

    def records(self, timeout_s: float) -> RecordPublisher:
        """Return what writes records one at a time, each within ``timeout_s``; it connects at the first."""
        return RecordPublisher(self.kafka, timeout_s, self.names)


@dataclass(frozen=True)
class ClientsOfLog:
    """The topics of a system in any log."""

    log: Log
    names: TopicNames

    def reader(self) -> LogReader:
        """Return a new reader; it may block, or raise `LogError`."""
        return self.log.reader()

    def records(self, timeout_s: float) -> LogRecords:
        """Return what writes records one at a time, each within ``timeout_s``."""
        return LogRecords(self.log, timeout_s, self.names)
