"""KafkaLog: a `Log` in Kafka, for who outgrows a machine."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from services.common.kafka.clients import create_admin, create_consumer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log_reader import KafkaLogReader
from services.common.kafka.log_faults import telling
from services.common.kafka.send_thread import SendThread
from services.common.log.append_queue import MOST_WAITING_BYTES, AppendQueue
from services.common.log.declared_topic import Topic
from services.common.log.log import MOST_BYTES, MOST_RECORDS
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics import create_topics

#: In Kafka no record is larger than this, whatever a topic says.
MOST_RECORD_BYTES = 16 * 2**20


class KafkaLog:
    """Keeps its records in Kafka; see `Log`. What all replicas have acknowledged is safe.

    An append is settled within a few times `timeout_s`. Where Kafka fails in the middle of one, some of its records
    may have been written, and some not.
    """

    def __init__(
        self, kafka: KafkaConnection, *, timeout_s: float = 10.0, most_waiting_bytes: int = MOST_WAITING_BYTES
    ) -> None:
        self._kafka, self._queue = kafka, AppendQueue(most_waiting_bytes)
        self._thread = SendThread(kafka, self._queue, timeout_s, MOST_RECORD_BYTES)
        self._thread.start()

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Append records in their order; the future is done once all replicas have all, or has a `LogError`."""
        return self._queue.put(records)

    def reader(self, most_records: int = MOST_RECORDS, most_bytes: int = MOST_BYTES) -> KafkaLogReader:
        """Return a new reader, whose polls return so much at most, and one record at least; raises `LogError`."""
        with telling():
            consumer = create_consumer(
                self._kafka,
                auto_offset_reset="none",  # who reads hears that a record has gone, and gets no other one instead
                max_poll_records=most_records,
                fetch_max_bytes=max(most_bytes, MOST_RECORD_BYTES),
            )
        return KafkaLogReader(consumer, most_bytes)

    def create_topics(self, declared: Mapping[str, Topic]) -> list[str]:
        """Make the topics equal to those that are ``declared``; return one line for each change."""
        with telling():
            admin = create_admin(self._kafka)
            try:
                return create_topics(admin, dict(declared))
            finally:
                admin.close()

    def close(self) -> None:
        """Append what waits, and end; blocks for a bounded time."""
        self._queue.close()
        self._thread.join(self._thread.close_s)
