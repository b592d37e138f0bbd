"""A topic is read between offsets, part by part, each record once."""

import pytest

from deploy.local.broker import Broker
from services.common.kafka.clients import create_producer
from spark_jobs.history import topics_of
from spark_jobs.settings import HistorySettings
from tests.integration.topics import create_declared_topics

pytestmark = pytest.mark.jvm

PREFIX = "parts."
COUNT = 1_500  # more than the client hands out at once


def test_parts_that_end_amid_what_was_fetched_give_each_record_once(kafka: Broker) -> None:
    create_declared_topics(kafka.bootstrap, PREFIX)
    producer = create_producer(kafka.connection, delivery_timeout_ms=120_000)
    for nth in range(COUNT):
        for partition in (0, 1):
            producer.send(PREFIX + "detections", partition=partition, value=str(nth).encode())
    producer.flush(timeout=120)
    producer.close()
    found: list[tuple[int, int, bytes | None]] = []
    with topics_of(HistorySettings(kafka=kafka.connection, topic_prefix=PREFIX))("detections") as topic:
        at = topic.first_offsets()
        for ends in ({**at, 0: 100, 1: COUNT}, {**at, 0: 101, 1: COUNT}, {**at, 0: COUNT, 1: COUNT}):
            for chunk in topic.chunks(at, ends, lambda: None):
                found += [(each.partition, each.offset, each.value) for each in chunk]
            at = ends
    each = [(number, nth) for number in (0, 1) for nth in range(COUNT)]
    assert sorted((number, offset) for number, offset, _ in found) == each
    # a batch that is sent again may come after the next one
    assert sorted((number, int(value or b"-1")) for number, _, value in found) == each
