"""KafkaLog: a `Log` in Kafka, for who outgrows a machine."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from services.common.kafka.clients import (
    create_admin,
    create_consumer,
    create_producer,
    described_topics,
    is_refused_everywhere,
)
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log_reader import KafkaLogReader
from services.common.kafka.log_faults import telling
from services.common.kafka.sending import Sending
from services.common.kafka.topic_creation import create_topics
from services.common.log.append_queue import MOST_WAITING_BYTES, AppendQueue
from services.common.log.declared_topic import Topic
from services.common.log.log import MOST_BYTES, MOST_RECORDS
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames

#: In Kafka no record is larger than this, whatever a topic says.
MOST_RECORD_BYTES = 16 * 2**20
LONGEST_BLOCK_MS = 500  # of an append, should what is known of a topic have got lost


class KafkaLog:
    """Keeps its records in Kafka; see `Log`. What all replicas have acknowledged is safe.

    An append is settled within about `timeout_s`. Where Kafka fails in the middle of one, some of its records may have
    been written, and some not. It connects at the first append, if not before, and is no use without `topics`. While
    Kafka is away, an append fails at once.
    """

    name, option = "Kafka", ""

    def __init__(
        self,
        kafka: KafkaConnection,
        names: TopicNames = DEFAULT_NAMES,
        *,
        timeout_s: float = 10.0,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        linger_ms: int = 0,
        requests_at_once: int = 1,
        topics: Sequence[str] = (),
        on_connected: Callable[[], object] = lambda: None,
    ) -> None:
        """`requests_at_once`: with more than 1, what is sent again may come after its successor."""
        connect = partial(
            create_producer,
            kafka,
            delivery_timeout_ms=round(timeout_s * 1_000),
            max_request_size=MOST_RECORD_BYTES,
            max_in_flight_requests_per_connection=requests_at_once,
            max_block_ms=LONGEST_BLOCK_MS,
            linger_ms=linger_ms,
            metrics_enabled=False,  # nobody reads them, and they cost a tenth of sending a frame
        )
        self._kafka, self._names = kafka, names
        self._sending = Sending(
            connect,
            AppendQueue(most_waiting_bytes),
            names,
            timeout_s,
            topics=topics,
            lacks=lambda topic: not described_topics(kafka, [topic])[topic]["partitions"],
            is_gone=partial(is_refused_everywhere, kafka),
            on_connected=on_connected,
        )

    @property
    def problem(self) -> str | None:
        """Why nothing can be appended now; None: it can, as far as is known."""
        return self._sending.problem

    def connect(self) -> None:
        """Begin to connect, in the background."""
        self._sending.connect()

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Append records in their order; the future is done once all replicas have all, or has a `LogError`."""
        return self._sending.append(records)

    def reader(
        self, most_records: int = MOST_RECORDS, most_bytes: int = MOST_BYTES, group: str | None = None
    ) -> KafkaLogReader:
        """Return a new reader, whose polls return so much at most, and one record at least; raises `LogError`."""
        with telling():
            consumer = create_consumer(
                self._kafka,
                group_id=group,
                auto_offset_reset="none",  # who reads hears that a record has gone, and gets no other one instead
                max_poll_records=most_records,
                fetch_max_bytes=max(most_bytes, MOST_RECORD_BYTES),
            )
        return KafkaLogReader(consumer, most_bytes, self._names)

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
        self._sending.close()
