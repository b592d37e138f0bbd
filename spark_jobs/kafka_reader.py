"""A plain Kafka consumer for what Spark does not tell: end offsets, and the records of the status topic."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError

from spark_jobs.settings import Settings

CONNECT_TIMEOUT_S = 2.0


class KafkaReader:
    """One consumer, its waits bounded by ``settings.kafka_timeout_s``; for one thread.

    Raises
    ------
    KafkaError
        From every method: Kafka did not answer in time, or a topic does not exist.
    """

    def __init__(self, settings: Settings) -> None:
        self._timeout_ms = round(settings.kafka_timeout_s * 1_000)
        _refuse_unless_listening(settings.kafka_bootstrap)
        self._consumer = KafkaConsumer(
            bootstrap_servers=settings.kafka_bootstrap.split(","),
            bootstrap_timeout_ms=self._timeout_ms,
            request_timeout_ms=self._timeout_ms,
            # The default grows to 30 s between attempts, which is how long a returned broker would go unnoticed.
            reconnect_backoff_max_ms=1_000,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
        )

    def __enter__(self) -> KafkaReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(timeout_ms=self._timeout_ms)

    def end_offsets(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """Return the offset after the last record of every partition, by topic and partition."""
        partitions = [partition for topic in topics for partition in self._partitions(topic)]
        ends = self._consumer.end_offsets(partitions, timeout_ms=self._timeout_ms)
        return {(partition.topic, partition.partition): offset for partition, offset in ends.items()}

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
            raise KafkaError(f"there is no topic {topic}: `python -m services.common.create_topics` creates it")
        return [TopicPartition(topic, partition) for partition in sorted(found)]


def _refuse_unless_listening(bootstrap: str) -> None:
    """Raise KafkaConnectionError at once: the client would leave a thread behind with every try (as in services)."""
    faults = []
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
        except OSError as error:
            faults.append(f"{address.strip()}: {error}")
        else:
            return
    raise KafkaConnectionError(f"nothing listens ({'; '.join(faults)})")
