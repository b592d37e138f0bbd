"""The thread that follows Kafka for the metrics: end offsets, status records, and the shards that are no more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from services.common.kafka.clients import create_consumer, create_producer
from services.common.kafka.faults import refusal_of
from spark_jobs.job.batch_metrics import Lag
from spark_jobs.job.core_metrics import StatusMetrics
from spark_jobs.recovery.halt import Halt
from spark_jobs.recovery.rebuilds import Rebuilds
from spark_jobs.settings import MOST_SHARDS, FusionSettings

logger = logging.getLogger(__name__)

POLL_S = 0.5
RECONNECT_S = 2.0
REBUILD_TOLD_EVERY_S = 1.0


class MissingTopicError(KafkaError):  # type: ignore[misc]  # kafka-python has no types
    """Kafka answers, and does not have a topic; the message is one sentence for the operator."""


class KafkaReader:
    """One consumer for one thread, its waits bounded; every method may raise KafkaError."""

    def __init__(self, settings: FusionSettings) -> None:
        self._timeout_ms, self._names = round(settings.kafka_timeout_s * 1_000), settings.topic_names
        self._consumer = create_consumer(settings.kafka, request_timeout_ms=self._timeout_ms)

    def __enter__(self) -> KafkaReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(timeout_ms=self._timeout_ms)

    def has(self, topic: str) -> bool:
        """Return whether there is such a topic."""
        return bool(self._consumer.partitions_for_topic(topic))

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

    def sizes_at(self, offsets: Mapping[tuple[str, int], int]) -> list[int]:
        """Return the bytes of some records that stand at these offsets or after them, by topic and partition.

        It looks at every partition, as far as Kafka answers in time.
        """
        waiting = {TopicPartition(*place): offset for place, offset in offsets.items()}
        sizes: list[int] = []
        deadline_s = time.monotonic() + self._timeout_ms / 1_000
        while waiting and time.monotonic() < deadline_s:
            self._consumer.assign(list(waiting))
            for partition, offset in waiting.items():
                self._consumer.seek(partition, offset)
            for partition, records in self._consumer.poll(round(POLL_S * 1_000)).items():
                sizes += [len(record.value or b"") for record in records]
                waiting.pop(partition, None)
        return sizes

    def has_read_all(self, topic: str) -> bool:
        """Return whether `poll` has brought all records of ``topic``, which is followed, that there are by now."""
        ends = self.end_offsets([topic])
        return all(self._consumer.position(TopicPartition(*place)) >= end for place, end in ends.items())

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
            creates = f"`python -m services.common.topics{self._names.option}` creates it"
            raise MissingTopicError(f"there is no topic {topic}: {creates}")
        return [TopicPartition(topic, partition) for partition in sorted(found)]


class KafkaFollower(threading.Thread):
    """Feeds ``status``, ``lag`` and ``rebuilds`` until ``stopping`` is set.

    With an absent broker it says so and tries again.
    """

    def __init__(
        self,
        settings: FusionSettings,
        status: StatusMetrics,
        lag: Lag,
        rebuilds: Rebuilds,
        stopping: threading.Event,
        halt: Callable[[], Halt | None] = lambda: None,
    ) -> None:
        super().__init__(name="kafka-follower", daemon=True)
        self._settings = settings
        self._status = status
        self._lag = lag
        self._rebuilds = rebuilds
        self._stopping = stopping
        self._halt = halt

    def run(self) -> None:
        """Follow, and start anew after an error."""
        while not self._stopping.is_set():
            try:
                with KafkaReader(self._settings) as reader:
                    self._follow(reader)
            except KafkaError as error:
                self._lag.lose(kafka_is_away=not isinstance(error, MissingTopicError))
                logger.warning("metrics cannot follow Kafka (%s)", refusal_of(error) or error)
                self._stopping.wait(RECONNECT_S)

    def _follow(self, reader: KafkaReader) -> None:
        status = self._settings.topic("status")
        reader.follow(status)
        measured_s = -float("inf")
        told_of_rebuilds = False
        while not self._stopping.is_set():
            for record in reader.poll(POLL_S):
                if self._rebuilds.take(record.key or b"", record.value):
                    told_of_rebuilds = True
                else:
                    self._status.take(record.key or b"", record.value)
            if told_of_rebuilds and reader.has_read_all(status):
                self._rebuilds.all_taken()
                told_of_rebuilds = False
            if time.monotonic() - measured_s >= self._interval_s():
                self._measure(reader)
                measured_s = time.monotonic()

    def _interval_s(self) -> float:
        interval_s = self._settings.lag_interval_s
        return min(interval_s, REBUILD_TOLD_EVERY_S) if self._rebuilds.is_running else interval_s

    def _measure(self, reader: KafkaReader) -> None:
        detections, status = self._settings.topic("detections"), self._settings.topic("status")
        sources = [detections, self._settings.topic("queries")]
        begins = reader.first_offsets(sources)
        self._lag.measure(begins, reader.end_offsets(sources), {detections: self._status.left})

        def unread(ends: Mapping[str, int]) -> int | None:
            """Return what was not processed, and what was left: a batch tells the latter before it has ended."""
            places = {(detections, int(partition)): end for partition, end in ends.items()}
            waiting = self._lag.unread_before(places, begins)
            if waiting is None or not reader.has_read_all(status):
                return None
            return waiting + self._status.left

        if (halt := self._halt()) is not None:
            self._rebuilds.failed(str(halt))
        else:
            self._rebuilds.reached(unread)


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
