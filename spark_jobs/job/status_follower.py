"""The thread that follows Kafka for the metrics: end offsets, status records, and the shards that are no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from kafka import KafkaProducer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from services.common.engine.core_metrics import StatusMetrics
from services.common.engine.fusion_settings import MOST_SHARDS, FusionSettings
from services.common.kafka.clients import create_consumer, create_producer
from services.common.kafka.faults import MissingTopicError, in_words
from services.common.kafka.topic_reader import TopicReader
from services.common.log.follower_thread import FollowerThread
from spark_jobs.job.batch_metrics import Lag
from spark_jobs.recovery.halt import Halt
from spark_jobs.recovery.rebuilds import Rebuilds

REBUILD_TOLD_EVERY_S = 1.0


class KafkaReader(TopicReader):
    """A reader of the topics of the job's settings."""

    def __init__(self, settings: FusionSettings) -> None:
        consumer = create_consumer(settings.kafka, request_timeout_ms=round(settings.kafka_timeout_s * 1_000))
        super().__init__(consumer, settings.kafka_timeout_s, settings.topic_names)

    def end_offsets(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of every partition, by topic and partition."""
        return self.ends(self.partitions_of(*topics))

    def first_offsets(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """Return the offset of the first record that every partition still has, by topic and partition."""
        return self.beginnings(self.partitions_of(*topics))

    def sizes_at(self, offsets: Mapping[tuple[str, int], int]) -> list[int]:
        """Return the bytes of some records that stand at these offsets or after them, by topic and partition.

        It looks at every partition, as far as Kafka answers in time.
        """
        waiting: dict[TopicPartition, int | None] = {TopicPartition(*place): at for place, at in offsets.items()}
        sizes: list[int] = []
        deadline_s = time.monotonic() + self._timeout_ms / 1_000
        while waiting and time.monotonic() < deadline_s:
            self.read_from(waiting)
            for record in self.poll():
                sizes.append(len(record.value or b""))
                waiting.pop(TopicPartition(record.topic, record.partition), None)
        return sizes

    def follow(self, topic: str) -> None:
        """Read ``topic`` from its beginning with the next calls of `poll`."""
        self.read_from(dict.fromkeys(self.partitions_of(topic)))


class KafkaFollower(FollowerThread[KafkaReader]):
    """Feeds ``status``, ``lag`` and ``rebuilds`` until ``stopping`` is set."""

    expected = (*FollowerThread.expected, KafkaError)

    def __init__(
        self,
        settings: FusionSettings,
        status: StatusMetrics,
        lag: Lag,
        rebuilds: Rebuilds,
        stopping: threading.Event,
        halt: Callable[[], Halt | None] = lambda: None,
    ) -> None:
        super().__init__("kafka-follower", stopping)
        self._settings, self._topic = settings, settings.topic("status")
        self._status = status
        self._lag = lag
        self._rebuilds = rebuilds
        self._halt = halt
        self._told_of_rebuilds = False

    def _connect(self) -> KafkaReader:
        return KafkaReader(self._settings)

    def _begin(self, reader: KafkaReader) -> None:
        reader.follow(self._topic)
        self._told_of_rebuilds = False

    def _take(self, reader: KafkaReader, records: list[ConsumerRecord]) -> None:
        for record in records:
            if self._rebuilds.take(record.key or b"", record.value):
                self._told_of_rebuilds = True
            else:
                self._status.take(record.key or b"", record.value)
        if self._told_of_rebuilds and self._has_read_all(reader):
            self._rebuilds.all_taken()
            self._told_of_rebuilds = False

    def _has_read_all(self, reader: KafkaReader) -> bool:
        return reader.has_read(reader.end_offsets([self._topic]))

    def _look_every_s(self) -> float:
        interval_s = self._settings.lag_interval_s
        return min(interval_s, REBUILD_TOLD_EVERY_S) if self._rebuilds.is_running else interval_s

    def _look(self, reader: KafkaReader) -> None:
        detections = self._settings.topic("detections")
        sources = [detections, self._settings.topic("queries")]
        begins = reader.first_offsets(sources)
        self._lag.measure(begins, reader.end_offsets(sources), {detections: self._status.left})

        def unread(ends: Mapping[str, int]) -> int | None:
            """Return what was not processed, and what was left: a batch tells the latter before it has ended."""
            places = {(detections, int(partition)): end for partition, end in ends.items()}
            waiting = self._lag.unread_before(places, begins)
            if waiting is None or not self._has_read_all(reader):
                return None
            return waiting + self._status.left

        if (halt := self._halt()) is not None:
            self._rebuilds.failed(str(halt))
        else:
            self._rebuilds.reached(unread)

    def _words_of(self, error: Exception) -> str:
        return in_words(error)

    def _lose(self, error: Exception) -> None:
        self._lag.lose(kafka_is_away=not isinstance(error, MissingTopicError))
        super()._lose(error)


def retire_status(settings: FusionSettings, connect: Callable[..., KafkaProducer] = create_producer) -> None:
    """Write a tombstone for every shard that ``settings`` does not have; call it when the job begins anew.

    Else a job rebuilt with fewer shards would be counted together with its predecessor's, and a query's applied
    version, which is what every shard has applied, would never rise again. After a KafkaError it may be repeated.
    """
    keys = [f"shard-{shard}".encode() for shard in range(settings.shards, MOST_SHARDS)]
    write_at_once(settings, "status", [(key, None) for key in keys], connect)


def write_at_once(
    settings: FusionSettings,
    topic: str,
    records: Iterable[tuple[bytes, bytes | None]],
    connect: Callable[..., KafkaProducer] = create_producer,
) -> None:
    """Write records to a declared topic, and return when Kafka has acknowledged all; may raise KafkaError."""
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    producer = connect(
        settings.kafka,
        delivery_timeout_ms=3 * timeout_ms,
        request_timeout_ms=timeout_ms,
        max_block_ms=timeout_ms,
    )
    try:
        sent = [producer.send(settings.topic(topic), key=key, value=value) for key, value in records]
        for future in sent:
            future.get(3 * settings.kafka_timeout_s)
    finally:
        producer.close(timeout=settings.kafka_timeout_s)
