"""LogClients: what a component reads and writes its topics by, whoever keeps them."""

from dataclasses import dataclass
from typing import Self

from services.common.kafka.kafka_log import KafkaLog
from services.common.log.log import Log
from services.common.log.reader import LogReader
from services.common.settings import ComponentSettings
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import TopicNames


@dataclass(frozen=True)
class LogClients:
    """Makes readers and publishers of one log, by the short names of topics."""

    log: Log
    names: TopicNames

    @classmethod
    def of(cls, settings: ComponentSettings) -> Self:
        """Return those of the Kafka that a component's settings name; it connects when somebody writes."""
        return cls(KafkaLog(settings.kafka, settings.topic_names), settings.topic_names)

    def reader(self) -> LogReader:
        """Return a new reader; it may block, or raise `LogError`."""
        return self.log.reader()

    def records(self, timeout_s: float) -> RecordPublisher:
        """Return what writes records one at a time, each within ``timeout_s``."""
        return RecordPublisher(self.log, timeout_s, self.names)
