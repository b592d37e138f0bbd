"""The thread that follows Kafka for the metrics: end offsets, status records, and the shards that are no more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from services.common.kafka import create_consumer, create_producer
from spark_jobs.job.batch_metrics import Lag
from spark_jobs.job.core_metrics import StatusMetrics
from spark_jobs.settings import MOST_SHARDS, FusionSettings

logger = logging.getLogger(__name__)

POLL_S = 0.5
RECONNECT_S = 2.0


class KafkaReader:
    """One consumer for one thread, its waits bounded; every method may raise KafkaError."""

    def __init__(self, settings: FusionSettings) -> None:
        self._timeout_ms = round(settings.kafka_timeout_s * 1_000)
        self._consumer = create_consumer(settings.kafka_bootstrap, request_timeout_ms=self._timeout_ms)

    def __enter__(self) -> KafkaReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(timeout_ms=self._timeout_ms)

    def end_offsets(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """Return the offset after the last record of every partition, by topic and partition."""
        return self._offsets(topics, self._consumer.end_offsets)

    def first_offsets(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """Return the offset of the first record that every partition still has, by topic and partition."""
        return self._offsets(topics, self._consumer.beginning_offsets)

    def _offsets(self, topics: Iterable[str], ask: Callable[..., Any]) -> dict[tuple[str, int], int]:
        partitions = [partition for topic in topics for partition in self._partitions(topic)]
        answer = ask(partitions, timeout_ms=self._timeout_ms)
        return {(partition.topic, partition.partition): offset for partition, offset in answer.items()}

    def follow(self, topic: str) -> None:
        """Read ``topic`` from its beginning with the next calls of `poll`."""
        partitions = self._partitions(topic)
        self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)

    def poll(self, wait_s: float) -> list[Any]:
        """Return the records that came within ``wait_s`` seconds, at once when there are some."""
        return [record for records in self._consumer.poll(round(wait_s * 1_000)).values() for record in records]

    def _partitions(self, topic: str) -> list[TopicPartition]:
        found = self._consumer.partitions_for_topic(topic)
        if not found:
            raise KafkaError(f"there is no topic {topic}: `python -m services.common.topics` creates it")
        return [TopicPartition(topic, partition) for partition in sorted(found)]


class KafkaFollower(threading.Thread):
    """Feeds ``status`` and ``lag`` until ``stopping`` is set; with an absent broker it says so and tries again."""

    def __init__(self, settings: FusionSettings, status: StatusMetrics, lag: Lag, stopping: threading.Event) -> None:
        super().__init__(name="kafka-follower", daemon=True)
        self._settings = settings
        self._status = status
        self._lag = lag
        self._stopping = stopping

    def run(self) -> None:
        """Follow, and start anew after an error."""
        while not self._stopping.is_set():
            try:
                with KafkaReader(self._settings) as reader:
                    self._follow(reader)
            except KafkaError as error:
                self._lag.lose()
                logger.warning("metrics cannot follow Kafka (%s)", error)
                self._stopping.wait(RECONNECT_S)

    def _follow(self, reader: KafkaReader) -> None:
        reader.follow(self._settings.topic("status"))
        sources = [self._settings.topic("detections"), self._settings.topic("queries")]
        measured_s = -float("inf")
        while not self._stopping.is_set():
            for record in reader.poll(POLL_S):
                self._status.take(record.key or b"", record.value)
            if time.monotonic() - measured_s >= self._settings.lag_interval_s:
                self._lag.measure(reader.first_offsets(sources), reader.end_offsets(sources))
                measured_s = time.monotonic()


def retire_status(settings: FusionSettings, connect: Callable[..., KafkaProducer] = create_producer) -> None:
    """Write a tombstone for every shard that ``settings`` does not have; call it when the job begins anew.

    Else a job rebuilt with fewer shards would be counted together with its predecessor's, and a query's applied
    version, which is what every shard has applied, would never rise again. After a KafkaError it may be repeated.
    """
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    producer = connect(
        settings.kafka_bootstrap,
        delivery_timeout_ms=3 * timeout_ms,
        request_timeout_ms=timeout_ms,
        max_block_ms=timeout_ms,
    )
    try:
        keys = [f"shard-{shard}".encode() for shard in range(settings.shards, MOST_SHARDS)]
        sent = [producer.send(settings.topic("status"), key=key, value=None) for key in keys]
        for future in sent:
            future.get(3 * settings.kafka_timeout_s)
    finally:
        producer.close(timeout=settings.kafka_timeout_s)
