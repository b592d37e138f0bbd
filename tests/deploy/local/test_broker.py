"""The broker as tests and the local system use it: what survives its death, and that it says when it answers."""

from pathlib import Path

import pytest

from deploy.local.broker import Broker, answers
from deploy.local.machine import free_ports
from services.common.kafka import create_admin, create_consumer, create_producer
from services.common.topics import Topic, create_topics

pytestmark = pytest.mark.jvm


def test_what_was_acknowledged_survives_a_kill_in_a_folder_with_a_space(tmp_path: Path) -> None:
    port, controller_port = free_ports(2)
    broker = Broker(tmp_path / "a b", port, controller_port)
    broker.start()
    try:
        _write(broker.bootstrap, b"kept")
        broker.kill()
        assert not answers(broker.bootstrap)
        broker.start()
        assert _read(broker.bootstrap) == [b"kept"]
    finally:
        broker.stop()
    assert not broker.is_running


def test_a_suspended_broker_answers_nobody_until_it_is_resumed(kafka: Broker) -> None:
    kafka.suspend()
    try:
        assert not answers(kafka.bootstrap)
        assert kafka.is_running
    finally:
        kafka.resume()
    assert answers(kafka.bootstrap)


def _write(bootstrap: str, value: bytes) -> None:
    admin = create_admin(bootstrap)
    create_topics(admin, {"words": Topic(partitions=1)})
    admin.close()
    producer = create_producer(bootstrap)
    producer.send("words", value).get(timeout=10)
    producer.close()


def _read(bootstrap: str) -> list[bytes]:
    consumer = create_consumer(bootstrap, "words")
    try:
        records = consumer.poll(timeout_ms=10_000)
        return [record.value for batch in records.values() for record in batch]
    finally:
        consumer.close()
