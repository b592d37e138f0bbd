"""RecordPublisher beside a Kafka that hangs: nobody waits for those who wait."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from services.common import record_publisher
from services.common.kafka.connection import KafkaConnection
from services.common.record_publisher import KafkaAwayError, RecordPublisher
from services.common.topic_names import DEFAULT_NAMES


class Kafka:
    """A Kafka that answers, or says that it timed out once `may_fail` is set."""

    def __init__(self) -> None:
        self.is_there, self.may_fail, self.asked = False, threading.Event(), threading.Event()

    def send(self, topic: str, **record: Any) -> "Kafka":
        return self

    def get(self, timeout: float) -> SimpleNamespace:
        self.asked.set()
        if not self.is_there:
            assert self.may_fail.wait(10)
            raise KafkaTimeoutError
        return SimpleNamespace(offset=7)

    def close(self, timeout: float) -> None: ...


def test_while_kafka_is_away_one_tries_and_the_others_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = Kafka()
    monkeypatch.setattr(record_publisher, "create_producer", lambda *_, **__: kafka)
    records = RecordPublisher(KafkaConnection(servers="nowhere:9092"), 10, DEFAULT_NAMES)
    with ThreadPoolExecutor(1) as pool:
        kafka.may_fail.set()
        with pytest.raises(KafkaAwayError):
            records.publish("topic", None, None)
        kafka.may_fail.clear()
        kafka.asked.clear()
        trying = pool.submit(records.publish, "topic", None, None)
        assert kafka.asked.wait(10)
        with pytest.raises(KafkaAwayError, match="another request tries it again"):
            records.publish("topic", None, None)
        kafka.may_fail.set()
        assert isinstance(trying.exception(10), KafkaAwayError)
    kafka.is_there = True
    assert records.publish("topic", None, None) == 7
    assert records.publish("topic", None, None) == 7


class CountedLock:
    """A lock that lets the one who holds it go on once two others wait for it."""

    def __init__(self, kafka: Kafka) -> None:
        self._lock, self._kafka, self._asked_for = threading.Lock(), kafka, 0

    def acquire(self, blocking: bool = True) -> bool:
        if self._lock.acquire(blocking=False):
            return True
        self._asked_for += 1
        if self._asked_for == 2:
            self._kafka.may_fail.set()
        return self._lock.acquire(blocking)

    def release(self) -> None:
        self._lock.release()


def test_who_waits_while_kafka_fails_is_refused_without_a_try_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = Kafka()
    connected: list[KafkaConnection] = []

    def connect(to: KafkaConnection, **_: Any) -> Kafka:
        connected.append(to)
        return kafka

    monkeypatch.setattr(record_publisher, "create_producer", connect)
    records = RecordPublisher(KafkaConnection(servers="nowhere:9092"), 10, DEFAULT_NAMES)
    monkeypatch.setattr(records, "_lock", CountedLock(kafka))
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(records.publish, "topic", None, None) for _ in range(3)]
        failures = [str(each.exception(10)) for each in waiting]
    assert connected == [KafkaConnection(servers="nowhere:9092")]
    assert sum("the request before this one" in failure for failure in failures) == 2
