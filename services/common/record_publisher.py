"""Publishing single records, to Kafka or to another log: each is safe when that is told, within a bounded time."""

import threading
from collections.abc import Callable

from kafka import KafkaProducer
from kafka.errors import KafkaError
from starlette.concurrency import run_in_threadpool

from services.common.kafka.clients import close_producer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.log.faults import LogError
from services.common.log.log import Log
from services.common.log.records import NewRecord
from services.common.topic_names import TopicNames


class KafkaAwayError(Exception):
    """Kafka did not acknowledge in time; the record may still get there."""

    retriable = True  # as the errors of Kafka's client say it


class RecordPublisher:
    """Writes records one at a time to topics by their short names; connects at the first, and anew after a failure.

    After a failure one caller at a time tries again. The others are refused at once, those too who waited meanwhile: a
    queue in front of a Kafka that is away would make the last of them wait for all.
    """

    def __init__(self, kafka: KafkaConnection, timeout_s: float, names: TopicNames) -> None:
        self._connect: Callable[[], KafkaProducer] = lambda: create_producer(
            kafka, delivery_timeout_ms=int(timeout_s * 1000)
        )
        self._timeout_s, self._names = timeout_s, names
        self._producer: KafkaProducer | None = None
        self._lock = threading.Lock()
        self._is_away = False

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        """Write one record and return its offset; blocks until Kafka acknowledges, or raises `KafkaAwayError`."""
        was_away = self._is_away
        if not self._lock.acquire(blocking=not was_away):
            raise KafkaAwayError("it did not answer before, and another request tries it again")
        try:
            if self._is_away and not was_away:
                raise KafkaAwayError("it did not answer the request before this one")
            self._producer = self._producer or self._connect()
            sent = self._producer.send(self._names.full(topic), key=key, value=value)
            offset: int = sent.get(timeout=self._timeout_s).offset
            self._is_away = False
        except (KafkaError, OSError) as error:
            self._is_away = True
            self._disconnect()  # so that nothing unsent is delivered minutes later
            raise KafkaAwayError(str(error) or type(error).__name__) from error
        finally:
            self._lock.release()
        return offset

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Write one record off the event loop; return whether Kafka acknowledged it."""
        try:
            await run_in_threadpool(self.publish, topic, key, value)
        except KafkaAwayError:
            return False
        return True

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._producer is not None:
            close_producer(self._producer, timeout_s=0)
            self._producer = None


class LogRecords(RecordPublisher):
    """Writes records one at a time; each is on the disk when `publish` returns."""

    def __init__(self, log: Log, timeout_s: float, names: TopicNames) -> None:
        self._log, self._timeout_s, self._names = log, timeout_s, names

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> int:
        """Write one record and return its offset; raises `KafkaAwayError` where the log did not take it in time."""
        try:
            [position] = self._log.append([NewRecord(self._names.full(topic), key, value)]).result(self._timeout_s)
        except (LogError, TimeoutError) as error:
            raise KafkaAwayError(str(error) or "the log does not take it in time") from error
        return position.offset

    def close(self) -> None:
        """Nothing: whoever opened the log closes it."""
