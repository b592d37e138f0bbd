"""Publishing single records to Kafka: each acknowledged by all replicas, within a bounded time."""

import threading
from collections.abc import Callable

from kafka import KafkaProducer
from kafka.errors import KafkaError

from services.common.kafka import close_producer, create_producer


class KafkaAwayError(Exception):
    """Kafka did not acknowledge in time; the record may still get there."""


class RecordPublisher:
    """Writes records one at a time; connects at the first, and anew after a failure."""

    def __init__(self, bootstrap: str, timeout_s: float) -> None:
        self._connect: Callable[[], KafkaProducer] = lambda: create_producer(
            bootstrap, delivery_timeout_ms=int(timeout_s * 1000)
        )
        self._timeout_s = timeout_s
        self._producer: KafkaProducer | None = None
        self._lock = threading.Lock()

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        """Write one record and return its offset; blocks until Kafka acknowledges, or raises `KafkaAwayError`."""
        with self._lock:
            try:
                self._producer = self._producer or self._connect()
                offset: int = self._producer.send(topic, key=key, value=value).get(timeout=self._timeout_s).offset
            except (KafkaError, OSError) as error:
                self._disconnect()  # so that nothing unsent is delivered minutes later
                raise KafkaAwayError(str(error) or type(error).__name__) from error
            return offset

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._producer is not None:
            close_producer(self._producer, timeout_s=0)
            self._producer = None
