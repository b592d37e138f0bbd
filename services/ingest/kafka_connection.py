"""One producer, from being built to being closed."""

from __future__ import annotations

from collections.abc import Iterable

from kafka import KafkaProducer

from services.common.kafka import close_producer

CLOSE_S = 5.0


class Connection:
    """A producer, the partitions of the detections topic, and how many bytes of dead letters it has not settled."""

    def __init__(self, producer: KafkaProducer, partitions: Iterable[int] = ()) -> None:
        self.producer = producer
        self.partitions = sorted(partitions)
        self.dead_letter_bytes = 0

    def settle(self, dead_letter_bytes: int, _acknowledged: bool) -> None:
        """Count dead letters as settled, whichever way."""
        self.dead_letter_bytes -= dead_letter_bytes

    def close(self) -> None:
        """Send what is buffered and end; what cannot be sent in time is given up."""
        close_producer(self.producer, CLOSE_S)
